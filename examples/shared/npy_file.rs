//! Reads `.npy` files by path.

use crate::command_line::Failure;
use crate::npy;
use crate::tensor::Tensor;
use crate::whole_file::is_dash;
use std::fs::File;
use std::io;
use std::path::Path;

pub fn read(path: &Path, maximum: usize) -> Result<Tensor, Failure> {
    let read = match is_dash(path) {
        true => npy::read(io::stdin().lock(), maximum),
        false => (File::open(path).map_err(|error| error.to_string()))
            .and_then(|file| npy::read(io::BufReader::new(file), maximum)),
    };
    read.map_err(|problem| Failure::Data(format!("{}: {problem}", display(path))))
}

/// The file name without its directory.
pub fn short(path: &Path) -> String {
    display(path.file_name().map_or(path, Path::new))
}

pub fn display(path: &Path) -> String {
    match is_dash(path) {
        true => "-".into(),
        false => path.display().to_string(),
    }
}
