//! How much memory there is, and how much was used.

/// Bytes available without swapping, where the system reports them (Linux).
///
/// ```
/// use countgrid_corpus::memory;
/// assert!(memory::available().is_none_or(|bytes| bytes > 0));
/// ```
#[must_use]
pub fn available() -> Option<u128> {
    parse(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// The peak memory of this process in bytes, where the system reports it (Linux).
///
/// ```
/// use countgrid_corpus::memory;
/// assert!(memory::peak().is_none_or(|bytes| bytes > 0));
/// ```
#[must_use]
pub fn peak() -> Option<u128> {
    parse(&std::fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

fn parse(table: &str, name: &str) -> Option<u128> {
    let line = table.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u128 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// A number of bytes in a human-readable unit.
///
/// ```
/// assert_eq!(countgrid_corpus::memory::format_bytes(3_210_000_000), "3.2 GB");
/// ```
#[must_use]
pub fn format_bytes(bytes: u128) -> String {
    let mut size = bytes as f64;
    for unit in ["bytes", "kB", "MB", "GB", "TB", "PB", "EB"] {
        if size < 1000.0 {
            let digits = usize::from(size < 100.0 && unit != "bytes");
            return format!("{size:.digits$} {unit}");
        }
        size /= 1000.0;
    }
    format!("{size:.3e} ZB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_in_units() {
        for (bytes, text) in
            [(0, "0 bytes"), (999, "999 bytes"), (1_200, "1.2 kB"), (48_000_000_000_000, "48.0 TB")]
        {
            assert_eq!(format_bytes(bytes), text);
        }
        // A thousand is one of the next unit, and a hundred has no decimals.
        for (bytes, text) in
            [(1_000, "1.0 kB"), (99_900, "99.9 kB"), (100_000, "100 kB"), (1_000_000, "1.0 MB")]
        {
            assert_eq!(format_bytes(bytes), text);
        }
    }

    #[test]
    fn meminfo() {
        let parse = |table| parse(table, "MemAvailable:");
        assert_eq!(parse("MemTotal: 10 kB\nMemAvailable:    3 kB\n"), Some(3072));
        assert_eq!(parse("MemAvailable: lots\n"), None);
    }

    #[test]
    fn memory_is_in_bytes() {
        let is_told = |path, name| std::fs::read_to_string(path).is_ok_and(|table| table.contains(name));
        // No machine that runs this has less, nor more than an exbibyte.
        let plausible = 1 << 20..1 << 60;
        let found = available();
        assert_eq!(found.is_some(), is_told("/proc/meminfo", "MemAvailable:"));
        assert!(found.is_none_or(|bytes| plausible.contains(&bytes)), "{found:?}");
        // What was written was in memory.
        let written = std::hint::black_box(vec![1u8; 4 << 20]);
        let found = peak();
        assert_eq!(found.is_some(), is_told("/proc/self/status", "VmHWM:"));
        assert!(found.is_none_or(|bytes| (written.len() as u128..1 << 60).contains(&bytes)), "{found:?}");
    }
}
