//! What errors print: a heading, the shapes drawn as the rule aligns them, and the axis at fault.
//!
//! Each public function draws one kind of error. It takes the fields in the order of the variant.

use super::role::{ArrayRole, IntegerRole};
use crate::picture::{Picture, Place, Size, entries, list};
use crate::rule::Rule;
use std::fmt;

fn fmt_with<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result>(draw: F) -> impl fmt::Display {
    struct With<F>(F);
    impl<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result> fmt::Display for With<F> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            (self.0)(f)
        }
    }
    With(draw)
}

/// A name in quotes. Of a text too long to be a name, the beginning.
fn quoted(name: &str) -> impl fmt::Display {
    /// Longer than any name, short enough for a line.
    const SHOWN: usize = 64;
    fmt_with(move |f| match name.char_indices().nth(SHOWN) {
        None => write!(f, "{name:?}"),
        Some((end, _)) => write!(f, "{:?}... {} bytes", &name[..end], name.len()),
    })
}

fn cannot(
    f: &mut fmt::Formatter<'_>,
    rule: &Rule,
    input: &[usize],
    target: &[usize],
) -> fmt::Result {
    match rule {
        Rule::Pdpd => write!(
            f,
            "cannot broadcast B {} to A {} ({rule})",
            list(input),
            list(target)
        ),
        _ => write!(
            f,
            "cannot broadcast {} to {} ({rule})",
            list(input),
            list(target)
        ),
    }
}

fn cannot_pair(f: &mut fmt::Formatter<'_>, rule: &Rule, shapes: &[Box<[usize]>; 2]) -> fmt::Result {
    write!(
        f,
        "cannot broadcast {} with {} ({rule})",
        list(&shapes[0]),
        list(&shapes[1])
    )
}

/// What the rule calls its two shapes.
fn labels(rule: &Rule) -> [&'static str; 2] {
    match rule {
        Rule::Pdpd => ["B", "A"],
        _ => ["input", "target"],
    }
}

/// What the rule calls its list of axes.
fn axes_name(rule: &Rule) -> &'static str {
    match rule {
        Rule::BroadcastAxes => "broadcast axes",
        Rule::InDim | Rule::InDimPermuting | Rule::Xla => "broadcast dimensions",
        _ => "axes mapping",
    }
}

pub(super) fn size_mismatch(
    rule: &Rule,
    input: &[usize],
    target: &[usize],
    mapping: &[usize],
    &input_axis: &usize,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    cannot(f, rule, input, target)?;
    let rank = input.len().max(target.len());
    let column = mapping.get(input_axis).copied().unwrap_or(0);
    let [input_label, target_label] = labels(rule);
    let target_start = rank - target.len();
    let picture = Picture::new(
        rank,
        (input_label, input, Place::Mapped(mapping)),
        (target_label, target, Place::From(target_start)),
    );
    picture.rows(f, column)?;
    picture.caret(f, column)?;
    let found = input.get(input_axis).copied().unwrap_or(0);
    let wanted = column
        .checked_sub(target_start)
        .and_then(|axis| target.get(axis))
        .copied()
        .unwrap_or(1);
    let (shown, is_one) = (Size(wanted), wanted == 1);
    match rule {
        Rule::Bidirectional => write!(f, "{found} and {shown} differ and neither is 1"),
        Rule::BroadcastAxes => write!(
            f,
            "{found} is not {shown} (only the broadcast axes replicate)"
        ),
        _ if is_one => write!(f, "{found} is not 1"),
        _ => write!(f, "{found} is neither {shown} nor 1"),
    }
}

pub(super) fn operand_mismatch(
    rule: &Rule,
    operands: &[usize; 2],
    shapes: &[Box<[usize]>; 2],
    mapping: &[usize],
    &axis: &usize,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    cannot_pair(f, rule, shapes)?;
    let place = |this: usize| {
        let other = 1 - this;
        match shapes[this].len().cmp(&shapes[other].len()) {
            std::cmp::Ordering::Less => Place::Mapped(mapping),
            _ => Place::From(0),
        }
    };
    let rank = shapes[0].len().max(shapes[1].len());
    let rows = |first, second| {
        Picture::new(
            rank,
            (first, &shapes[0], place(0)),
            (second, &shapes[1], place(1)),
        )
    };
    let draw = |f: &mut fmt::Formatter<'_>, picture: Picture<'_>| {
        picture.rows(f, axis)?;
        picture.caret(f, axis)?;
        let size = |this: usize| picture.size(this, axis).unwrap_or(1);
        write!(f, "{} and {} differ and neither is 1", size(0), size(1))
    };
    match operands {
        [0, 1] => draw(f, rows("a", "b")),
        [i, j] => draw(f, rows(&format!("input {i}"), &format!("input {j}"))),
    }
}

