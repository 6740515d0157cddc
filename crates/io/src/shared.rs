//! A file that is read in several places.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use crate::error::Problem;
use crate::source::{Source, open_file, problem_of};

/// A file of which each clone has its own place.
#[derive(Clone)]
pub(crate) struct Shared {
    file: Arc<File>,
    at: u64,
}

impl Read for Shared {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = &*self.file;
        file.seek(SeekFrom::Start(self.at))?;
        let read = file.read(buffer)?;
        self.at = self.at.saturating_add(read as u64);
        Ok(read)
    }
}

impl Seek for Shared {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => (&*self.file).seek(SeekFrom::End(0))?.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

/// The bytes of a file, which is read where it lies, or from a temporary one if it is compressed or comes through a pipe.
pub(crate) fn shared(source: Source, path: &Path) -> Result<Shared, Problem> {
    if !source.gzip && path.metadata().is_ok_and(|about| about.is_file()) {
        return Ok(Shared { file: Arc::new(open_file(path)?), at: 0 });
    }
    let mut file = tempfile::tempfile().map_err(Problem::Spool)?;
    let (mut reader, mut piece) = (source.reader(), vec![0; 64 << 10]);
    loop {
        let read = reader.read(&mut piece).map_err(problem_of)?;
        if read == 0 {
            return Ok(Shared { file: Arc::new(file), at: 0 });
        }
        io::Write::write_all(&mut file, &piece[..read]).map_err(Problem::Spool)?;
    }
}
