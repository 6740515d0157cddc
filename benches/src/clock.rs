use std::time::Instant;

use cpu_time::ProcessTime;

/// How long something took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seconds {
    /// By the clock on the wall.
    pub wall: f64,
    /// Of all processors together. With one thread on a quiet machine the same; on a busy one the better measure.
    pub cpu: f64,
}

impl std::ops::AddAssign for Seconds {
    fn add_assign(&mut self, other: Self) {
        self.wall += other.wall;
        self.cpu += other.cpu;
    }
}

/// Runs something once and says how long it took.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Seconds) {
    let (wall, cpu) = (Instant::now(), ProcessTime::now());
    let result = work();
    let (cpu, wall) = (cpu.elapsed(), wall.elapsed());
    (result, Seconds { wall: wall.as_secs_f64(), cpu: cpu.as_secs_f64() })
}

/// The most memory that this process has had at any time, in bytes. `None` where the system does not tell (it does
/// on Linux).
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
