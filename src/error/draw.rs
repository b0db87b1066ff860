//! What errors print: a heading, the shapes drawn as the rule aligns them, and the axis at fault.
//!
//! Callers may change the fields of a copied error. So an axis or a position may be out of range.

use super::fault::{AxesFault, BoxFault, OperatorFault, PartsFault, PatternFault, SliceFault};
use super::role::{ArrayRole, IntegerRole};
use crate::partial::{PartialShape, PartialSize};
use crate::picture::{Picture, list, text};
use crate::rule::{Relation, Rule};
use crate::shape::KEEP;
use std::collections::HashSet;
use std::ops::Range;

/// Of the size [`KEEP`], which prints as -1, under any other rule than `expand`.
const ONLY_IN_EXPAND: &str = "-1 keeps the input's size only in broadcast_expand (mode expand)";

/// The first line about two shapes.
fn heading(rule: Rule, operands: &[ArrayRole; 2], [a, b]: &[PartialShape; 2]) -> String {
    match (operands, rule) {
        ([ArrayRole::Result, _], _) => format!("cannot reduce {b} to {a} ({rule})"),
        ([_, ArrayRole::Target], _) | (_, Rule::Pdpd) => {
            format!("cannot broadcast {a} to {b} ({rule})")
        }
        _ => format!("cannot broadcast {a} with {b} ({rule})"),
    }
}

fn sizes(shape: &PartialShape) -> &[PartialSize] {
    shape.sizes().unwrap_or(&[])
}

fn axes_count(rank: usize) -> String {
    format!("{rank} {}", if rank == 1 { "axis" } else { "axes" })
}

/// A name in quotes. Of a text too long to be a name, the beginning.
pub(super) fn quoted(name: &str) -> String {
    /// Longer than any name, short enough for a line.
    const SHOWN: usize = 64;
    match name.char_indices().nth(SHOWN) {
        None => format!("{name:?}"),
        Some((end, _)) => format!("{:?}... {} bytes", &name[..end], name.len()),
    }
}

pub(super) fn size_mismatch(
    rule: Rule,
    operands: &[ArrayRole; 2],
    shapes: &[PartialShape; 2],
    relation: Relation,
    (mapping, axis): (&[usize], usize),
) -> String {
    let rows = shapes.each_ref().map(sizes);
    let a_is_mapped = rows[0].len() <= rows[1].len();
    let column_of = |row: usize, axis: usize| match (row == 0) == a_is_mapped {
        true => mapping.get(axis).copied().unwrap_or(usize::MAX),
        false => axis,
    };
    let picture = Picture::around(axis, rows[0].len().max(rows[1].len()))
        .row(operands[0], rows[0], |axis| column_of(0, axis))
        .row(operands[1], rows[1], |axis| column_of(1, axis));
    let cell = |row: usize| {
        let mut cells = rows[row].iter().enumerate();
        cells
            .find(|&(at, _)| column_of(row, at) == axis)
            .map(|(_, size)| size)
    };
    let keep = Some(KEEP);
    let drawn = match (cell(0), cell(1)) {
        (Some(a), Some(b)) => {
            let known = a.value().is_some() && b.value().is_some();
            let why = match (relation, known) {
                (Relation::Equal, true) => format!("{a} is not {b}"),
                (Relation::Equal, false) => format!("{a} is never {b}"),
                (Relation::Stretch, true) if b.value() == Some(1) => format!("{a} is not 1"),
                (Relation::Stretch, true) => format!("{a} is neither {b} nor 1"),
                (Relation::Stretch, false) => format!("{a} is never {b}, and never 1"),
                (Relation::Common, true) => format!("{a} and {b} differ and neither is 1"),
                (Relation::Common, false) => format!("{a} is never {b}, and neither is ever 1"),
            };
            let hint = match rule {
                Rule::BroadcastAxes => " (only the broadcast axes replicate)".into(),
                Rule::None => "; this rule wants identical shapes".into(),
                Rule::Numpy if b.value() == keep => format!("; {ONLY_IN_EXPAND}"),
                _ => String::new(),
            };
            picture.caret(why + &hint)
        }
        (None, Some(b)) if b.value() == keep => {
            picture.caret("-1 keeps an input's size, but this axis is new: give it a size")
        }
        _ => picture.to_string(),
    };
    heading(rule, operands, shapes) + &drawn
}

