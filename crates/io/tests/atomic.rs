//! A file is written as a whole or not at all.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Barrier;
use std::thread;

use countgrid_io::{StagedFiles, check_writable, write_atomically};

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_failure_leaves_the_previous_file_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map.html");
    write_atomically(&path, |out| out.write_all(b"first")).unwrap();
    let half = vec![b'x'; 1 << 20]; // more than any buffer
    let failed = write_atomically(&path, |out| {
        out.write_all(&half)?;
        Err(io::ErrorKind::StorageFull.into())
    });
    let message = failed.unwrap_err().to_string();
    assert!(message.starts_with(&format!("{}: cannot be written: ", path.display())), "{message}");
    assert!(message.ends_with("remedy: make room, or name a file on another disk"), "{message}");
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        write_atomically(&path, |out| {
            out.write_all(&half)?;
            panic!("in the middle")
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(fs::read(&path).unwrap(), b"first");
    assert_eq!(names(folder.path()), ["map.html"]);
}

#[test]
fn places_that_cannot_be_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        (folder.path().join("missing/map.html"), "remedy: create the folder first"),
        (folder.path().to_path_buf(), "remedy: name a file, this is a folder"),
    ];
    for (path, remedy) in cases {
        let message = write_atomically(&path, |_| Ok(())).unwrap_err().to_string();
        assert!(message.contains(remedy), "{message}");
        assert_eq!(check_writable(&path).unwrap_err().to_string(), message);
    }
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn asking_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map.html");
    check_writable(&path).unwrap();
    assert_eq!(names(folder.path()), [""; 0]);
    fs::write(&path, "first").unwrap();
    check_writable(&path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"first");
}

#[test]
fn a_name_without_a_folder_is_in_this_one() {
    // The tests of a package run in its folder.
    check_writable("no-such-file-yet").unwrap();
    assert!(!Path::new("no-such-file-yet").exists());
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn permissions_are_those_of_any_file_or_of_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let (path, plain) = (folder.path().join("map.html"), folder.path().join("plain"));
        fs::write(&plain, "").unwrap();
        write_atomically(&path, |_| Ok(())).unwrap();
        assert_eq!(mode(&path), mode(&plain));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        write_atomically(&path, |_| Ok(())).unwrap();
        assert_eq!(mode(&path), 0o640);
    }

    #[test]
    fn a_read_only_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("map.html");
        fs::write(&path, "mine").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        let message = write_atomically(&path, |_| Ok(())).unwrap_err().to_string();
        assert!(message.contains("remedy: name a file in a folder that you may write to"), "{message}");
        assert_eq!(fs::read(&path).unwrap(), b"mine");
    }

    #[test]
    fn a_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("map.html"), folder.path().join("link"));
        fs::write(&path, "first").unwrap();
        symlink(&path, &link).unwrap();
        write_atomically(&link, |out| out.write_all(b"second")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"second");
    }

    #[test]
    fn a_device_is_written_to_and_stays_a_device() {
        write_atomically("/dev/null", |out| out.write_all(b"gone")).unwrap();
        check_writable("/dev/null").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}

#[test]
fn staged_files_appear_together_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    fs::write(&first, "before").unwrap();
    let mut files = StagedFiles::new();
    files.write(&first, |out| out.write_all(b"new")).unwrap();
    assert_eq!(fs::read(&first).unwrap(), b"before");
    let failed = files.write(&second, |out| {
        out.write_all(b"half")?;
        Err(io::ErrorKind::StorageFull.into())
    });
    assert_eq!(failed.unwrap_err().file(), second);
    drop(files);
    assert_eq!(names(folder.path()), ["first"]);
    assert_eq!(fs::read(&first).unwrap(), b"before");

    let mut files = StagedFiles::new();
    for path in [&first, &second] {
        files.write(path, |out| out.write_all(b"new")).unwrap();
    }
    files.publish().unwrap();
    assert_eq!(names(folder.path()), ["first", "second"]);
    assert_eq!([fs::read(&first).unwrap(), fs::read(&second).unwrap()], [b"new", b"new"]);
}