pub(super) fn shapes_differ(shapes: &[Box<[usize]>; 2], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    cannot_pair(f, &Rule::None, shapes)?;
    let [a, b] = shapes;
    let picture = Picture::new(
        a.len().max(b.len()),
        ("a", a, Place::From(0)),
        ("b", b, Place::From(0)),
    );
    if a.len() != b.len() {
        picture.rows(f, 0)?;
        return write!(
            f,
            "\n  ranks {} and {} differ; this rule wants identical shapes",
            a.len(),
            b.len()
        );
    }
    let axis = (0..a.len()).find(|&axis| a[axis] != b[axis]).unwrap_or(0);
    picture.rows(f, axis)?;
    picture.caret(f, axis)?;
    write!(
        f,
        "{} is not {}; this rule wants identical shapes",
        a[axis], b[axis]
    )
}

pub(super) fn rank_too_large(
    rule: &Rule,
    input: &[usize],
    target: &[usize],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    cannot(f, rule, input, target)?;
    let [input_label, target_label] = labels(rule);
    Picture::right_aligned([input_label, target_label], input, target).rows(f, 0)?;
    write!(
        f,
        "\n  {input_label} has {}, {target_label} only {}: this rule never drops an axis, \
         not even one of size 1",
        axes_count(input.len()),
        target.len(),
    )
}

fn axes_count(rank: usize) -> impl fmt::Display {
    fmt_with(move |f| write!(f, "{rank} {}", if rank == 1 { "axis" } else { "axes" }))
}

/// The heading of errors about a list of axes: both shapes, then the list under the shape that it
/// belongs to.
fn axes_heading(
    f: &mut fmt::Formatter<'_>,
    rule: &Rule,
    input: &[usize],
    target: &[usize],
    axes: &[usize],
    position: Option<usize>,
) -> fmt::Result {
    cannot(f, rule, input, target)?;
    let name = axes_name(rule);
    // nGraph's list names axes of the target. Every other list has one entry for each input axis.
    let (label, shape) = match rule {
        Rule::BroadcastAxes => ("target", target),
        _ => ("input", input),
    };
    let picture = Picture::new(
        shape.len().max(axes.len()),
        (label, shape, Place::From(0)),
        (name, axes, Place::From(0)),
    );
    picture.rows(f, position.unwrap_or(0))?;
    match position {
        Some(position) => picture.caret(f, position),
        None => f.write_str("\n  "),
    }
}

pub(super) fn axes_length(
    rule: &Rule,
    input: &[usize],
    target: &[usize],
    axes: &[usize],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    axes_heading(f, rule, input, target, axes, None)?;
    let entries = if axes.len() == 1 { "entry" } else { "entries" };
    write!(
        f,
        "{} {entries} for {}: say for each input axis which target axis it feeds",
        axes.len(),
        axes_count(input.len()),
    )
}

pub(super) fn axis_out_of_range(
    rule: &Rule,
    input: &[usize],
    target: &[usize],
    axes: &[usize],
    &position: &usize,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    axes_heading(f, rule, input, target, axes, Some(position))?;
    let axis = axes.get(position).copied().unwrap_or(0);
    let axis = Size(axis);
    match target.len() {
        0 => write!(f, "the target is a scalar and has no axis {axis}"),
        1 => write!(f, "the target has no axis {axis}: its only axis is 0"),
        rank => write!(
            f,
            "the target has no axis {axis}: its axes are 0 to {}",
            rank - 1
        ),
    }
}

pub(super) fn axes_unsorted(
    rule: &Rule,
    input: &[usize],
    target: &[usize],
    axes: &[usize],
    &position: &usize,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    axes_heading(f, rule, input, target, axes, Some(position))?;
    let at = |p: usize| axes.get(p).copied().unwrap_or(0);
    write!(
        f,
        "{} after {}: axes must increase, a broadcast does not transpose{}",
        at(position),
        at(position.saturating_sub(1)),
        if *rule == Rule::InDim {
            "; broadcast_in_dim_permuting does"
        } else {
            ""
        },
    )
}

pub(super) fn axis_repeated(
    rule: &Rule,
    input: &[usize],
    target: &[usize],
    axes: &[usize],
    &position: &usize,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    axes_heading(f, rule, input, target, axes, Some(position))?;
    write!(
        f,
        "axis {} is there already: each target axis feeds from one input axis",
        axes.get(position).unwrap_or(&0)
    )
}

pub(super) fn broadcast_axes_rank(
    input: &[usize],
    target: &[usize],
    axes: &[usize],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    cannot(f, &Rule::BroadcastAxes, input, target)?;
    let added = (0..target.len()).filter(|axis| axes.contains(axis)).count();
    Picture::right_aligned(["input", "target"], input, target).rows(f, 0)?;
    write!(
        f,
        "\n  broadcast axes {} leave {} of the target's {}, the input has {}",
        list(axes),
        target.len() - added,
        target.len(),
        input.len(),
    )
}

pub(super) fn pdpd_axis(
    input: &[usize],
    target: &[usize],
    axis: &isize,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    cannot(f, &Rule::Pdpd, input, target)?;
    write!(
        f,
        "\n  axis {axis}: it is -1 (right-align B) or the axis of A that B's first axis is laid on"
    )
}