pub(super) fn rank_mismatch(
    rule: Rule,
    operands: &[ArrayRole; 2],
    shapes: &[PartialShape; 2],
) -> String {
    let ([a, b], [a_name, b_name]) = (shapes.each_ref().map(sizes), operands);
    let rank = a.len().max(b.len());
    let picture = Picture::around(0, rank)
        .row(a_name, a, |axis| rank - a.len() + axis)
        .row(b_name, b, |axis| rank - b.len() + axis);
    let why = match (rule, operands) {
        (_, [ArrayRole::Result, _]) => "a reduction adds no axis",
        (Rule::Pdpd, _) => "this rule drops no axis, not even one of size 1, and adds none",
        (Rule::Named, _) => "a mode drops no axis, but `AxisPattern::plan` does",
        (Rule::None, _) => "this rule wants identical shapes",
        _ => "this rule never drops an axis, not even one of size 1",
    };
    let heading = heading(rule, operands, shapes) + &picture.to_string();
    let (count, other) = (axes_count(a.len()), b.len());
    format!("{heading}\n  {a_name} has {count}, {b_name} has {other}: {why}")
}

pub(super) fn invalid_axes(
    operation: &str,
    rule: Rule,
    operands: &[ArrayRole; 2],
    shapes: &[PartialShape; 2],
    axes: &[isize],
    fault: &AxesFault,
) -> String {
    // The list is of the operand with fewer axes. If one of the ranks is not known, as many
    // entries as the other one has axes are of the other one.
    let flipped = match shapes.each_ref().map(PartialShape::rank) {
        [Some(a), Some(b)] => b < a,
        [Some(a), None] => a != axes.len(),
        [None, b] => b == Some(axes.len()),
    };
    let flipped = flipped && matches!(rule, Rule::Xla | Rule::Paddle);
    let (of, to) = (usize::from(flipped), usize::from(!flipped));
    let [small, large] = [of, to].map(|at| sizes(&shapes[at]));
    let [input, target] = [of, to].map(|at| match rule {
        Rule::Composed => "shape".to_string(),
        _ => operands[at].to_string(),
    });
    let axis = |at: usize| axes.get(at).copied().unwrap_or(0);
    let at = match fault {
        AxesFault::OutOfRange(at) | AxesFault::Unsorted(at) => Some(*at),
        AxesFault::Repeated(at) | AxesFault::NotOne(at) => Some(*at),
        _ => None,
    };
    let heading = match operation {
        "broadcast" => heading(rule, operands, shapes),
        "reorder" => format!("cannot reorder the axes of {}", shapes[0]),
        "insert" => format!("cannot insert axis {} in {}", axis(0), shapes[0]),
        _ => {
            let axis = axis(at.unwrap_or(0));
            format!("cannot {operation} axis {axis} of {}", shapes[0])
        }
    };
    if let Rule::Pdpd | Rule::Paddle = rule {
        return heading + &aligned_at(axis(0), [(&input, small), (&target, large)]);
    }
    let why = match fault {
        AxesFault::Length if rule == Rule::BroadcastAxes => {
            let added = axes.iter().collect::<HashSet<_>>().len();
            let (kept, has) = (large.len().saturating_sub(added), axes_count(small.len()));
            format!("without them {target} has {kept}, but {input} has {has}")
        }
        AxesFault::Length => {
            let (count, entries) = (axes_count(small.len()), axes.len());
            let list = format!("list the axis of {target} for each axis of {input}");
            format!("the length is {entries}, but {input} has {count}: {list}")
        }
        AxesFault::OutOfRange(_) if operation == "insert" => {
            let last = large.len();
            format!("the positions are -{} to {last}", last + 1)
        }
        AxesFault::OutOfRange(at) => {
            let has = axes_count(large.len());
            format!("there is no axis {}: {target} has {has}", axis(*at))
        }
        AxesFault::Unsorted(at) => {
            let (axis, previous) = (axis(*at), axis(at.saturating_sub(1)));
            let instead = match rule {
                Rule::Explicit | Rule::InDim => "broadcast_in_dim_permuting",
                _ => "permuted_axes of the operand",
            };
            format!("{axis} after {previous}: axes must increase; to transpose, use {instead}")
        }
        AxesFault::Repeated(at) => format!("axis {} is listed twice", axis(*at)),
        AxesFault::Missing => {
            let numpy: Vec<_> = (large.len().saturating_sub(small.len())..large.len()).collect();
            let why = "ranks differ and XLA never guesses: pass the axes";
            format!(
                "{why} of {target} that {input} is aligned with (NumPy's are {})",
                list(&numpy)
            )
        }
        AxesFault::Unexpected if small.is_empty() => "a scalar needs none: pass []".into(),
        AxesFault::Unexpected => "equal ranks need none: pass [] or the identity".into(),
        AxesFault::NoneFits(mapping) => format!("no increasing axes mapping in {mapping} fits"),
        AxesFault::NotOne(_) | AxesFault::Overhang => "the size of this axis is not 1".into(),
    };
    let list_name = match rule {
        Rule::BroadcastAxes => "broadcast axes",
        Rule::InDim | Rule::InDimPermuting | Rule::Xla => "broadcast dimensions",
        Rule::Composed => "axes",
        _ => "axes mapping",
    };
    // nGraph's list names axes of the target. Every other list has one entry for each input axis.
    let owner = match rule {
        Rule::BroadcastAxes => (target, large),
        _ => (input, small),
    };
    let picture = Picture::of_two(at.unwrap_or(0), owner, (list_name, axes));
    match at {
        Some(_) => heading + &picture.caret(why),
        None => format!("{heading}{picture}\n  {why}"),
    }
}

