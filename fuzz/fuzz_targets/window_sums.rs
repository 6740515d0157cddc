#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    countgrid_prefix::fuzzing::window_sums(data);
});
