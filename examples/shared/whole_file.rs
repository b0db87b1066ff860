//! Writes files atomically: a file is complete or does not exist.

use crate::command_line::Failure;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Whether the path stands for standard input or output.
pub fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Writes a file with `write` or, if the path is `-`, standard output. The file appears when it is
/// complete, not before.
pub fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    if is_dash(path) {
        return write(&mut io::stdout().lock())
            .map_err(|error| Failure::io("standard output", &error));
    }
    let in_file = |error| Failure::io(&path.display().to_string(), &error);
    // Replace the target of a link, not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match fs::metadata(&target) {
        // A device or a pipe is never replaced.
        Ok(metadata) if !metadata.is_file() => {
            let file = OpenOptions::new().write(true).open(&target);
            file.and_then(|mut file| write(&mut file)).map_err(in_file)
        }
        found => {
            let (temporary, mut file) = temporary_beside(&target).map_err(in_file)?;
            let written = write(&mut file)
                .and_then(|()| match found {
                    Ok(metadata) => file.set_permissions(metadata.permissions()),
                    Err(_) => Ok(()),
                })
                .and_then(|()| fs::rename(&temporary, &target));
            written.map_err(|error| {
                let _ = fs::remove_file(&temporary);
                in_file(error)
            })
        }
    }
}

/// Creates a temporary file in the target's directory. It is renamed to the target when complete.
///
/// Process ids do not tell processes apart: in each container the first has the id 1, and one that
/// was killed has left its file.
pub fn temporary_beside(target: &Path) -> io::Result<(PathBuf, File)> {
    let name = (target.file_name()).ok_or(io::Error::from(ErrorKind::InvalidInput))?;
    for attempt in 0..u32::MAX {
        let mut temporary = OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}.{attempt}.part", std::process::id()));
        let temporary = target.with_file_name(temporary);
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary)
        {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| (temporary, file)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}
