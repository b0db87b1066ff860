//! Reads the `.npy` format. The header is not trusted: memory is allocated as bytes are read, not
//! as the header says.
//!
//! Source: `numpy.lib.format`, versions 1.0 to 3.0.

use crate::tensor::{ElementType, Order, Tensor, byte_count};
use std::io::{self, ErrorKind, Read};

/// The longest header accepted. A header of plain elements is shorter.
const LONGEST_HEADER: usize = 1 << 16;

/// NumPy's own limit.
pub const MAXIMUM_RANK: usize = 64;

/// Reads a tensor whose elements take at most `maximum` bytes. Bytes after the elements are an
/// error.
pub fn read(mut file: impl Read, maximum: usize) -> Result<Tensor, String> {
    let file = &mut file;
    if bytes(file)? != *b"\x93NUMPY" {
        return Err(BROKEN.into());
    }
    let length = match bytes(file)? {
        [1, _] => usize::from(u16::from_le_bytes(bytes(file)?)),
        [2 | 3, _] => usize::try_from(u32::from_le_bytes(bytes(file)?)).unwrap_or(usize::MAX),
        [major, minor] => return Err(format!("version {major}.{minor} of .npy is unknown")),
    };
    let header = up_to(file, length.min(LONGEST_HEADER))?;
    if header.len() < length {
        return Err(match header.len() {
            LONGEST_HEADER => format!("a header of {length} bytes is not that of plain elements"),
            _ => BROKEN.into(),
        });
    }
    let header = std::str::from_utf8(&header).map_err(|_| "the header is not UTF-8")?;
    let (descr, fortran, shape) =
        parse_header(header).ok_or("the header is not a dict of descr, fortran_order and shape")?;
    let (element_type, big_endian) =
        element_type(descr).ok_or_else(|| format!("element type {descr:?} is unknown here"))?;
    if shape.len() > MAXIMUM_RANK {
        let rank = shape.len();
        return Err(format!("{rank} axes are more than NumPy's {MAXIMUM_RANK}"));
    }
    let wanted = byte_count(&shape, element_type.size(), maximum)?;
    let data = up_to(file, wanted)?;
    let more = !up_to(file, 1)?.is_empty();
    if data.len() < wanted || more {
        let found = if more {
            "more".into()
        } else {
            data.len().to_string()
        };
        return Err(format!(
            "shape {shape:?} of {element_type} needs {wanted} bytes of data, and there are {found}"
        ));
    }
    let order = Order {
        fortran,
        big_endian,
    };
    element_type.tensor(&shape, order, &data)
}

const BROKEN: &str = "this is no .npy file, or it ends in its header";

fn bytes<const N: usize>(file: &mut impl Read) -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    file.read_exact(&mut bytes).map_err(problem)?;
    Ok(bytes)
}

/// Reads up to `length` bytes, fewer if the file ends. Memory grows with the bytes read.
fn up_to(file: &mut impl Read, length: usize) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    (file.take(length as u64).read_to_end(&mut bytes)).map_err(problem)?;
    Ok(bytes)
}

fn problem(error: io::Error) -> String {
    match error.kind() {
        ErrorKind::UnexpectedEof => BROKEN.into(),
        _ => error.to_string(),
    }
}

/// Parses `<f4` into the type and whether it is big-endian. `|` is for one-byte elements, which
/// have no byte order.
fn element_type(descr: &str) -> Option<(ElementType, bool)> {
    let order = descr.chars().next()?;
    let element_type = ElementType::from_npy(&descr[order.len_utf8()..])?;
    match order {
        '<' | '>' => Some((element_type, order == '>')),
        '|' if element_type.size() == 1 => Some((element_type, false)),
        _ => None,
    }
}

/// Parses `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`, with the keys in any
/// order.
fn parse_header(header: &str) -> Option<(&str, bool, Vec<usize>)> {
    let mut rest = header.trim().strip_prefix('{')?.trim_start();
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    while !rest.starts_with('}') {
        let (key, after) = quoted(rest)?;
        let after = after.trim_start().strip_prefix(':')?.trim_start();
        let after = match key {
            "descr" => {
                let (value, after) = quoted(after)?;
                descr = Some(value);
                after
            }
            "fortran_order" => match (after.strip_prefix("False"), after.strip_prefix("True")) {
                (Some(after), _) => {
                    fortran = Some(false);
                    after
                }
                (_, Some(after)) => {
                    fortran = Some(true);
                    after
                }
                _ => return None,
            },
            "shape" => {
                let (list, after) = after.strip_prefix('(')?.split_once(')')?;
                let sizes = list.trim().split_terminator(',').map(str::trim);
                shape = Some(match list.trim() {
                    "" => Vec::new(),
                    _ => sizes.map(|size| size.parse().ok()).collect::<Option<_>>()?,
                });
                after
            }
            _ => return None,
        };
        rest = after.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
    match rest == "}" {
        true => Some((descr?, fortran?, shape?)),
        false => None,
    }
}

fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text
        .chars()
        .next()
        .filter(|quote| matches!(quote, '\'' | '"'))?;
    text[1..].split_once(quote)
}
