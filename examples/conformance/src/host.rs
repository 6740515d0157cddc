//! With an operating system: on several numbers of threads, which must not change a bit.

use std::process::ExitCode;

use rayon::ThreadPoolBuilder;

const THREADS: [usize; 4] = [1, 2, 3, 7];

pub(crate) fn main() -> ExitCode {
    println!("# {}, threads {THREADS:?}", machine());
    let mut single: Vec<String> = Vec::new();
    for threads in THREADS {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let mut lines = Vec::new();
        if let Err(failure) = pool.install(|| crate::run(|line| lines.push(line.to_string()))) {
            println!("{failure}");
            return ExitCode::FAILURE;
        }
        if threads == 1 {
            lines.iter().for_each(|line| println!("{line}"));
            single = lines;
        } else if lines != single {
            for (line, _) in lines.iter().zip(&single).filter(|(line, single)| line != single) {
                println!("{line}, on {threads} threads, is not what one thread gives");
            }
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// What this program was compiled for, and what it found.
fn machine() -> String {
    let compiled = [
        (cfg!(target_feature = "avx512f"), "AVX-512"),
        (cfg!(target_feature = "neon"), "NEON"),
        (cfg!(target_feature = "altivec"), "AltiVec"),
        (cfg!(target_feature = "sse2"), "SSE2"),
    ];
    let vectors = match countgrid_math::level() {
        countgrid_math::Level::Avx2 if !cfg!(target_feature = "avx512f") => "AVX2",
        _ => compiled.iter().find(|(has, _)| *has).map_or("no vectors", |(_, name)| name),
    };
    let endian = if cfg!(target_endian = "big") { "big endian" } else { "little endian" };
    format!("{}, {vectors}, {} bits, {endian}", std::env::consts::ARCH, usize::BITS)
}
