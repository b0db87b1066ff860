//! What errors about plans as values, partial shapes and patterns print.

use super::draw_parts::{
    axes_count, axes_of, entry, invalid_axes, labels, list_of_axes, no_axis, pdpd_axis, quoted,
};
use super::fault::{AxesFault, PartialFault, PatternFault, SliceFault};
use super::role::ArrayRole;
use crate::partial::{PartialShape, PartialSize};
use crate::picture::{Picture, Place, Size, list};
use crate::rule::Rule;
use std::fmt;
use std::ops::Range;

pub(super) fn permutation(
    f: &mut fmt::Formatter<'_>,
    shape: &[usize],
    axes: &[usize],
    fault: AxesFault,
) -> fmt::Result {
    write!(f, "cannot reorder the axes of {}", list(shape))?;
    let picture = Picture::left_aligned(["shape", "axes"], shape, axes);
    match fault {
        AxesFault::Length => {
            picture.rows(f, 0)?;
            write!(f, "\n  the list has {}, ", axes_count(axes.len()))?;
            write!(f, "the shape {}", shape.len())
        }
        AxesFault::OutOfRange(at) => {
            picture.caret(f, at)?;
            write!(f, "there is no axis {}", Size(entry(axes, at)))
        }
        AxesFault::Repeated(at) | AxesFault::Unsorted(at) => {
            picture.caret(f, at)?;
            write!(f, "axis {} is listed twice", entry(axes, at))
        }
    }
}

pub(super) fn axis(
    f: &mut fmt::Formatter<'_>,
    shape: &[usize],
    axis: usize,
    operation: &str,
) -> fmt::Result {
    let preposition = if operation == "insert" { "in" } else { "of" };
    // A negative axis is cast.
    let signed = axis as isize;
    write!(
        f,
        "cannot {operation} axis {signed} {preposition} {}",
        list(shape)
    )?;
    let picture = Picture::of_one("shape", shape);
    match shape.get(axis) {
        Some(size) => {
            picture.caret(f, axis)?;
            write!(f, "{size} is not 1")
        }
        None => {
            picture.rows(f, 0)?;
            match (operation, shape.len()) {
                ("insert", 0) => f.write_str("\n  its only position is 0"),
                ("insert", rank) => write!(f, "\n  its positions are 0 to {rank}"),
                (_, rank) => write!(f, "\n  {}", axes_of(rank)),
            }
        }
    }
}

pub(super) fn cuts_block(
    f: &mut fmt::Formatter<'_>,
    shape: &[usize],
    ranges: &[Range<usize>],
    (axis, boundary): (usize, usize),
    nearest: [Option<usize>; 2],
) -> fmt::Result {
    write!(f, "the box {} cuts a block of 1024 terms", list(ranges))?;
    Picture::left_aligned(["box", "output"], ranges, shape).caret(f, axis)?;
    match nearest {
        [Some(below), Some(above)] => {
            write!(f, "no block begins at {boundary}: ")?;
            write!(f, "the nearest boundaries are {below} and {above}")
        }
        [Some(nearest), None] | [None, Some(nearest)] => {
            write!(
                f,
                "no block begins at {boundary}: the nearest boundary is {nearest}"
            )
        }
        [None, None] => f.write_str("no block begins on this axis: take all of it"),
    }
}

pub(super) fn ranges(
    f: &mut fmt::Formatter<'_>,
    shape: &[usize],
    ranges: &[Range<usize>],
) -> fmt::Result {
    let (ranges_list, shape_list) = (list(ranges), list(shape));
    write!(f, "the box {ranges_list} is not inside {shape_list}")?;
    let picture = Picture::left_aligned(["box", "shape"], ranges, shape);
    let outside = |(range, &size): (&Range<usize>, _)| range.start > range.end || range.end > size;
    if ranges.len() != shape.len() {
        picture.rows(f, 0)?;
        return write!(
            f,
            "\n  {} ranges for {}",
            ranges.len(),
            axes_count(shape.len())
        );
    }
    let Some(axis) = ranges.iter().zip(shape).position(outside) else {
        return Ok(());
    };
    picture.caret(f, axis)?;
    let Range { start, end } = ranges[axis];
    match start > end {
        true => write!(f, "{start}..{end} begins after its end"),
        false => write!(f, "{start}..{end} is not inside 0..{}", shape[axis]),
    }
}

