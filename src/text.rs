//! The text form of modes and rules: a name, then integers in parentheses.

use crate::error::{Result, invalid_text};
use std::fmt::{self, Display};

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

/// What follows a name, and the mode or rule that it gives. Faults are what errors say.
pub(crate) enum Form<M> {
    /// Nothing. The fault is that of a name with a list.
    Bare(M, &'static str),
    /// A list of axes, which may be missing. The fault is that of any other list.
    Axes(fn(Vec<usize>) -> M, &'static str),
    /// One axis. The other value is the axis of a bare name, or its fault.
    Axis(fn(isize) -> M, Result<isize, &'static str>),
    /// There is no such name here.
    Unknown(&'static str),
}

/// The value of a text such as `explicit(1, 2)`. `form_of` takes the name in lower case. `kind` is
/// what the text should name, for errors.
///
/// # Errors
///
/// `InvalidText`.
pub(crate) fn parse<M>(
    kind: &'static str,
    text: &str,
    form_of: impl FnOnce(&str) -> Form<M>,
) -> Result<M> {
    let no_end = "expected a name, then integers in parentheses if it takes any, as in pdpd(1)";
    let invalid = |fault| invalid_text(kind, text, fault);
    let (name, rest) = text.trim().split_once('(').unwrap_or((text, ")"));
    let list = rest
        .strip_suffix(')')
        .ok_or_else(|| invalid(no_end))?
        .trim();
    match form_of(&name.trim().to_ascii_lowercase()) {
        Form::Bare(mode, _) if list.is_empty() => Ok(mode),
        Form::Bare(_, fault) | Form::Unknown(fault) => Err(invalid(fault)),
        Form::Axes(mode_of, fault) => {
            let entries = list.split(',').filter(|_| !list.is_empty());
            let axes: Result<_, _> = entries.map(|entry| entry.trim().parse()).collect();
            axes.map(mode_of).map_err(|_| invalid(fault))
        }
        Form::Axis(mode_of, bare) => {
            let axis = match list {
                "" => bare,
                axis => axis.parse().map_err(|_| "expected one axis: pdpd(1)"),
            };
            axis.map(mode_of).map_err(invalid)
        }
    }
}
