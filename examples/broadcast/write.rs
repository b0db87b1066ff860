//! Writes an array as `.npy`.

use crate::command_line::Failure;
use crate::npy_header::{WriteElement, header};
use crate::whole_file::write_whole;
use ndarray::ArrayD;
use std::io::{self, Write};
use std::path::Path;

/// How many bytes are written at once.
const CHUNK: usize = 64 << 10;

/// Writes an array to a file or, if the path is `-`, to standard output. The file appears when it
/// is complete, not before.
pub fn write<T: WriteElement>(path: &Path, array: &ArrayD<T>) -> Result<(), Failure> {
    let header = header(path, T::DESCR, array.shape())?;
    write_whole(path, |to| write_array(to, header, array))
}

fn write_array<T: WriteElement>(
    to: &mut dyn Write,
    header: Vec<u8>,
    array: &ArrayD<T>,
) -> io::Result<()> {
    let mut bytes = header;
    for &element in array {
        element.push(&mut bytes);
        if bytes.len() >= CHUNK {
            to.write_all(&bytes)?;
            bytes.clear();
        }
    }
    to.write_all(&bytes)?;
    to.flush()
}
