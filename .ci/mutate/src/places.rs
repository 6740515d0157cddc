//! Where in a source file the code is that a mutant changes, and what of it can be asked at run time which of the two it is.
//!
//! cargo-mutants replaces text. To mean the same, an operator of arithmetic stands for the whole chain that it is in: with `*` for `-`,
//! `a + b - c` is `a + b * c` and no longer a difference. Comparisons and logical operators are replaced by those of equal rank or
//! between operands that are grouped the same way, so that their own operands suffice.

use proc_macro2::LineColumn;
use std::collections::HashMap;
use std::ops::Range;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, spanned::Spanned};

/// How a change is put behind a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// Returns another value at the beginning of a body, of which the place is the empty range before it.
    Body,
    /// Adds a guard to an arm, of which the place is the empty range after its pattern.
    Arm,
    /// Another expression in the place of one.
    Value,
}

/// Where the switch goes.
#[derive(Clone, Debug)]
pub struct Place {
    pub form: Form,
    pub range: Range<usize>,
    /// In a `const fn`, which no switch changes at compile time.
    pub const_fn: bool,
}

/// By genre as cargo-mutants names it and by the byte where its change begins; or why there can be no switch.
pub type Places = HashMap<(&'static str, usize), Result<Place, &'static str>>;

/// All places of a file.
pub fn places(file: &syn::File) -> Places {
    let mut visitor = Visitor { places: Places::new(), chain: None, const_fn: false, constant: false };
    visitor.visit_file(file);
    visitor.places
}

/// The byte of a line and column, from 1 both, in characters; nothing if there is no such place.
pub fn byte_at(text: &str, place: LineColumn) -> Option<usize> {
    let line = text.split_inclusive('\n').nth(place.line.checked_sub(1)?)?;
    let start = line.as_ptr() as usize - text.as_ptr() as usize;
    let column = place.column.checked_sub(1)?;
    Some(start + line.char_indices().map(|(at, _)| at).chain([line.len()]).nth(column)?)
}

struct Visitor {
    places: Places,
    chain: Option<Range<usize>>, // of arithmetic, if the next expression is an operand of it
    const_fn: bool,
    constant: bool,
}

fn range(node: &impl Spanned) -> Range<usize> {
    node.span().byte_range()
}

fn is_arithmetic(op: &BinOp) -> bool {
    use BinOp::{Add, BitAnd, BitOr, BitXor, Div, Mul, Rem, Shl, Shr, Sub};
    matches!(
        op,
        Add(_) | Sub(_) | Mul(_) | Div(_) | Rem(_) | Shl(_) | Shr(_) | BitAnd(_) | BitOr(_) | BitXor(_)
    )
}

/// Whether a condition binds variables, which `let` does only where no parenthesis is around it.
fn binds(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) => {
            matches!(binary.op, BinOp::And(_)) && (binds(&binary.left) || binds(&binary.right))
        }
        _ => false,
    }
}

/// Whether the compiler infers a type from the body, which would make it that of another value.
struct Hidden(bool);

impl Visit<'_> for Hidden {
    fn visit_type_impl_trait(&mut self, _: &syn::TypeImplTrait) {
        self.0 = true;
    }
}

impl Visitor {
    fn add(&mut self, genre: &'static str, start: usize, form: Form, range: Range<usize>) {
        let place = Place { form, range, const_fn: self.const_fn };
        self.places.insert((genre, start), if self.constant { Err("in a constant") } else { Ok(place) });
    }

    fn body(
        &mut self,
        signature: &syn::Signature,
        block: Option<&syn::Block>,
        visit: impl FnOnce(&mut Self),
    ) {
        let before = (self.const_fn, self.constant);
        (self.const_fn, self.constant) = (signature.constness.is_some(), false);
        if let Some(first) = block.and_then(|block| block.stmts.first()) {
            let start = range(first).start;
            let mut hidden = Hidden(false);
            hidden.visit_return_type(&signature.output);
            if hidden.0 {
                self.places.insert(("FnValue", start), Err("returns `impl`"));
            } else {
                self.add("FnValue", start, Form::Body, start..start);
            }
        }
        visit(self);
        (self.const_fn, self.constant) = before;
    }