#[cfg(target_os = "linux")]
#[test]
fn what_killed_runs_have_left_is_removed_and_nothing_else() {
    // A process that is no more.
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let (dead, alive) = (child.id(), std::process::id());
    child.wait().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str| {
        fs::write(folder.path().join(name), "half of").unwrap();
        name.to_owned()
    };
    let left =
        [format!(".map.html.countgrid-{dead}-aB3xY9.tmp"), format!(".other.csv.countgrid-{dead}-000000.tmp")];
    left.iter().for_each(|name| _ = make(name));
    let locked = make(&format!(".map.html.countgrid-{dead}-locked.tmp"));
    let lock = fs::File::open(folder.path().join(&locked)).unwrap();
    lock.lock().unwrap();
    let mut stay = vec![
        locked,
        make(&format!(".map.html.countgrid-{alive}-aB3xY9.tmp")),
        make(&format!(".map.html.countgrid-{dead}-aB3xY.tmp")),
        make(&format!("map.html.countgrid-{dead}-aB3xY9.tmp")),
        make(&format!(".map.html.countgrid-{dead}-aB3xY9")),
        make(".map.html.aB3xY9.tmp"),
    ];
    let sub = format!(".folder.countgrid-{dead}-aB3xY9.tmp");
    fs::create_dir(folder.path().join(&sub)).unwrap();
    stay.push(sub);
    stay.sort();
    check_writable(folder.path().join("map.html")).unwrap();
    assert_eq!(names(folder.path()), stay);

    // A file under construction has such a name, and is locked.
    let mut files = StagedFiles::new();
    files.write(folder.path().join("x"), |out| out.write_all(b"new")).unwrap();
    let all = names(folder.path());
    let own: Vec<_> = all.iter().filter(|name| !stay.contains(name)).collect();
    let [own] = own[..] else { panic!("{all:?}") };
    assert!(own.starts_with(&format!(".x.countgrid-{alive}-")) && own.ends_with(".tmp"), "{own}");
    let other = fs::File::open(folder.path().join(own)).unwrap();
    assert!(matches!(other.try_lock(), Err(fs::TryLockError::WouldBlock)));
}

#[test]
fn sets_of_two_runs_are_not_mixed() {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<_> = (0..8).map(|n| folder.path().join(format!("part-{n}"))).collect();
    let both_are_written = Barrier::new(2);
    for round in 0..12 {
        thread::scope(|scope| {
            for run in 0..2 {
                let (paths, both_are_written) = (&paths, &both_are_written);
                scope.spawn(move || {
                    let mut files = StagedFiles::new();
                    for path in paths {
                        files.write(path, |out| write!(out, "{round} {run}")).unwrap();
                    }
                    both_are_written.wait();
                    files.publish().unwrap();
                });
            }
        });
        let contents: BTreeSet<_> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
        assert_eq!(contents.len(), 1, "round {round}: {contents:?}");
    }
}

/// What goes to a pipe is written to it, once it is whole.
#[cfg(target_os = "linux")]
#[test]
fn what_goes_to_a_pipe_arrives() {
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;
    let (mut reader, writer) = io::pipe().unwrap();
    let path = format!("/proc/self/fd/{}", writer.as_raw_fd());
    check_writable(&path).unwrap();
    write_atomically(&path, |out| out.write_all(b"red ants ")).unwrap();
    let failed = write_atomically(&path, |out| {
        out.write_all(b"half of")?;
        Err(io::Error::other("the rest is missing"))
    });
    assert!(failed.is_err());
    let mut files = StagedFiles::new();
    files.write(&path, |out| out.write_all(b"walk")).unwrap();
    (&writer).write_all(b"still ").unwrap();
    files.publish().unwrap();
    drop(writer);
    let mut arrived = String::new();
    reader.read_to_string(&mut arrived).unwrap();
    assert_eq!(arrived, "red ants still walk");
}

/// A link to itself leads nowhere; it is no place where there is nothing yet.
#[cfg(unix)]
#[test]
fn a_link_to_itself_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&link, &link).unwrap();
    assert!(write_atomically(&link, |out| out.write_all(b"new")).is_err());
    assert!(check_writable(&link).is_err());
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(names(folder.path()), ["link"]);
}
