//! Prints the bits of every posterior: on the board to the debugger.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![forbid(unsafe_code)]

#[cfg(not(target_os = "none"))]
fn main() -> Result<(), countgrid::Error> {
    firmware::all(|evidence, posterior| println!("{evidence:08x} {posterior:08x?}"))
}

#[cfg(target_os = "none")]
mod board {
    use core::panic::PanicInfo;
    use cortex_m_semihosting::{debug, hprintln};

    #[cortex_m_rt::entry]
    fn main() -> ! {
        match firmware::all(|evidence, posterior| hprintln!("{:08x} {:08x?}", evidence, posterior)) {
            Ok(()) => exit(debug::EXIT_SUCCESS),
            Err(error) => {
                hprintln!("refused: {}", error);
                exit(debug::EXIT_FAILURE)
            }
        }
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
