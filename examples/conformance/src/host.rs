//! With an operating system: on several numbers of threads, which must not change a bit. The arguments are those numbers.

use std::process::ExitCode;

use rayon::ThreadPoolBuilder;

const THREADS: &[usize] = &[1, 2, 3, 7];

pub(crate) fn main() -> ExitCode {
    let arguments: Result<Vec<usize>, _> =
        std::env::args().skip(1).map(|argument| argument.parse()).collect();
    let threads = match &arguments {
        Ok(arguments) if arguments.is_empty() => THREADS,
        Ok(arguments) => arguments,
        Err(error) => {
            println!("numbers of threads, not {:?}: {error}", std::env::args().skip(1).collect::<Vec<_>>());
            return ExitCode::FAILURE;
        }
    };
    println!("# {}, threads {threads:?}", machine());
    let mut single: Option<Vec<String>> = None;
    for &threads in threads {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let mut lines = Vec::new();
        if let Err(failure) = pool.install(|| crate::run(|line| lines.push(line.to_string()))) {
            println!("{failure}");
            return ExitCode::FAILURE;
        }
        let Some(single) = &single else {
            lines.iter().for_each(|line| println!("{line}"));
            single = Some(lines);
            continue;
        };
        if lines != *single {
            for (line, _) in lines.iter().zip(single).filter(|(line, single)| line != single) {
                println!("{line}, on {threads} threads, is not what the first number of threads gives");
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
        countgrid_math::Level::Avx512 if !cfg!(target_feature = "avx512f") => "AVX-512 where it is faster",
        countgrid_math::Level::Avx2 => "AVX2",
        _ => compiled.iter().find(|(has, _)| *has).map_or("no vectors", |(_, name)| name),
    };
    let endian = if cfg!(target_endian = "big") { "big endian" } else { "little endian" };
    format!("{}, {vectors}, {} bits, {endian}", std::env::consts::ARCH, usize::BITS)
}
