//! Writes the header of a `.npy` file of version 1.0: little-endian, C order.
//!
//! Source: `numpy.lib.format`.

use crate::command_line::Failure;
use crate::npy::MAXIMUM_RANK;
use crate::tensor::Element;
use half::f16;
use std::path::Path;

/// The elements start at a multiple of this offset, so they are aligned.
const ALIGNMENT: usize = 64;

/// An element that is written as little-endian bytes.
pub trait WriteElement: Element {
    const DESCR: &str;
    fn push(self, bytes: &mut Vec<u8>);
}

macro_rules! numbers {
    ($($t:ty, $descr:literal;)*) => {$(
        impl WriteElement for $t {
            const DESCR: &str = $descr;
            fn push(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

numbers! {
    f16, "<f2";
    f32, "<f4";
    f64, "<f8";
    i8, "|i1";
    i16, "<i2";
    i32, "<i4";
    i64, "<i8";
    u8, "|u1";
    u16, "<u2";
    u32, "<u4";
    u64, "<u8";
}

impl WriteElement for bool {
    const DESCR: &str = "|b1";
    fn push(self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(self));
    }
}

/// All bytes before the elements: magic string, version, header length, header.
pub fn header(path: &Path, descr: &str, shape: &[usize]) -> Result<Vec<u8>, Failure> {
    if shape.len() > MAXIMUM_RANK {
        let rank = shape.len();
        return Err(Failure::Data(format!(
            "{}: {rank} axes are more than NumPy's {MAXIMUM_RANK}",
            path.display()
        )));
    }
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let dict = format!(
        "{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}{comma}), }}",
        sizes.join(", ")
    );
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    let before = bytes.len() + size_of::<u16>();
    // The limit on the rank keeps this far below 64 KiB.
    let length = (before + dict.len() + 1).next_multiple_of(ALIGNMENT) - before;
    bytes.extend((length as u16).to_le_bytes());
    bytes.extend(dict.into_bytes());
    bytes.resize(before + length - 1, b' ');
    bytes.push(b'\n');
    Ok(bytes)
}
