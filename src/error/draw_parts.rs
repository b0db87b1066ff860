//! Parts of what errors print, which several of them share.

use super::fault::AxesFault;
use super::role::ArrayRole;
use crate::picture::{Cell, Picture, Size, display, list};
use crate::rule::Rule;
use std::borrow::Cow;
use std::fmt;

/// The first line, for an input and a target.
pub(super) fn heading(
    f: &mut fmt::Formatter<'_>,
    rule: Rule,
    array: ArrayRole,
    shapes: [&[usize]; 2],
) -> fmt::Result {
    let [input, target] = shapes.map(list);
    match (rule, array) {
        (Rule::Pdpd | Rule::Xla, _) => {
            let [b, a] = labels(rule, array);
            write!(f, "cannot broadcast {b} {input} to {a} {target} ({rule})")
        }
        (_, ArrayRole::Input) => write!(f, "cannot broadcast {input} to {target} ({rule})"),
        _ => write!(f, "cannot broadcast {array} {input} to {target} ({rule})"),
    }
}

/// The first line, for two operands.
pub(super) fn pair_heading(
    f: &mut fmt::Formatter<'_>,
    rule: Rule,
    shapes: &[Box<[usize]>; 2],
) -> fmt::Result {
    let (a, b) = (list(&shapes[0]), list(&shapes[1]));
    write!(f, "cannot broadcast {a} with {b} ({rule})")
}

/// A list of axes under the shape that it belongs to, and a mark under the entry at fault.
pub(super) fn list_of_axes<T: Cell>(
    f: &mut fmt::Formatter<'_>,
    rule: Rule,
    array: ArrayRole,
    [input, target]: [&[T]; 2],
    axes: &[usize],
    fault: AxesFault,
) -> fmt::Result {
    let name = match rule {
        Rule::BroadcastAxes => "broadcast axes",
        Rule::InDim | Rule::InDimPermuting | Rule::Xla => "broadcast dimensions",
        _ => "axes mapping",
    };
    // nGraph's list names axes of the target. Every other list has one entry for each input axis.
    let (label, shape) = match rule {
        Rule::BroadcastAxes => ("target".into(), target),
        _ => (array.name(), input),
    };
    let picture = Picture::left_aligned([&label, name], shape, axes);
    match fault {
        AxesFault::Length => {
            picture.rows(f, 0)?;
            f.write_str("\n  ")
        }
        AxesFault::OutOfRange(at) | AxesFault::Unsorted(at) | AxesFault::Repeated(at) => {
            picture.caret(f, at)
        }
    }
}

/// What is wrong with a list of axes, in words.
pub(super) fn invalid_axes(
    f: &mut fmt::Formatter<'_>,
    (rule, array): (Rule, ArrayRole),
    [input_rank, target_rank]: [usize; 2],
    axes: &[usize],
    fault: AxesFault,
) -> fmt::Result {
    let [input, target] = labels(rule, array);
    // Operands are called by a name, such as `self` or `a`. Input and target take an article.
    let the = match rule {
        Rule::Pdpd | Rule::Xla => "",
        _ => "the ",
    };
    match fault {
        AxesFault::Length => {
            let entries = if axes.len() == 1 { "entry" } else { "entries" };
            write!(
                f,
                "{} {entries} for {}: ",
                axes.len(),
                axes_count(input_rank)
            )?;
            write!(
                f,
                "list for each axis of {the}{input} the axis of {the}{target} that it feeds"
            )
        }
        AxesFault::OutOfRange(at) => {
            let axis = entry(axes, at);
            // Not in a variable: with Rust 1.85 `format_args!` lives no longer than its statement.
            write!(
                f,
                "{}",
                no_axis(format_args!("{the}{target}"), axis, target_rank)
            )
        }
        AxesFault::Unsorted(at) => {
            let (axis, previous) = (entry(axes, at), entry(axes, at.saturating_sub(1)));
            write!(f, "{axis} after {previous}: ")?;
            f.write_str("axes must increase, a broadcast does not transpose")?;
            f.write_str(match rule {
                Rule::Explicit | Rule::InDim => "; broadcast_in_dim_permuting does",
                _ => "; permuted_axes of the operand does",
            })
        }
        AxesFault::Repeated(at) => {
            write!(f, "axis {} is listed twice: ", entry(axes, at))?;
            write!(
                f,
                "at most one axis of {the}{input} feeds an axis of {the}{target}"
            )
        }
    }
}

