//! The `.bin` file of a model. It is read where a constant lies, not as a whole.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct Weights {
    path: PathBuf,
    file: File,
    len: u64,
}

impl Weights {
    /// Opens the file.
    pub fn open(path: &Path) -> Result<Self, String> {
        let in_file = |problem: &dyn std::fmt::Display| format!("{}: {problem}", path.display());
        let metadata = std::fs::metadata(path).map_err(|error| in_file(&error))?;
        if !metadata.is_file() {
            return Err(in_file(&"this is no file"));
        }
        Ok(Weights {
            path: path.to_owned(),
            file: File::open(path).map_err(|error| in_file(&error))?,
            len: metadata.len(),
        })
    }

    /// Returns an error if these bytes are not in the file.
    pub fn check(&self, offset: u64, size: u64) -> Result<(), String> {
        match offset.checked_add(size).is_some_and(|end| end <= self.len) {
            true => Ok(()),
            false => Err(format!(
                "{size} bytes from {offset} on reach past the end of the .bin file, which has {}",
                self.len
            )),
        }
    }

    /// Reads these bytes.
    pub fn read(&self, offset: u64, size: usize) -> Result<Vec<u8>, String> {
        self.check(offset, size as u64)?;
        let in_file =
            |problem: &dyn std::fmt::Display| format!("{}: {problem}", self.path.display());
        let mut bytes = Vec::new();
        (bytes.try_reserve_exact(size)).map_err(|error| in_file(&error))?;
        bytes.resize(size, 0);
        let mut file = &self.file;
        (file.seek(SeekFrom::Start(offset)))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|error| in_file(&error))?;
        Ok(bytes)
    }
}
