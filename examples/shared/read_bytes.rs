//! Reads whole files up to a maximum length.

use crate::command_line::Failure;
use crate::whole_file::is_dash;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Reads a file or, if the path is `-`, standard input. More than `maximum` bytes are an error.
pub fn read_bytes(path: &Path, maximum: u64) -> Result<Vec<u8>, Failure> {
    let read = match is_dash(path) {
        true => up_to(io::stdin().lock(), maximum),
        false => File::open(path).and_then(|file| up_to(file, maximum)),
    };
    let problem = match read {
        Ok(bytes) if bytes.len() as u64 <= maximum => return Ok(bytes),
        Ok(_) => format!("it has more than {maximum} bytes, which is this example's limit"),
        Err(error) => error.to_string(),
    };
    Err(Failure::Data(format!("{}: {problem}", path.display())))
}

/// Reads at most one byte more than `maximum`.
fn up_to(file: impl Read, maximum: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(maximum + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