/// An axis of `pdpd` below -1.
pub(super) fn pdpd_axis(f: &mut fmt::Formatter<'_>, array: ArrayRole, axis: isize) -> fmt::Result {
    let [b, a] = labels(Rule::Pdpd, array);
    write!(
        f,
        "\n  axis {axis} is not valid: pass -1 (right-align {b}), or "
    )?;
    write!(f, "the axis of {a} that {b}'s first axis is aligned with")
}

/// That an array of this rank has no such axis.
pub(super) fn no_axis(array: impl fmt::Display, axis: usize, rank: usize) -> impl fmt::Display {
    display(move |f| write!(f, "{array} has no axis {}: {}", Size(axis), axes_of(rank)))
}

/// Two shapes that should be identical, and where they differ.
pub(super) fn difference(
    f: &mut fmt::Formatter<'_>,
    labels: [&str; 2],
    shapes: [&[usize]; 2],
) -> fmt::Result {
    let [a, b] = shapes;
    let picture = Picture::left_aligned(labels, a, b);
    if a.len() != b.len() {
        picture.rows(f, 0)?;
        return write!(f, "\n  ranks {} and {} differ", a.len(), b.len());
    }
    match (0..a.len()).find(|&axis| a[axis] != b[axis]) {
        Some(axis) => {
            picture.caret(f, axis)?;
            write!(f, "{} is not {}", Size(a[axis]), Size(b[axis]))
        }
        None => Ok(()),
    }
}

/// What the rule calls its two shapes.
pub(super) fn labels(rule: Rule, array: ArrayRole) -> [Cow<'static, str>; 2] {
    match (rule, array) {
        // The names of the specification for shapes alone, and those of the caller for arrays.
        (Rule::Pdpd, ArrayRole::Input) => ["B".into(), "A".into()],
        (Rule::Pdpd | Rule::Xla, _) => [array.name(), partner(array).name()],
        _ => [array.name(), "target".into()],
    }
}

/// The other one of two operands.
fn partner(operand: ArrayRole) -> ArrayRole {
    match operand {
        ArrayRole::Receiver => ArrayRole::Other,
        ArrayRole::Other => ArrayRole::Receiver,
        ArrayRole::Operand(0) => ArrayRole::Operand(1),
        _ => ArrayRole::Operand(0),
    }
}

/// Which axes an array of this rank has.
pub(super) fn axes_of(rank: usize) -> impl fmt::Display {
    display(move |f| match rank {
        0 => f.write_str("it is a scalar"),
        1 => f.write_str("its only axis is 0"),
        _ => write!(f, "its axes are 0 to {}", rank - 1),
    })
}

/// An entry of a list. Callers may change the fields of a copied error, so it may be missing.
pub(super) fn entry(list: &[usize], position: usize) -> usize {
    list.get(position).copied().unwrap_or(0)
}

pub(super) fn axes_count(rank: usize) -> impl fmt::Display {
    display(move |f| write!(f, "{rank} {}", if rank == 1 { "axis" } else { "axes" }))
}

/// A name in quotes. Of a text too long to be a name, the beginning.
pub(super) fn quoted(name: &str) -> impl fmt::Display {
    /// Longer than any name, short enough for a line.
    const SHOWN: usize = 64;
    display(move |f| match name.char_indices().nth(SHOWN) {
        None => write!(f, "{name:?}"),
        Some((end, _)) => write!(f, "{:?}... {} bytes", &name[..end], name.len()),
    })
}