/// An operand that begins at an axis of the other, under PaddlePaddle's rules.
fn aligned_at(axis: isize, operands: [(&str, &[PartialSize]); 2]) -> String {
    let [(b, small), (a, large)] = operands;
    let (count, rank) = (axes_count(small.len()), large.len());
    let at = usize::try_from(axis).unwrap_or(usize::MAX);
    match rank.checked_sub(at) {
        Some(left) if left > 0 => {
            let picture = Picture::around(at, at + small.len().max(left))
                .row(b, small, |i| at + i)
                .row(a, large, |i| i);
            format!("{picture}\n  from axis {axis} on {a} has {left}, but {b} has {count}")
        }
        _ => {
            let picture = Picture::of_two(0, (b, small), (a, large));
            let why = format!("there is no axis {axis}: {a} has {}", axes_count(rank));
            format!("{picture}\n  {why}; -1 aligns {b} from the right")
        }
    }
}

pub(super) fn pattern(pattern: &str, position: usize, fault: &PatternFault) -> String {
    /// Of a longer pattern, this many characters are shown.
    const SHOWN: usize = 72;
    let heading = match fault {
        PatternFault::Syntax(_) | PatternFault::AxisTwice | PatternFault::AxisUnknown => {
            "invalid axis pattern"
        }
        _ => "the shapes do not fit the axis pattern",
    };
    let (before, rest) = pattern.split_at_checked(position).unwrap_or((pattern, ""));
    let column = before.chars().count();
    let is_far = column >= SHOWN;
    let skipped = if is_far { column - SHOWN / 2 } else { 0 };
    let mark = |is_cut: bool| if is_cut { "…" } else { "" };
    let start = mark(skipped > 0);
    let end = mark(pattern.chars().nth(skipped + SHOWN).is_some());
    let shown: String = pattern.chars().skip(skipped).take(SHOWN).collect();
    let name = quoted(rest.split([' ', ',']).next().unwrap_or(rest));
    let why = match fault {
        PatternFault::Syntax(expected) => format!("expected {expected}"),
        PatternFault::AxisTwice => format!("{name} is in this list already"),
        PatternFault::AxisUnknown => format!("the output lacks {name}: it must have every axis"),
        PatternFault::SizeMissing => format!("{name} is new: its size is needed"),
        PatternFault::SizesDiffer([a, b]) => format!("{name} has the sizes {a} and {b}"),
        PatternFault::Rank { names, rank } => {
            format!("this list has {}, the shape {rank}", axes_count(*names))
        }
        PatternFault::SizeUnknown(name) => {
            let name = quoted(name);
            let text = format!("{heading}\n  {start}{shown}{end}\n  a size is given for {name}");
            return text + ", which it does not have";
        }
    };
    let blanks = column - skipped + 2 + start.chars().count();
    format!("{heading}\n  {start}{shown}{end}\n{:blanks$}^ {why}", "")
}

