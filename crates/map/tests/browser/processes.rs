//! What runs on the machine, as far as `/proc` says.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// A process, where `/proc` says so.
pub(super) struct Process {
    pub(super) command: String,
    parent: u32,
    megabytes: f64, // held at most so far
}

impl Process {
    /// Those that run.
    fn all() -> BTreeMap<u32, Self> {
        let read = |folder: PathBuf| {
            let text = |name| fs::read_to_string(folder.join(name)).ok();
            let (command, status) = (text("cmdline")?, text("status")?);
            let number = |name| {
                let line = status.lines().find_map(|line| line.strip_prefix(name))?;
                line.trim().trim_end_matches(" kB").parse::<u32>().ok()
            };
            let (parent, megabytes) = (number("PPid:")?, f64::from(number("VmHWM:")?) / 1e3);
            Some((number("Pid:")?, Self { command, parent, megabytes }))
        };
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        all.filter_map(|folder| read(folder.path())).collect()
    }

    /// Whether one was started by another or by what that has started.
    pub(super) fn descends(all: &BTreeMap<u32, Self>, process: u32, from: u32) -> bool {
        let parent = |number: &u32| all.get(number).map(|process| process.parent);
        std::iter::successors(parent(&process), parent).any(|number| number == from)
    }
}

/// The megabytes that the largest process has held at most so far, of those that are meant.
pub(super) fn largest(is_meant: impl Fn(&BTreeMap<u32, Process>, u32) -> bool) -> f64 {
    let all = Process::all();
    let own = all.iter().filter(|&(&number, _)| is_meant(&all, number));
    own.map(|(_, process)| process.megabytes).fold(0.0, f64::max)
}