pub(super) fn impossible(
    f: &mut fmt::Formatter<'_>,
    rule: Rule,
    shapes: &[PartialShape; 2],
    operands: bool,
    fault: &PartialFault,
) -> fmt::Result {
    let [a, b] = shapes;
    match (operands, rule) {
        (true, _) => write!(f, "cannot broadcast {a} with {b} ({rule})"),
        (false, Rule::Pdpd) => write!(f, "cannot broadcast B {a} to A {b} ({rule})"),
        (false, _) => write!(f, "cannot broadcast {a} to {b} ({rule})"),
    }?;
    let labels = match operands {
        true => ["a".into(), "b".into()],
        false => labels(rule, ArrayRole::Input),
    };
    let labels = labels.each_ref().map(|label| &**label);
    let [a, b] = shapes.each_ref().map(|shape| shape.sizes().unwrap_or(&[]));
    match fault {
        PartialFault::Ranks => {
            Picture::right_aligned(labels, a, b).rows(f, 0)?;
            f.write_str("\n  these ranks never fit")
        }
        PartialFault::Sizes { mapping, axis } => {
            let places = match a.len() <= b.len() {
                true => [Place::Mapped(mapping), Place::From(0)],
                false => [Place::From(0), Place::Mapped(mapping)],
            };
            let picture = Picture::new((labels[0], a, places[0]), (labels[1], b, places[1]));
            match picture.cells(*axis) {
                (Some(a), Some(b)) => {
                    picture.caret(f, *axis)?;
                    sizes(f, rule, operands, a, b)
                }
                (None, Some(b)) => {
                    picture.caret(f, *axis)?;
                    write!(f, "{b} is never the size in the pattern")
                }
                _ => {
                    picture.rows(f, 0)?;
                    let mut fed = mapping.iter().zip(a);
                    match fed.find(|&(column, size)| column == axis && !size.contains(1)) {
                        Some((_, size)) => {
                            write!(f, "\n  {size} has no axis to feed, and is never 1")
                        }
                        None => Ok(()),
                    }
                }
            }
        }
        PartialFault::Axes { axes, fault } => {
            // XLA's dimensions are of the operand of the smaller rank.
            let of_second = match shapes.each_ref().map(PartialShape::rank) {
                [Some(a), Some(b)] => a > b,
                // As many dimensions as this operand has axes are its own.
                [Some(a), None] => a != axes.len(),
                [None, Some(b)] => b == axes.len(),
                [None, None] => false,
            };
            let (array, [a, b]) = match rule {
                Rule::Xla if of_second => (ArrayRole::Operand(1), [b, a]),
                Rule::Xla => (ArrayRole::Operand(0), [a, b]),
                _ => (ArrayRole::Input, [a, b]),
            };
            list_of_axes(f, rule, array, [a, b], axes, *fault)?;
            invalid_axes(f, (rule, array), [a.len(), b.len()], axes, *fault)
        }
        PartialFault::Dimensions(axes) => {
            Picture::left_aligned(labels, a, b).rows(f, 0)?;
            write!(
                f,
                "\n  broadcast dimensions {} never fit these ranks",
                list(axes)
            )
        }
        PartialFault::KeepOnNewAxis(axis) => {
            Picture::right_aligned(labels, a, b).caret(f, *axis)?;
            f.write_str("-1 keeps an input's size, but this axis is new: give it a size")
        }
        PartialFault::PdpdAxis(axis) => match usize::try_from(*axis) {
            Ok(axis) => write!(f, "\n  {}", no_axis("A", axis, b.len())),
            Err(_) => pdpd_axis(f, ArrayRole::Input, *axis),
        },
        PartialFault::Name { name, sizes } => {
            Picture::left_aligned(labels, a, b).rows(f, 0)?;
            let ([a, b], name) = (sizes, quoted(name));
            write!(f, "\n  {name} is {a} in a, but {b} in b")
        }
        PartialFault::One { operand, size } => {
            Picture::left_aligned(labels, a, b).rows(f, 0)?;
            let label = labels.get(*operand).unwrap_or(&"");
            write!(
                f,
                "\n  an axis that is 1 in the pattern is {size} in {label}"
            )
        }
        PartialFault::Mapping(mapping) => {
            Picture::left_aligned(labels, a, b).rows(f, 0)?;
            write!(f, "\n  no increasing axes mapping in {mapping} fits")
        }
    }
}