pub(super) fn integer(role: IntegerRole, shape: &[usize], entry: Option<(usize, i128)>) -> String {
    let (what, whats) = match role {
        IntegerRole::Size | IntegerRole::SizeOrKeep => ("a size", "sizes"),
        IntegerRole::Axis | IntegerRole::AxisOf(_) => ("an axis", "axes"),
    };
    let Some((position, value)) = entry else {
        let list = list(shape);
        return format!("{whats} are of rank 1, but this tensor has the shape {list}");
    };
    if let IntegerRole::AxisOf(rank) = role {
        let which = match rank {
            0 => "none".to_string(),
            _ => format!("-{rank} to {}", rank - 1),
        };
        return format!("entry {position} is {value}: axes of an array of rank {rank} are {which}");
    }
    let why = match (role, value) {
        (IntegerRole::SizeOrKeep, ..0) => {
            "must not be negative, except for -1, which keeps the input's size"
        }
        (IntegerRole::Size, -1) => {
            "must not be negative; broadcast_expand with KEEP keeps the input's size"
        }
        (_, ..0) => "must not be negative",
        (IntegerRole::SizeOrKeep, _) => "must be less than usize::MAX",
        _ => "must fit usize",
    };
    format!("entry {position} is {value}: {what} {why}")
}

pub(super) fn operator(mode: Rule, fault: OperatorFault) -> String {
    match fault {
        OperatorFault::ModeNotInVersion => format!("has no mode \"{mode}\": Broadcast-3 has it"),
        OperatorFault::AxesMappingMissing => {
            format!("in mode \"{mode}\" needs axes_mapping: one target axis for each input axis")
        }
        OperatorFault::AxesMappingUnexpected => {
            format!("in mode \"{mode}\" takes no axes_mapping: drop it, or use mode \"explicit\"")
        }
    }
}

pub(super) fn shape_overflow(shape: &[usize]) -> String {
    let sizes = list(shape);
    if shape.contains(&KEEP) {
        return format!("the shape {sizes} is too large: {ONLY_IN_EXPAND}");
    }
    let counted = if shape.contains(&0) {
        " if sizes of 0 count as 1"
    } else {
        ""
    };
    format!("the shape {sizes} has more than isize::MAX elements{counted}: no array can have it")
}

