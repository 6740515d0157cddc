//! A source file with all its mutants, each behind a switch.
//!
//! What is not switched off has all the switches of its parts; each of the others is the original text with one change, since no
//! more than one mutant is on. So the text grows with the square of the depth at most.

use crate::places::Form;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

/// What to change: the place of the switch, and in it, or at it, what goes and what comes.
pub struct Change<'a> {
    pub index: usize, // of the mutant, in the list of the one who asks
    pub form: Form,
    pub range: Range<usize>,
    pub out: Range<usize>,
    pub replacement: &'a str,
}

/// Where what was written is in the new text, by which errors of the compiler are told.
#[derive(Debug)]
pub struct Written {
    pub index: usize,
    pub number: u32,
    /// The bytes of the change alone.
    pub change: Range<usize>,
    /// The bytes of the expression with all its variants.
    pub site: Range<usize>,
}

struct Site<'a> {
    form: Form,
    range: Range<usize>,
    changes: Vec<Change<'a>>,
}

/// Numbers the switches from `next` on, which is moved beyond them.
pub fn rewrite(text: &str, changes: Vec<Change<'_>>, next: &mut u32) -> (String, Vec<Written>) {
    let mut sites = BTreeMap::new();
    for change in changes {
        // What is outside before what is inside, and what is empty before what begins there.
        let key = (change.range.start, !change.range.is_empty(), Reverse(change.range.end), change.form);
        let site = Site { form: change.form, range: change.range.clone(), changes: Vec::new() };
        sites.entry(key).or_insert(site).changes.push(change);
    }
    let sites: Vec<_> = sites.into_values().collect();
    let mut writer = Writer { text, out: String::new(), written: Vec::new(), next };
    writer.range(0..text.len(), &sites);
    (writer.out, writer.written)
}

struct Writer<'a> {
    text: &'a str,
    out: String,
    written: Vec<Written>,
    next: &'a mut u32,
}

impl Writer<'_> {
    fn range(&mut self, range: Range<usize>, mut sites: &[Site<'_>]) {
        let mut at = range.start;
        while let Some((site, rest)) = sites.split_first() {
            let (inside, after) =
                rest.split_at(rest.partition_point(|other| other.range.start < site.range.end));
            self.out.push_str(&self.text[at..site.range.start]);
            self.site(site, inside);
            (at, sites) = (site.range.end, after);
        }
        self.out.push_str(&self.text[at..range.end]);
    }

    fn site(&mut self, site: &Site<'_>, inside: &[Site<'_>]) {
        let (begin, first_written, first) = (self.out.len(), self.written.len(), *self.next);
        let count = site.changes.len() as u32;
        *self.next += count;
        let at = |number, count| format!("::mutant_switch::at({number}, {count})");
        match site.form {
            Form::Body => self.out.push_str(&format!("if {} {{ ", at(first, count))),
            Form::Arm => self.out.push_str(" if "),
            Form::Value => {
                self.out.push_str(&format!("(if !{} {{ (", at(first, count)));
                self.range(site.range.clone(), inside);
                self.out.push_str(") }");
            }
        }
        for (number, change) in (first..).zip(&site.changes) {
            let last = number + 1 == first + count;
            match site.form {
                Form::Body => self.out.push_str(&format!("if {} {{ ", at(number, 1))),
                Form::Arm => {}
                Form::Value if last => self.out.push_str(" else { "),
                Form::Value => self.out.push_str(&format!(" else if {} {{ ", at(number, 1))),
            }
            let start = self.out.len();
            self.out.push_str(&match site.form {
                Form::Arm => format!("!{}", at(number, 1)),
                Form::Body => format!("return {};", change.replacement),
                Form::Value => format!("({})", changed(self.text, change)),
            });
            let written =
                Written { index: change.index, number, change: start..self.out.len(), site: begin..begin };
            self.written.push(written);
            self.out.push_str(if site.form == Form::Arm { "" } else { " } " });
        }
        self.out.push_str(match site.form {
            Form::Body => "} ",
            Form::Arm => "",
            Form::Value => ")",
        });
        let end = self.out.len();
        for written in self.written[first_written..].iter_mut().filter(|written| written.site.is_empty()) {
            written.site.end = end;
        }
    }
}

/// The expression as the mutant has it.
pub fn changed(text: &str, change: &Change<'_>) -> String {
    let (range, out) = (&change.range, &change.out);
    format!("{}{}{}", &text[range.start..out.start], change.replacement, &text[out.end..range.end])
}