    fn constant(&mut self, visit: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.constant, true);
        visit(self);
        self.constant = before;
    }
}

impl<'ast> Visit<'ast> for Visitor {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.body(&item.sig, Some(&item.block), |visitor| visit::visit_item_fn(visitor, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.body(&item.sig, Some(&item.block), |visitor| visit::visit_impl_item_fn(visitor, item));
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.body(&item.sig, item.default.as_ref(), |visitor| visit::visit_trait_item_fn(visitor, item));
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        let (own, chain) = (range(binary), self.chain.take());
        let arithmetic = is_arithmetic(&binary.op);
        let whole = if arithmetic { chain.unwrap_or(own) } else { own };
        let start = range(&binary.op).start;
        if matches!(binary.op, BinOp::And(_)) && (binds(&binary.left) || binds(&binary.right)) {
            self.places.insert(("BinaryOperator", start), Err("joins a `let`"));
        } else {
            self.add("BinaryOperator", start, Form::Value, whole.clone());
        }
        for operand in [&*binary.left, &*binary.right] {
            let joined = matches!(operand, Expr::Binary(inner) if arithmetic && is_arithmetic(&inner.op));
            self.chain = joined.then(|| whole.clone());
            self.visit_expr(operand);
        }
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        self.add("UnaryOperator", range(&unary.op).start, Form::Value, range(unary));
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_match(&mut self, whole: &'ast syn::ExprMatch) {
        visit::visit_expr_match(self, whole);
        // A guard leaves cases over, which `_` must take: cargo-mutants is content with one that has a guard itself.
        if !whole.arms.iter().any(|arm| matches!(arm.pat, syn::Pat::Wild(_)) && arm.guard.is_none()) {
            for arm in whole.arms.iter().filter(|arm| arm.guard.is_none()) {
                self.places.insert(("MatchArm", range(arm).start), Err("no other arm takes its cases"));
            }
        }
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if let Some((_, guard)) = &arm.guard {
            self.add("MatchArmGuard", range(guard).start, Form::Value, range(guard));
            if binds(guard) {
                self.places.insert(("MatchArmGuard", range(guard).start), Err("binds with `let`"));
            }
        } else {
            let end = range(&arm.pat).end;
            self.add("MatchArm", range(arm).start, Form::Arm, end..end);
        }
        visit::visit_arm(self, arm);
    }

    fn visit_expr_struct(&mut self, literal: &'ast syn::ExprStruct) {
        for field in &literal.fields {
            self.add("StructField", range(field).start, Form::Value, range(literal));
        }
        visit::visit_expr_struct(self, literal);
    }

    // What the compiler computes.

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.constant(|visitor| visit::visit_item_const(visitor, item));
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.constant(|visitor| visit::visit_impl_item_const(visitor, item));
    }

    fn visit_trait_item_const(&mut self, item: &'ast syn::TraitItemConst) {
        self.constant(|visitor| visit::visit_trait_item_const(visitor, item));
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.constant(|visitor| visit::visit_item_static(visitor, item));
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.constant(|visitor| visit::visit_variant(visitor, variant));
    }

    fn visit_type(&mut self, kind: &'ast syn::Type) {
        self.constant(|visitor| visit::visit_type(visitor, kind)); // lengths of arrays
    }

    fn visit_generic_argument(&mut self, argument: &'ast syn::GenericArgument) {
        self.constant(|visitor| visit::visit_generic_argument(visitor, argument));
    }

    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
        self.constant(|visitor| visitor.visit_expr(&repeat.len));
    }

    fn visit_expr_const(&mut self, block: &'ast syn::ExprConst) {
        self.constant(|visitor| visit::visit_expr_const(visitor, block));
    }

    fn visit_pat(&mut self, pattern: &'ast syn::Pat) {
        self.constant(|visitor| visit::visit_pat(visitor, pattern));
    }
}