pub(super) fn wrong_shape(role: ArrayRole, expected: &PartialShape, found: &[usize]) -> String {
    let heading = format!("{role} has shape {}, expected {expected}", list(found));
    let (wanted, rank) = (sizes(expected), found.len());
    let axis = found
        .iter()
        .zip(wanted)
        .position(|(&size, wanted)| !wanted.contains(size));
    let picture = Picture::of_two(axis.unwrap_or(0), ("found", found), ("expected", wanted));
    let in_place = match role {
        ArrayRole::Receiver => "; an operation in place does not broadcast self",
        _ => "",
    };
    match axis {
        _ if rank != wanted.len() => {
            let wanted = wanted.len();
            format!("{heading}{picture}\n  ranks {rank} and {wanted} differ{in_place}")
        }
        Some(at) => {
            let (size, wanted) = (text(&found[at]), wanted[at]);
            heading + &picture.caret(format!("{size} is not {wanted}{in_place}"))
        }
        None => heading,
    }
}

pub(super) fn slice(
    role: ArrayRole,
    shape: &[usize],
    strides: &[isize],
    len: usize,
    fault: SliceFault,
) -> String {
    let (shape, rank) = (list(shape), axes_count(shape.len()));
    let with = match strides {
        [] => String::new(),
        strides => format!(" with the strides {}", list(strides)),
    };
    match fault {
        SliceFault::Rank => format!("{role} has {rank}, the shape {shape}{with}"),
        SliceFault::Length(needed) => {
            format!("{role} is a slice of length {len}, the shape {shape}{with} needs {needed}")
        }
        SliceFault::Overlap => {
            format!("{role} cannot be written: elements of the shape {shape}{with} overlap")
        }
    }
}

pub(super) fn invalid_box(shape: &[usize], ranges: &[Range<usize>], fault: &BoxFault) -> String {
    let (ranges_list, shape_list) = (list(ranges), list(shape));
    let picture = |axis| Picture::of_two(axis, ("box", ranges), ("shape", shape));
    match fault {
        BoxFault::Blocks => {
            let count = shape.iter().sum::<usize>();
            format!("the sums of this plan have {count} blocks of terms, not {ranges_list}")
        }
        BoxFault::CutsBlock {
            axis,
            boundary,
            nearest,
        } => {
            let nearest: Vec<_> = nearest.iter().flatten().map(text).collect();
            let why = match &nearest[..] {
                [] => "no block begins on this axis: take all of it".into(),
                at => format!("no block begins at {boundary}, but at {}", at.join(" and ")),
            };
            let picture = picture(*axis).caret(why);
            format!("the box {ranges_list} cuts a block of 1024 terms{picture}")
        }
        BoxFault::Outside => {
            let heading = format!("the box {ranges_list} is not inside {shape_list}");
            let (count, axes) = (ranges.len(), axes_count(shape.len()));
            let is_outside =
                |(range, &size): (&Range<usize>, _)| range.start > range.end || range.end > size;
            match ranges.iter().zip(shape).position(is_outside) {
                _ if count != shape.len() => {
                    format!("{heading}{}\n  {count} ranges for {axes}", picture(0))
                }
                Some(axis) => {
                    let (range, size) = (text(&ranges[axis]), shape[axis]);
                    heading + &picture(axis).caret(format!("{range} is not inside 0..{size}"))
                }
                None => heading,
            }
        }
    }
}

/// That a shape cannot be reduced.
pub(super) fn reduction(shape: &[usize], reduction: &str) -> String {
    let by = if reduction.is_empty() { "" } else { " by " };
    format!("cannot reduce {}{by}{reduction}", list(shape))
}

pub(super) fn parts(fault: &PartsFault) -> String {
    match fault {
        PartsFault::OtherReduction { first, second } => {
            format!("these parts do not belong together: {first}, and {second}")
        }
        PartsFault::Overlap { ranges, terms } => {
            let (terms, ranges) = (text(terms), list(ranges));
            format!("two parts have the terms {terms} of the elements {ranges} of the result")
        }
        PartsFault::Incomplete { index, terms } => {
            let (terms, index) = (text(terms), list(index));
            format!("the terms {terms} of the element {index} of the result are missing")
        }
    }
}
