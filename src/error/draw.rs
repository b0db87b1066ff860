//! What errors print: a heading, the shapes drawn as the rule aligns them, and the axis at fault.
//!
//! Callers may change the fields of a copied error. So an axis or a position may be out of range.

use super::fault::{AxesFault, BoxFault, OperatorFault, PatternFault, SliceFault};
use super::role::{ArrayRole, IntegerRole};
use crate::partial::{PartialShape, PartialSize};
use crate::picture::{Picture, list};
use crate::rule::{Relation, Rule};
use crate::shape::KEEP;
use std::collections::HashSet;
use std::ops::Range;

/// Of the size [`KEEP`], which prints as -1, under any other rule than `expand`.
const ONLY_IN_EXPAND: &str = "-1 keeps the input's size only in broadcast_expand (mode expand)";

/// A rule, and the names and shapes of its operands.
type Operands<'a> = (Rule, &'a [ArrayRole; 2], &'a [PartialShape; 2]);

/// The first line about two shapes.
fn heading((rule, operands, [a, b]): Operands) -> String {
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

/// Why an axis is refused, and how many a shape has if its rank is known.
fn no_axis(axis: i128, name: &str, rank: Option<usize>) -> String {
    let has = rank.map(|rank| format!(": {name} has {}", axes_count(rank)));
    format!("there is no axis {axis}{}", has.unwrap_or_default())
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
    both @ (rule, operands, shapes): Operands,
    relation: Relation,
    mapping: &[usize],
    axis: usize,
) -> String {
    let rows = shapes.each_ref().map(sizes);
    let mapped = usize::from(rows[0].len() > rows[1].len());
    let column_of = |row: usize, at: usize| match row == mapped {
        true => mapping.get(at).copied().unwrap_or(usize::MAX),
        false => at,
    };
    let picture = Picture::around(Some(axis), rows[1 - mapped].len())
        .row(operands[0], rows[0], |at| column_of(0, at))
        .row(operands[1], rows[1], |at| column_of(1, at));
    let cell = |row: usize| {
        let at = (0..rows[row].len()).find(|&at| column_of(row, at) == axis)?;
        Some(rows[row][at])
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
                (Relation::Stretch, false) if b.value() == Some(1) => format!("{a} is never 1"),
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
            picture.note(why + &hint)
        }
        (None, Some(b)) if b.value() == keep => {
            picture.note("-1 keeps an input's size, but this axis is new: give it a size")
        }
        _ => picture.to_string(),
    };
    heading(both) + &drawn
}

pub(super) fn rank_mismatch(both @ (rule, operands, shapes): Operands) -> String {
    let ([a, b], [a_name, b_name]) = (shapes.each_ref().map(sizes), operands);
    let rank = a.len().max(b.len());
    let picture = Picture::around(None, rank)
        .row(a_name, a, |axis| rank - a.len() + axis)
        .row(b_name, b, |axis| rank - b.len() + axis);
    let why = match (rule, operands) {
        (_, [ArrayRole::Result, _]) => "a reduction adds no axis",
        (Rule::Pdpd, _) => "this rule drops no axis, not even one of size 1, and adds none",
        (Rule::Named, _) => "a mode's target has no fewer axes; use `AxisPattern::plan`",
        (Rule::None, _) => "this rule wants identical shapes",
        _ => "this rule never drops an axis, not even one of size 1",
    };
    let why = match shapes.each_ref().map(PartialShape::rank) {
        [Some(a), Some(b)] => {
            let count = axes_count(a);
            format!("{a_name} has {count}, {b_name} has {b}: {why}")
        }
        _ => why.into(),
    };
    heading(both) + &picture.note(why)
}