pub(super) fn pdpd_overhang(
    input: &[usize],
    target: &[usize],
    &axis: &usize,
    &trimmed_rank: &usize,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    cannot(f, &Rule::Pdpd, input, target)?;
    let trimmed = &input[..trimmed_rank.min(input.len())];
    // No picture if the axis is far out: it would be mostly blank.
    if let Some(rank) = axis
        .checked_add(trimmed.len())
        .filter(|&rank| rank <= target.len().saturating_add(8))
    {
        let picture = Picture::new(
            rank.max(target.len()),
            ("B", trimmed, Place::From(axis)),
            ("A", target, Place::From(0)),
        );
        picture.rows(f, axis)?;
    }
    write!(
        f,
        "\n  laid on axis {axis}, B{} has {} but A has {}",
        if trimmed.len() < input.len() {
            " without its trailing 1s"
        } else {
            ""
        },
        fmt_with(|f| write!(f, "{} to fill", axes_count(trimmed.len()))),
        fmt_with(|f| match target.len().checked_sub(axis) {
            Some(left) => write!(f, "{left} left from there"),
            None => write!(f, "only {}", axes_count(target.len())),
        }),
    )
}

pub(super) fn dimensions_required(
    shapes: &[Box<[usize]>; 2],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    cannot_pair(f, &Rule::Xla, shapes)?;
    let [a, b] = shapes;
    Picture::new(
        a.len().max(b.len()),
        ("a", a, Place::From(0)),
        ("b", b, Place::From(0)),
    )
    .rows(f, 0)?;
    let (small, large) = (a.len().min(b.len()), a.len().max(b.len()));
    write!(
        f,
        "\n  ranks {} and {} differ and XLA never guesses: pass broadcast_dimensions, {} of the \
         axes 0 to {} in increasing order (NumPy's alignment is {})",
        a.len(),
        b.len(),
        small,
        large.saturating_sub(1),
        entries(large - small..large),
    )
}

pub(super) fn dimensions_unexpected(
    shapes: &[Box<[usize]>; 2],
    dimensions: &[usize],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    cannot_pair(f, &Rule::Xla, shapes)?;
    let why = if shapes.iter().any(|shape| shape.is_empty()) {
        "a scalar needs no broadcast_dimensions: pass []"
    } else {
        "equal ranks need no broadcast_dimensions: pass [] or the identity"
    };
    write!(f, "\n  broadcast dimensions {}: {why}", list(dimensions))
}

pub(super) fn keep_on_new_axis(
    input: &[usize],
    target: &[usize],
    &axis: &usize,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    cannot(f, &Rule::Expand, input, target)?;
    let picture = Picture::right_aligned(["input", "size"], input, target);
    picture.rows(f, axis)?;
    picture.caret(f, axis)?;
    f.write_str("-1 keeps an input's size, but this axis is new: give it a size")
}

pub(super) fn invalid_integer(
    role: &IntegerRole,
    position: &usize,
    &value: &i128,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let what = match role {
        IntegerRole::Size => "a size",
        IntegerRole::Axis => "an axis",
    };
    let why = if value < 0 {
        "must not be negative"
    } else {
        "must fit usize"
    };
    write!(f, "entry {position} is {value}: {what} {why}")
}

pub(super) fn wrong_shape(
    role: &ArrayRole,
    expected: &[usize],
    found: &[usize],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    write!(
        f,
        "{role} has shape {}, expected {}",
        list(found),
        list(expected)
    )?;
    let picture = Picture::new(
        expected.len().max(found.len()),
        ("found", found, Place::From(0)),
        ("expected", expected, Place::From(0)),
    );
    let at_fault = expected.iter().zip(found).position(|(a, b)| a != b);
    match at_fault {
        _ if expected.len() != found.len() => {
            picture.rows(f, 0)?;
            write!(f, "\n  ranks {} and {} differ", found.len(), expected.len())
        }
        Some(axis) => {
            picture.rows(f, axis)?;
            picture.caret(f, axis)?;
            write!(f, "{} is not {}", found[axis], expected[axis])
        }
        None => Ok(()),
    }
}

pub(super) fn shape_overflow(shape: &[usize], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let shape = list(shape);
    write!(
        f,
        "the shape {shape} has more than isize::MAX elements: no array can have it, not even a view"
    )
}

pub(super) fn output_too_large(
    shape: &[usize],
    element_size: &usize,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    write!(
        f,
        "an owned array of shape {} with {element_size}-byte elements passes isize::MAX bytes; \
         a view costs nothing",
        list(shape)
    )
}

pub(super) fn not_one_dimensional(
    role: &IntegerRole,
    shape: &[usize],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let name = match role {
        IntegerRole::Size => "target_shape",
        IntegerRole::Axis => "axes_mapping",
    };
    let shape = list(shape);
    write!(
        f,
        "OpenVINO Broadcast takes {name} as a 1-D tensor, but its shape is {shape}"
    )
}

pub(super) fn unknown_name(
    kind: &str,
    name: &str,
    expected: &str,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    write!(f, "unknown {kind} {}: expected {expected}", quoted(name))
}
