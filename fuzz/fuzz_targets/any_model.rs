#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    _ = countgrid_estimators::fuzzing::any_model(data);
});
