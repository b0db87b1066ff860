//! Files that are whole or not there.

use crate::command_line::Failure;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Whether the path stands for standard input or output.
pub fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Lets `write` write a file or, if the path is `-`, to standard output. The file is there when it is whole, not before.
pub fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    if is_dash(path) {
        return write(&mut io::stdout().lock())
            .map_err(|error| Failure::io("standard output", &error));
    }
    let in_file = |error| Failure::io(&path.display().to_string(), &error);
    // Through a link to what it leads to.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match fs::metadata(&target) {
        // A device or a pipe is written to, never replaced.
        Ok(metadata) if !metadata.is_file() => {
            let file = OpenOptions::new().write(true).open(&target);
            file.and_then(|mut file| write(&mut file)).map_err(in_file)
        }
        found => {
            let (part, mut file) = part_of(&target).map_err(in_file)?;
            let written = write(&mut file)
                .and_then(|()| match found {
                    Ok(metadata) => file.set_permissions(metadata.permissions()),
                    Err(_) => Ok(()),
                })
                .and_then(|()| fs::rename(&part, &target));
            written.map_err(|error| {
                let _ = fs::remove_file(&part);
                in_file(error)
            })
        }
    }
}

/// A new file beside the target, which becomes the target.
fn part_of(target: &Path) -> io::Result<(PathBuf, File)> {
    let name = (target.file_name()).ok_or(io::Error::from(ErrorKind::InvalidInput))?;
    for attempt in 0..u32::MAX {
        let mut part = OsString::from(".");
        part.push(name);
        part.push(format!(".{}.{attempt}.part", std::process::id()));
        let part = target.with_file_name(part);
        match OpenOptions::new().write(true).create_new(true).open(&part) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| (part, file)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}
