#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    _ = countgrid_counts::fuzzing::csr(data);
});
