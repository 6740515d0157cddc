//! What the board needs to begin and to end.

use core::panic::PanicInfo;
use cortex_m_semihosting::{debug, hprintln};

#[cortex_m_rt::entry]
fn main() -> ! {
    exit(if crate::run() { debug::EXIT_SUCCESS } else { debug::EXIT_FAILURE })
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    hprintln!("{}", info);
    exit(debug::EXIT_FAILURE)
}

fn exit(status: debug::ExitStatus) -> ! {
    loop {
        debug::exit(status);
    }
}
