#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    countgrid_io::fuzzing::sequences(data);
});