pub(super) fn invalid_axes(
    operation: &str,
    both @ (rule, operands, shapes): Operands,
    axes: &[i128],
    fault: &AxesFault,
) -> String {
    // The list is of the operand with fewer axes. If one of the ranks is not known, it is of the
    // other one, unless that has more axes than the list has entries.
    let ranks = shapes.each_ref().map(PartialShape::rank);
    let flipped = match ranks {
        _ if !matches!(rule, Rule::Xla | Rule::Paddle) => false,
        [Some(a), Some(b)] => b < a,
        [Some(a), None] => a > axes.len(),
        [None, b] => b.is_some_and(|b| b <= axes.len()),
    };
    let row = |at: usize| match rule {
        Rule::Composed => ("shape".to_string(), sizes(&shapes[at])),
        _ => (operands[at].to_string(), sizes(&shapes[at])),
    };
    let (input, small) = row(usize::from(flipped));
    let (target, large) = row(usize::from(!flipped));
    let (count, large_rank) = (axes_count(small.len()), ranks[usize::from(!flipped)]);
    let (entries, rank) = (axes.len(), large.len());
    let at = match fault {
        AxesFault::OutOfRange(at) | AxesFault::Unsorted(at) => Some(*at),
        AxesFault::Repeated(at) | AxesFault::NotOne(at) => Some(*at),
        _ => None,
    };
    let entry = |at: usize| axes.get(at).copied().unwrap_or(0);
    let axis = entry(at.unwrap_or(0));
    let heading = match operation {
        "broadcast" => heading(both),
        "reorder" => format!("cannot reorder the axes of {}", shapes[0]),
        "insert" => format!("cannot insert axis {axis} in {}", shapes[0]),
        _ => format!("cannot {operation} axis {axis} of {}", shapes[0]),
    };
    if let Rule::Pdpd | Rule::Paddle = rule {
        return heading + &aligned_at(axis, [(&input, small), (&target, large)], large_rank);
    }
    let why = match fault {
        AxesFault::Length if rule == Rule::BroadcastAxes => {
            let kept = rank.saturating_sub(axes.iter().collect::<HashSet<_>>().len());
            format!("without them {target} has {kept}, but {input} has {count}")
        }
        AxesFault::Length => {
            let list = match operation {
                "reorder" => "list each axis once".into(),
                _ => format!("list the axis of {target} for each axis of {input}"),
            };
            format!("the length is {entries}, but {input} has {count}: {list}")
        }
        AxesFault::OutOfRange(_) if operation == "insert" => {
            format!("the positions are -{} to {rank}", rank + 1)
        }
        AxesFault::OutOfRange(_) => no_axis(axis, &target, large_rank),
        AxesFault::Unsorted(at) => {
            let previous = entry(at.saturating_sub(1));
            let instead = match rule {
                Rule::Explicit | Rule::InDim => "broadcast_in_dim_permuting",
                _ => "permuted_axes of the operand",
            };
            format!("{axis} after {previous}: axes must increase; to transpose, use {instead}")
        }
        AxesFault::Repeated(_) => format!("axis {axis} is listed twice"),
        AxesFault::Missing => {
            let numpy = list(&Vec::from_iter(rank.saturating_sub(small.len())..rank));
            let with = format!("of {target} that {input} is aligned with (NumPy's are {numpy})");
            format!("ranks differ and XLA never guesses: pass the axes {with}")
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
    heading + &Picture::of_two(at, owner, (list_name, axes)).note(why)
}

/// An operand that begins at an axis of the other, under PaddlePaddle's rules.
fn aligned_at(
    axis: i128,
    operands: [(&str, &[PartialSize]); 2],
    large_rank: Option<usize>,
) -> String {
    let [(b, small), (a, large)] = operands;
    let count = axes_count(small.len());
    let at = usize::try_from(axis).unwrap_or(usize::MAX);
    let reaches = |left| format!("from axis {axis} on {a} has {left}, but {b} has {count}");
    match large.len().checked_sub(at) {
        Some(left) if left > 0 => Picture::around(None, at + small.len().max(left))
            .row(b, small, |i| at + i)
            .row(a, large, |i| i)
            .note(reaches(left)),
        _ => {
            let why = no_axis(axis, a, large_rank);
            let picture = Picture::of_two(None, (b, small), (a, large));
            picture.note(format!("{why}; -1 aligns {b} from the right"))
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
        PatternFault::NeedsCopy(_) => "no view fits the axis pattern",
        _ => "the shapes do not fit the axis pattern",
    };
    let (before, rest) = pattern.split_at_checked(position).unwrap_or((pattern, ""));
    let column = before.chars().count();
    let skipped = if column >= SHOWN {
        column - SHOWN / 2
    } else {
        0
    };
    let mark = |is_cut: bool| if is_cut { "…" } else { "" };
    let start = mark(skipped > 0);
    let end = mark(pattern.chars().nth(skipped + SHOWN).is_some());
    let visible = |letter: char| match letter.is_control() {
        true => '\u{fffd}',
        false => letter,
    };
    let shown = pattern.chars().skip(skipped).take(SHOWN).map(visible);
    let shown: String = shown.collect();
    let lines = format!("{heading}\n  {start}{shown}{end}\n");
    let end = match rest.starts_with('(') {
        true => rest.find(')').map(|end| end + 1),
        false => rest.find([' ', ',', ')']),
    };
    let name = quoted(&rest[..end.unwrap_or(rest.len())]);
    let why = match fault {
        PatternFault::Syntax(expected) => format!("expected {expected}"),
        PatternFault::AxisTwice => format!("{name} is in this list already"),
        PatternFault::AxisUnknown => format!("the output lacks {name}: it must have every axis"),
        PatternFault::SizeMissing if rest.contains("->") => format!("{name} needs a size"),
        PatternFault::SizeMissing => format!("{name} is new: its size is needed"),
        PatternFault::SizesDiffer([a, b]) => format!("{name} has the sizes {a} and {b}"),
        PatternFault::Indivisible([size, known]) => {
            format!("{name} has the size {size}, which {known} does not divide")
        }
        PatternFault::NeedsCopy(shape) => {
            let shape = list(shape);
            format!(
                "{name} needs a copy: leave out the parentheses on the right, materialize, \
                    then into_shape_with_order({shape})"
            )
        }
        PatternFault::Rank { names, rank } => {
            let list = rest.split([',', '-']).next().unwrap_or(rest);
            let has = match list.split(' ').any(|name| name == "...") {
                true => format!("at least {}", axes_count(names.saturating_sub(1))),
                false => axes_count(*names),
            };
            format!("this list has {has}, the shape {rank}")
        }
        PatternFault::SizeUnknown(name) => {
            let name = quoted(name);
            return format!("{lines}  a size is given for {name}, which it does not have");
        }
    };
    let blanks = column - skipped + 2 + start.chars().count();
    format!("{lines}{:blanks$}^ {why}", "")
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
    let why = match (role, value) {
        (IntegerRole::AxisOf(0), _) => "axes of an array of rank 0 are none".into(),
        (IntegerRole::AxisOf(rank), _) => {
            let last = rank - 1;
            format!("axes of an array of rank {rank} are -{rank} to {last}")
        }
        (IntegerRole::SizeOrKeep, ..0) => {
            "a size must not be negative, except for -1, which keeps the input's size".into()
        }
        (IntegerRole::Size, -1) => "a size must not be negative; -1 keeps the input's size in \
            broadcast_expand and onnx::Expand::with_minus_one_as_keep"
            .into(),
        (_, ..0) => format!("{what} must not be negative"),
        _ => format!("{what} must fit usize"),
    };
    format!("entry {position} is {value}: {why}")
}

pub(super) fn operator(mode: Rule, fault: OperatorFault) -> String {
    let why = match fault {
        OperatorFault::ModeNotInVersion => {
            return format!("has no mode \"{mode}\": Broadcast-3 has it");
        }
        OperatorFault::AxesMappingMissing => {
            "needs axes_mapping: one target axis for each input axis"
        }
        OperatorFault::AxesMappingUnexpected => {
            "takes no axes_mapping: drop it, or use mode \"explicit\""
        }
    };
    format!("in mode \"{mode}\" {why}")
}

pub(super) fn shape_overflow(shape: &[usize], element_size: Option<usize>) -> String {
    let sizes = PartialShape::known(shape);
    if let Some(bytes) = element_size {
        let of = format!("an owned array of shape {sizes} with {bytes}-byte elements");
        return of + " passes isize::MAX bytes";
    }
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
    let shown = PartialShape::known(found);
    let heading = format!("{role} has shape {shown}, expected {expected}");
    let (wanted, shown, rank) = (sizes(expected), sizes(&shown), found.len());
    let fits = |(&size, wanted): (&usize, &PartialSize)| wanted.contains(size);
    let axis = found.iter().zip(wanted).position(|pair| !fits(pair));
    let axis = axis.filter(|_| rank == wanted.len());
    let why = match axis {
        Some(at) => format!("{} is not {}", shown[at], wanted[at]),
        None if rank == wanted.len() => return heading,
        None => format!("ranks {rank} and {} differ", wanted.len()),
    };
    heading + &Picture::of_two(axis, ("found", shown), ("expected", wanted)).note(why)
}

pub(super) fn slice(
    role: ArrayRole,
    shape: &[usize],
    strides: &[isize],
    len: usize,
    fault: SliceFault,
) -> String {
    let rank = axes_count(shape.len());
    let shape = match strides {
        [] if fault != SliceFault::Rank => list(shape),
        _ => format!("{} with the strides {}", list(shape), list(strides)),
    };
    match fault {
        SliceFault::Rank => format!("{role} has {rank}, the shape {shape}"),
        SliceFault::Length(usize::MAX) => {
            format!("{role} cannot have the shape {shape}: an offset is above isize::MAX")
        }
        SliceFault::Length(needed) => {
            format!("{role} is a slice of length {len}, the shape {shape} needs {needed}")
        }
        SliceFault::Overlap => {
            format!("{role} cannot be written: elements of the shape {shape} may overlap")
        }
    }
}

pub(super) fn invalid_box(shape: &[usize], ranges: &[Range<usize>], fault: &BoxFault) -> String {
    let (ranges_list, rank) = (list(ranges), shape.len());
    let (heading, axis, why) = match fault {
        BoxFault::Blocks => {
            let count = shape.first().unwrap_or(&0);
            return format!(
                "the sums of this plan have {count} blocks of terms, not {ranges_list}"
            );
        }
        BoxFault::CutsBlock {
            axis,
            boundary,
            nearest,
        } => {
            let nearest: Vec<_> = nearest.iter().flatten().map(usize::to_string).collect();
            let why = match &nearest[..] {
                [] => "no block begins on this axis: take all of it".into(),
                at => format!("no block begins at {boundary}, but at {}", at.join(" and ")),
            };
            let heading = format!("the box {ranges_list} cuts a block of 1024 terms");
            (heading, Some(*axis), why)
        }
        BoxFault::Outside => {
            let heading = format!("the box {ranges_list} is not inside {}", list(shape));
            let is_outside =
                |(range, &size): (&Range<usize>, _)| range.start > range.end || range.end > size;
            let axis = ranges.iter().zip(shape).position(is_outside);
            let axis = axis.filter(|_| ranges.len() == rank);
            let why = match axis {
                Some(axis) => format!("{:?} is not inside 0..{}", ranges[axis], shape[axis]),
                None if ranges.len() == rank => return heading,
                None => format!("{} ranges for {}", ranges.len(), axes_count(rank)),
            };
            (heading, axis, why)
        }
    };
    heading + &Picture::of_two(axis, ("box", ranges), ("shape", shape)).note(why)
}

pub(super) fn few_terms(shape: &[usize], reduction: &str, [terms, least]: [usize; 2]) -> String {
    let by = if reduction.is_empty() { "" } else { " by " };
    let has_or = matches!(
        reduction,
        "max" | "min" | "nanmax" | "nanmin" | "argmax" | "argmin" | "last argmax" | "last argmin"
    );
    let why = match least {
        1 if has_or => {
            "there are no terms; a reduction with or(value) has a result for none".into()
        }
        1 => "there are no terms".into(),
        _ => format!("it needs {least} terms, and there are {terms}"),
    };
    format!("cannot reduce {}{by}{reduction}: {why}", list(shape))
}
