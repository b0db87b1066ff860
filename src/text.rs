//! The text form of modes and rules: a name, then integers in parentheses.

use std::fmt::{self, Display};
use std::str::FromStr;

/// Writes `explicit(1, 2)`, or the bare name if there are no axes.
pub(crate) fn write_axes(
    f: &mut fmt::Formatter<'_>,
    name: impl Display,
    axes: &[usize],
) -> fmt::Result {
    write!(f, "{name}")?;
    for (position, axis) in axes.iter().enumerate() {
        write!(f, "{}{axis}", if position == 0 { "(" } else { ", " })?;
    }
    f.write_str(if axes.is_empty() { "" } else { ")" })
}

/// Writes `pdpd(1)`, or the bare name if the axis is the default one.
pub(crate) fn write_axis(
    f: &mut fmt::Formatter<'_>,
    name: impl Display,
    axis: isize,
    default: isize,
) -> fmt::Result {
    write!(f, "{name}")?;
    if axis == default {
        return Ok(());
    }
    write!(f, "({axis})")
}

/// Splits `explicit(1, 2)` into `explicit` and `1, 2`. The list of a bare name is empty. `None`
/// if the closing parenthesis is missing.
pub(crate) fn split(text: &str) -> Option<(&str, &str)> {
    match text.trim().split_once('(') {
        None => Some((text.trim(), "")),
        Some((name, rest)) => Some((name.trim(), rest.strip_suffix(')')?.trim())),
    }
}

/// A name in lower case, without allocating. `None` if it is longer than every known name.
pub(crate) fn lower<'a>(name: &str, buffer: &'a mut [u8; 24]) -> Option<&'a str> {
    let buffer = buffer.get_mut(..name.len())?;
    buffer.copy_from_slice(name.as_bytes());
    buffer.make_ascii_lowercase();
    std::str::from_utf8(buffer).ok()
}

/// The integers of a list. `None` if an entry is not an integer of this type.
///
/// # Errors
///
/// The number of bytes that the allocator refused.
pub(crate) fn integers<T: FromStr>(list: &str) -> Result<Option<Vec<T>>, usize> {
    let mut integers = Vec::new();
    if list.is_empty() {
        return Ok(Some(integers));
    }
    let count = list.split(',').count();
    integers
        .try_reserve_exact(count)
        .map_err(|_| count.saturating_mul(size_of::<T>()))?;
    for entry in list.split(',') {
        match entry.trim().parse() {
            Ok(integer) => integers.push(integer),
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(integers))
}

/// The one integer of a list, or `default` if the list is empty. `None` if it is neither.
///
/// # Errors
///
/// The number of bytes that the allocator refused.
pub(crate) fn integer_or(list: &str, default: isize) -> Result<Option<isize>, usize> {
    Ok(match integers(list)?.as_deref() {
        Some([]) => Some(default),
        Some([integer]) => Some(*integer),
        _ => None,
    })
}