/// Why sizes never fit.
fn sizes(
    f: &mut fmt::Formatter<'_>,
    rule: Rule,
    operands: bool,
    a: &PartialSize,
    b: &PartialSize,
) -> fmt::Result {
    match rule {
        Rule::BroadcastAxes | Rule::Named | Rule::None => write!(f, "{a} is never {b}"),
        Rule::Bidirectional => write!(f, "{a} is never {b}, and neither is ever 1"),
        _ if operands => write!(f, "{a} is never {b}, and neither is ever 1"),
        _ => write!(f, "{a} is never {b}, and never 1"),
    }
}

pub(super) fn not_possible(
    f: &mut fmt::Formatter<'_>,
    known: &PartialShape,
    found: &[usize],
) -> fmt::Result {
    write!(f, "the shape {} is not one of {known}", list(found))?;
    let sizes = known.sizes().unwrap_or(&[]);
    let picture = Picture::left_aligned(["found", "known"], found, sizes);
    if sizes.len() != found.len() {
        picture.rows(f, 0)?;
        return write!(f, "\n  ranks {} and {} differ", found.len(), sizes.len());
    }
    match (0..found.len()).find(|&axis| !sizes[axis].contains(found[axis])) {
        Some(axis) => {
            picture.caret(f, axis)?;
            write!(f, "{} is not {}", Size(found[axis]), sizes[axis])
        }
        None => Ok(()),
    }
}

pub(super) fn pattern(
    f: &mut fmt::Formatter<'_>,
    pattern: &str,
    position: usize,
    fault: &PatternFault,
) -> fmt::Result {
    /// Of a longer pattern, this many characters are shown.
    const SHOWN: usize = 72;
    f.write_str(match fault {
        PatternFault::Syntax(_) | PatternFault::AxisTwice | PatternFault::AxisUnknown => {
            "invalid axis pattern"
        }
        _ => "the shapes do not fit the axis pattern",
    })?;
    let (before, rest) = pattern.split_at_checked(position).unwrap_or((pattern, ""));
    let column = before.chars().count();
    let skipped = match column >= SHOWN {
        true => column - SHOWN / 2,
        false => 0,
    };
    let ellipsis = if skipped > 0 { "…" } else { "" };
    write!(f, "\n  {ellipsis}")?;
    for character in pattern.chars().skip(skipped).take(SHOWN) {
        write!(f, "{character}")?;
    }
    f.write_str(if pattern.chars().nth(skipped + SHOWN).is_some() {
        "…"
    } else {
        ""
    })?;
    let name = quoted(rest.split([' ', ',']).next().unwrap_or(rest));
    if let PatternFault::SizeUnknown(name) = fault {
        return write!(
            f,
            "\n  a size is given for {}, which it does not have",
            quoted(name)
        );
    }
    let blanks = column - skipped + 2 + ellipsis.chars().count();
    write!(f, "\n{:blanks$}^ ", "")?;
    match fault {
        PatternFault::Syntax(expected) => write!(f, "expected {expected}"),
        PatternFault::AxisTwice => write!(f, "{name} is in this list already"),
        PatternFault::AxisUnknown => write!(f, "the output lacks {name}: it must have every axis"),
        PatternFault::SizeMissing => write!(f, "{name} is new: its size is needed"),
        PatternFault::SizesDiffer([a, b]) => write!(f, "{name} has the sizes {a} and {b}"),
        PatternFault::Rank { names, rank } => {
            write!(f, "this list has {}, the shape {rank}", axes_count(*names))
        }
        PatternFault::SizeUnknown(_) => Ok(()),
    }
}

pub(super) fn slice(
    f: &mut fmt::Formatter<'_>,
    role: ArrayRole,
    (shape, strides): (&[usize], &[isize]),
    len: usize,
    fault: SliceFault,
) -> fmt::Result {
    let (shape_list, strides_list) = (list(shape), list(strides));
    match fault {
        SliceFault::Rank => {
            let axes = axes_count(shape.len());
            write!(f, "{role} has the strides {strides_list}, ")?;
            write!(f, "its shape {shape_list} has {axes}")
        }
        SliceFault::Length(needed) if strides.is_empty() => {
            let plural = if needed == 1 { "" } else { "s" };
            write!(f, "{role} is a slice of length {len}, ")?;
            write!(f, "the shape {shape_list} has {needed} element{plural}")
        }
        SliceFault::Length(needed) => {
            write!(
                f,
                "{role} is a slice of length {len}, the shape {shape_list} "
            )?;
            write!(f, "with the strides {strides_list} needs {needed}")
        }
        SliceFault::Overlap => {
            write!(
                f,
                "{role} cannot be written: elements of the shape {shape_list} "
            )?;
            write!(f, "with the strides {strides_list} overlap")
        }
    }
}
