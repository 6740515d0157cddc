#![no_main]

// A panic of the library becomes an error: the hook that ends the program is for those of ours.
libfuzzer_sys::fuzz_target!(
    init: {
        let ends = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !countgrid_io::fuzzing::is_contained() {
                ends(panic);
            }
        }));
    },
    |data: &[u8]| {
        _ = countgrid_io::fuzzing::arrow(data);
    }
);
