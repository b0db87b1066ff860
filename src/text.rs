//! The text form of modes and rules: a name, then integers in parentheses.

use crate::error::{BroadcastError, invalid_text};
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

/// A text in parts: `explicit(1, 2)` has the name `explicit` and the list `1, 2`.
pub(crate) struct TextForm<'a> {
    /// What the text should name. For errors.
    kind: &'static str,
    text: &'a str,
    /// In lower case.
    pub(crate) name: String,
    /// Empty for a bare name.
    list: &'a str,
}

impl<'a> TextForm<'a> {
    /// # Errors
    ///
    /// `InvalidText` if the closing parenthesis is missing.
    pub(crate) fn split(kind: &'static str, text: &'a str) -> Result<Self, BroadcastError> {
        let no_end = "expected a name, then integers in parentheses if it takes any, as in pdpd(1)";
        let (name, rest) = text.trim().split_once('(').unwrap_or((text, ")"));
        let Some(list) = rest.strip_suffix(')') else {
            return Err(invalid_text(kind, text, no_end));
        };
        Ok(TextForm {
            kind,
            text,
            name: name.trim().to_ascii_lowercase(),
            list: list.trim(),
        })
    }

    /// The error for a text with this fault.
    pub(crate) fn invalid(&self, fault: &'static str) -> BroadcastError {
        invalid_text(self.kind, self.text, fault)
    }

    /// The value of a bare name.
    ///
    /// # Errors
    ///
    /// [`invalid`](Self::invalid) if a list follows the name.
    pub(crate) fn bare<T>(&self, value: T, fault: &'static str) -> Result<T, BroadcastError> {
        match self.list {
            "" => Ok(value),
            _ => Err(self.invalid(fault)),
        }
    }

    /// The axes of the list.
    ///
    /// # Errors
    ///
    /// [`invalid`](Self::invalid) if an entry is not an axis.
    pub(crate) fn axes(&self, fault: &'static str) -> Result<Vec<usize>, BroadcastError> {
        let entries = self.list.split(',').filter(|_| !self.list.is_empty());
        let axes: Result<_, _> = entries.map(|entry| entry.trim().parse()).collect();
        axes.map_err(|_| self.invalid(fault))
    }

    /// The one axis of the list. Of an empty list `bare`: the axis that a bare name has, or what is
    /// expected.
    ///
    /// # Errors
    ///
    /// [`invalid`](Self::invalid) for any other list.
    pub(crate) fn axis(&self, bare: Result<isize, &'static str>) -> Result<isize, BroadcastError> {
        let axis = match self.list {
            "" => bare,
            axis => axis.parse().map_err(|_| "expected one axis: pdpd(1)"),
        };
        axis.map_err(|fault| self.invalid(fault))
    }
}
