//! Creates folders atomically: a folder is complete or does not exist.

use crate::command_line::Failure;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Fills a temporary folder with `fill` and renames it to `path`. If another process was faster,
/// its folder is kept. `file` is a file that a complete folder has.
pub fn create_whole(
    path: &Path,
    file: &str,
    fill: impl FnOnce(&Path) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let failed = |error| Failure::io(&path.display().to_string(), &error);
    let temporary = temporary_beside(path).map_err(failed)?;
    let created = fill(&temporary).and_then(|()| match fs::rename(&temporary, path) {
        Err(_) if path.join(file).exists() => fs::remove_dir_all(&temporary).map_err(failed),
        renamed => renamed.map_err(failed),
    });
    if created.is_err() {
        let _ = fs::remove_dir_all(&temporary);
    }
    created
}

/// Creates an empty folder beside `path`, and the folders above it.
///
/// Process ids do not tell processes apart: in each container the first has the id 1, and one that
/// was killed has left its folder.
fn temporary_beside(path: &Path) -> io::Result<PathBuf> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    for attempt in 0..u32::MAX {
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(format!(".{}.{attempt}.part", std::process::id()));
        let temporary = PathBuf::from(temporary);
        match fs::create_dir(&temporary) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            created => return created.map(|()| temporary),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}
