#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    _ = countgrid_io::fuzzing::blocks(data);
});
