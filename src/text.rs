//! The text form of modes and rules: a name, then integers in parentheses.

use crate::error::{Result, invalid_text};
use crate::rule::Rule;

/// Such as `explicit(1, 2)`, or the bare name if there are no axes.
pub(crate) fn with_axes(rule: Rule, axes: &[usize]) -> String {
    let axes: Vec<_> = axes.iter().map(usize::to_string).collect();
    match &axes[..] {
        [] => rule.to_string(),
        axes => format!("{rule}({})", axes.join(", ")),
    }
}

/// The value of a text such as `explicit(1, 2)`. `value_of` takes the name in lower case and the
/// text in the parentheses, which is empty if there are none. Its fault is what the error says.
/// `kind` is what the text should name, for errors.
///
/// # Errors
///
/// `InvalidText`.
pub(crate) fn parse<M>(
    kind: &'static str,
    text: &str,
    value_of: impl FnOnce(&str, &str) -> Result<M, &'static str>,
) -> Result<M> {
    let no_end = "expected a name, then integers in parentheses if it takes any, as in pdpd(1)";
    let (name, rest) = text.trim().split_once('(').unwrap_or((text, ")"));
    let list = rest.strip_suffix(')').ok_or(no_end);
    list.and_then(|list| value_of(&name.trim().to_ascii_lowercase(), list.trim()))
        .map_err(|fault| invalid_text(kind, text, fault))
}

/// The value of a name that takes no list. The fault is that of a list.
pub(crate) fn bare<M>(list: &str, value: M, fault: &'static str) -> Result<M, &'static str> {
    list.is_empty().then_some(value).ok_or(fault)
}

/// The axes of a list, which may be empty. The fault is that of any other list.
pub(crate) fn axes(list: &str, fault: &'static str) -> Result<Vec<usize>, &'static str> {
    let entries = list.split(',').filter(|_| !list.is_empty());
    let axes: Result<_, _> = entries.map(|entry| entry.trim().parse()).collect();
    axes.map_err(|_| fault)
}

/// One axis. `bare` is the axis of an empty list, or its fault.
pub(crate) fn axis(list: &str, bare: Result<isize, &'static str>) -> Result<isize, &'static str> {
    match list {
        "" => bare,
        axis => axis
            .parse()
            .map_err(|_| "expected one axis that fits isize in the parentheses"),
    }
}
