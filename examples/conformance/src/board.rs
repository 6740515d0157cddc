//! A microcontroller that writes through its debugger.

use core::panic::PanicInfo;

use cortex_m_semihosting::{debug, hprintln};

#[cortex_m_rt::entry]
fn main() -> ! {
    let floats = if cfg!(target_abi = "eabihf") { "f32 in hardware" } else { "floats in software" };
    hprintln!("# arm, {}, {} bits, little endian", floats, usize::BITS);
    let outcome = crate::run(|line| hprintln!("{}", line));
    if let Err(failure) = &outcome {
        hprintln!("{}", failure);
    }
    exit(if outcome.is_ok() { debug::EXIT_SUCCESS } else { debug::EXIT_FAILURE })
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
