//! Prints one digest of bits for each group of results. `compare` runs it here and on an emulated Cortex-M4F.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![forbid(unsafe_code)]

mod digest;

#[cfg(not(target_os = "none"))]
fn main() {
    digest::all(|name, digest| println!("{name} {digest:016x}"));
}

#[cfg(target_os = "none")]
mod board {
    use core::panic::PanicInfo;
    use cortex_m_semihosting::{debug, hprintln};

    #[cortex_m_rt::entry]
    fn main() -> ! {
        crate::digest::all(|name, digest| hprintln!("{} {:016x}", name, digest));
        exit(debug::EXIT_SUCCESS)
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
}
