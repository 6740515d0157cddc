#![no_main]

// A panic of the library becomes an error.
libfuzzer_sys::fuzz_target!(init: countgrid_io::fuzzing::ignore_contained_panics(), |data: &[u8]| {
    _ = countgrid_io::fuzzing::parquet(data);
});
