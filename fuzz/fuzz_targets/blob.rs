#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    countgrid_grid::fuzzing::blob(data);
});
