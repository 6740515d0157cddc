//! Which mutant is on, for code in which all mutants of a crate are compiled together.
//!
//! The environment variable `COUNTGRID_MUTANT` has its number, from 1; without it none is on. With `COUNTGRID_MUTANTS_REACHED` the
//! numbers of all mutants that are reached are appended to the file of this name, each once, as four bytes, the lowest first.
//!
//! A `const fn` may ask too, for which the compiler needs `RUSTC_BOOTSTRAP=mutant_switch`: when it runs at compile time no mutant is on.
#![feature(const_eval_select, core_intrinsics)]
#![allow(internal_features)]

use std::fs::File;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

const MOST: usize = 1 << 16;
const RECORD: u32 = u32::MAX; // no mutant has this number

static ACTIVE: AtomicU32 = AtomicU32::new(0);
static REACHED: [AtomicBool; MOST] = [const { AtomicBool::new(false) }; MOST];
static FILE: OnceLock<File> = OnceLock::new();

/// Whether one of the `count` mutants from `first` on is on; these are reached.
#[inline(always)]
pub const fn at(first: u32, count: u32) -> bool {
    std::intrinsics::const_eval_select((first, count), never, reach)
}

const fn never(_first: u32, _count: u32) -> bool {
    false
}

#[inline(always)]
fn reach(first: u32, count: u32) -> bool {
    let active = ACTIVE.load(Relaxed);
    active.wrapping_sub(first) < count || (active == RECORD && record(first, count))
}

#[cold]
#[inline(never)]
fn record(first: u32, count: u32) -> bool {
    for number in first..first.saturating_add(count) {
        if REACHED.get(number as usize).is_some_and(|reached| !reached.swap(true, Relaxed)) {
            // Without the whole file the numbers would be wrong without notice.
            if FILE.get().is_none_or(|mut file| file.write_all(&number.to_le_bytes()).is_err()) {
                std::process::abort();
            }
        }
    }
    false
}

/// Before `main`, so that no allocation comes in between where a test counts them.
extern "C" fn start() {
    if let Some(path) = std::env::var_os("COUNTGRID_MUTANTS_REACHED") {
        if let Ok(file) = File::options().create(true).append(true).open(path) {
            let _ = FILE.set(file);
        }
        ACTIVE.store(RECORD, Relaxed);
    } else if let Some(number) = std::env::var_os("COUNTGRID_MUTANT") {
        match number.to_str().and_then(|number| number.parse().ok()) {
            Some(number) => ACTIVE.store(number, Relaxed),
            None => std::process::abort(),
        }
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;
