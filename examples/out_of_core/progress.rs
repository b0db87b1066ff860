//! The progress file beside the output: the job's description in lines, then one byte for each
//! tile.
//!
//! A tile is marked after its elements are on the disk. So a marked tile is complete, even after a
//! crash or a power failure. A tile that is complete but not marked is written again. A mark is one
//! byte, so several processes can set marks at the same time.

use crate::command_line::Failure;
use crate::whole_file::temporary_beside;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const TO_DO: u8 = b'.';
const DONE: u8 = b'x';

#[derive(Debug)]
pub struct Progress {
    file: File,
    path: PathBuf,
    name_len: usize,
    tiles: usize,
}

/// The path of the progress file of an output.
pub fn progress_path(out: &Path) -> PathBuf {
    let mut path = OsString::from(out);
    path.push(".progress");
    path.into()
}

impl Progress {
    /// Opens the progress file of the job with this name; `None` if it does not exist.
    pub fn open(path: &Path, name: &str, tiles: usize) -> Result<Option<Self>, Failure> {
        let failed = |error| Failure::io(&path.display().to_string(), &error);
        let mut file = match OpenOptions::new().read(true).write(true).open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(failed)?,
        };
        let len = (name.len() + tiles) as u64;
        let mut found = Vec::new();
        // The file may belong to something else and have any length.
        let mut start = (&mut file).take(len + 1);
        start.read_to_end(&mut found).map_err(failed)?;
        if !found.starts_with(name.as_bytes()) {
            return Err(cannot_continue(path, &first_difference(&found, name)));
        }
        if found.len() as u64 != len {
            return Err(cannot_continue(path, "it has not one byte for each tile"));
        }
        let mut progress = Progress {
            file,
            path: path.to_owned(),
            name_len: name.len(),
            tiles,
        };
        progress.marks()?;
        Ok(Some(progress))
    }

    /// Creates a progress file without marks. If another process does so at the same time, both
    /// open the same file.
    pub fn create(path: &Path, name: &str, tiles: usize) -> Result<Self, Failure> {
        let failed = |error| Failure::io(&path.display().to_string(), &error);
        let mut bytes = name.as_bytes().to_vec();
        bytes.resize(name.len() + tiles, TO_DO);
        let fill = |mut file: File| {
            file.write_all(&bytes)?;
            file.sync_all()
        };
        let (temporary, file) = temporary_beside(path).map_err(failed)?;
        // The link makes the complete file visible, and does not replace an existing one.
        let created = fill(file).and_then(|()| match fs::hard_link(&temporary, path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            // Not every file system supports links.
            Err(_) => match OpenOptions::new().write(true).create_new(true).open(path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
                opened => opened.and_then(fill),
            },
            Ok(()) => Ok(()),
        });
        let _ = fs::remove_file(&temporary);
        created.map_err(failed)?;
        sync_folder(path);
        match Progress::open(path, name, tiles)? {
            Some(progress) => Ok(progress),
            None => Err(failed(ErrorKind::NotFound.into())),
        }
    }

    /// Reads for each tile whether it is done.
    pub fn marks(&mut self) -> Result<Vec<bool>, Failure> {
        let mut marks = vec![0; self.tiles];
        (self.at(0).and_then(|()| self.file.read_exact(&mut marks)))
            .map_err(|error| self.failed(&error))?;
        let mark = |byte: &u8| match *byte {
            DONE => Some(true),
            TO_DO => Some(false),
            _ => None,
        };
        (marks.iter().map(mark).collect::<Option<_>>())
            .ok_or_else(|| cannot_continue(&self.path, "a mark is neither 'x' nor '.'"))
    }

    pub fn is_done(&mut self, tile: usize) -> Result<bool, Failure> {
        let mut mark = [0];
        (self.at(tile).and_then(|()| self.file.read_exact(&mut mark)))
            .map_err(|error| self.failed(&error))?;
        Ok(mark == [DONE])
    }

    /// Marks a tile as done. Its elements must be on the disk.
    pub fn mark(&mut self, tile: usize) -> Result<(), Failure> {
        (self.at(tile))
            .and_then(|()| self.file.write_all(&[DONE]))
            .and_then(|()| self.file.sync_data())
            .map_err(|error| self.failed(&error))
    }

    fn at(&mut self, tile: usize) -> io::Result<()> {
        let position = (self.name_len + tile) as u64;
        self.file.seek(SeekFrom::Start(position)).map(drop)
    }

    fn failed(&self, error: &io::Error) -> Failure {
        Failure::io(&self.path.display().to_string(), error)
    }
}

/// Syncs the folder of a new file, where the system supports it, so that the file survives a power
/// failure.
pub fn sync_folder(path: &Path) {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

pub fn cannot_continue(path: &Path, problem: &str) -> Failure {
    Failure::Data(format!(
        "{}: {problem}; --restart begins again",
        path.display()
    ))
}

fn first_difference(found: &[u8], name: &str) -> String {
    let mut lines = found.split(|&byte| byte == b'\n');
    let mut wanted = name.lines();
    if lines.next() != wanted.next().map(str::as_bytes) {
        return "this is not the progress of any job".into();
    }
    match (lines.map(String::from_utf8_lossy).zip(wanted)).find(|(found, wanted)| found != wanted) {
        Some((found, wanted)) => {
            format!("this is the progress of another job: {found:?}, and this one has {wanted:?}")
        }
        None => "this is the progress of a job whose name is cut short".into(),
    }
}
