//! Reading a `.npy` file. Its header is not trusted: every size is checked against the bytes that are there.
//!
//! Source: `numpy.lib.format`, versions 1.0 to 3.0.

use crate::tensor::{ElementType, Tensor, byte_count};
use std::path::Path;

pub fn read(path: &Path) -> Result<Tensor, String> {
    let bytes = crate::model::read_file(path)?;
    parse(&bytes).map_err(|problem| format!("{}: {problem}", path.display()))
}

fn parse(bytes: &[u8]) -> Result<Tensor, String> {
    let broken = || "this is no .npy file, or it ends in its header".to_owned();
    let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or_else(broken)?;
    let (version, rest) = rest.split_first_chunk::<2>().ok_or_else(broken)?;
    let (length, rest) = match version {
        [1, _] => {
            let (length, rest) = rest.split_first_chunk().ok_or_else(broken)?;
            (usize::from(u16::from_le_bytes(*length)), rest)
        }
        [2 | 3, _] => {
            let (length, rest) = rest.split_first_chunk().ok_or_else(broken)?;
            let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| broken())?;
            (length, rest)
        }
        [major, minor] => return Err(format!("version {major}.{minor} of .npy is unknown")),
    };
    let (header, data) = rest.split_at_checked(length).ok_or_else(broken)?;
    let header = std::str::from_utf8(header).map_err(|_| "the header is not UTF-8")?;
    let (descr, fortran, shape) =
        parse_header(header).ok_or("the header is not a dict of descr, fortran_order and shape")?;
    let element_type = ElementType::from_npy(descr)
        .ok_or_else(|| format!("element type {descr:?} is unknown here"))?;
    let wanted = byte_count(&shape, element_type.size())?;
    if data.len() != wanted {
        return Err(format!(
            "shape {shape:?} of {element_type} needs {wanted} bytes of data, and there are {}",
            data.len()
        ));
    }
    element_type.tensor(&shape, fortran, data)
}

/// `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`, in any order of the keys.
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
                let sizes = list.split_terminator(',').map(str::trim);
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
