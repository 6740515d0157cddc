//! WebAssembly: `run.mjs` calls `run` and reads the text from memory.

use core::{
    fmt::{self, Write},
    panic::PanicInfo,
    sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed},
};

const ROOM: usize = 1 << 16;
static TEXT: [AtomicU8; ROOM] = [const { AtomicU8::new(0) }; ROOM];
static LENGTH: AtomicUsize = AtomicUsize::new(0);

struct Text;

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let start = LENGTH.fetch_add(text.len(), Relaxed);
        let room = TEXT.get(start..start + text.len()).ok_or(fmt::Error)?;
        room.iter().zip(text.bytes()).for_each(|(to, byte)| to.store(byte, Relaxed));
        Ok(())
    }
}

/// The address of the text in the upper 32 bits, its length in the lower.
#[unsafe(no_mangle)] // no other function of that name
extern "C" fn run() -> u64 {
    let vectors = if cfg!(target_feature = "simd128") { "SIMD128" } else { "no vectors" };
    // Text that does not fit is missed by the comparison.
    let _ = writeln!(Text, "# wasm32, {vectors}, {} bits, little endian", usize::BITS);
    if let Err(failure) = crate::run(|line| {
        let _ = writeln!(Text, "{line}");
    }) {
        let _ = writeln!(Text, "{failure}");
    }
    (TEXT.as_ptr() as u64) << 32 | LENGTH.load(Relaxed).min(ROOM) as u64
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let _ = writeln!(Text, "{info}");
    core::arch::wasm32::unreachable()
}
