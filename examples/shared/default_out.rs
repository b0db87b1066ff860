//! Where an example writes if `--out` is not given.

use crate::command_line::Failure;
use std::path::{Path, PathBuf};

/// `target/NAME` below the current folder, if that is a cargo project. Elsewhere, no folder is the
/// one that the user expects, so `--out` is required.
pub fn default_out(name: &str) -> Result<PathBuf, Failure> {
    match Path::new("Cargo.toml").is_file() {
        true => Ok(Path::new("target").join(name)),
        false => Err(Failure::usage(
            "--out is missing: it has a default only in the folder of a cargo project, \
             and this folder has no Cargo.toml",
        )),
    }
}
