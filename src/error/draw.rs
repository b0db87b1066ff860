//! What errors print: a heading, the shapes drawn as the rule aligns them, and the axis at fault.

use super::draw_parts::{
    axes_count, difference, entry, heading, invalid_axes, labels, list_of_axes, no_axis,
    pair_heading, pdpd_axis, quoted,
};
use super::draw_plans;
use super::kind::ErrorKind;
use super::role::{ArrayRole, IntegerRole};
use crate::picture::{Picture, Place, Size, entries, list};
use crate::rule::Rule;
use crate::shape::KEEP;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

/// Of the size [`KEEP`], which prints as -1, under any other rule than `expand`.
const ONLY_IN_EXPAND: &str = "-1 keeps the input's size only in broadcast_expand (mode expand)";

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SizeMismatch {
                rule,
                array,
                input,
                target,
                mapping,
                input_axis,
            } => {
                heading(f, *rule, *array, [input, target])?;
                let [input_label, target_label] = labels(*rule, *array);
                let target_start = input.len().saturating_sub(target.len());
                let picture = Picture::new(
                    (&input_label, input, Place::Mapped(mapping)),
                    (&target_label, target, Place::From(target_start)),
                );
                let column = entry(mapping, *input_axis);
                picture.caret(f, column)?;
                let found = Size(entry(input, *input_axis));
                let wanted = Size(picture.size(1, column).unwrap_or(1));
                match rule {
                    Rule::Bidirectional => {
                        write!(f, "{found} and {wanted} differ and neither is 1")
                    }
                    Rule::BroadcastAxes => {
                        let why = "only the broadcast axes replicate";
                        write!(f, "{found} is not {wanted} ({why})")
                    }
                    _ if wanted.0 == 1 => write!(f, "{found} is not 1"),
                    _ => write!(f, "{found} is neither {wanted} nor 1"),
                }?;
                match (rule, wanted.0) {
                    (Rule::Numpy, KEEP) => write!(f, "; {ONLY_IN_EXPAND}"),
                    _ => Ok(()),
                }
            }
            Self::OperandMismatch {
                rule,
                operands,
                shapes,
                mapping,
                axis,
            } => {
                pair_heading(f, *rule, shapes)?;
                let [a, b] = shapes;
                let place = |shape: &[usize], other: &[usize]| match shape.len() < other.len() {
                    true => Place::Mapped(mapping),
                    false => Place::From(0),
                };
                let labels = operands.map(ArrayRole::name);
                let picture =
                    Picture::new((&labels[0], a, place(a, b)), (&labels[1], b, place(b, a)));
                picture.caret(f, *axis)?;
                let [a, b] = [0, 1].map(|row| Size(picture.size(row, *axis).unwrap_or(1)));
                write!(f, "{a} and {b} differ and neither is 1")
            }
            Self::ShapesDiffer { operands, shapes } => {
                pair_heading(f, Rule::None, shapes)?;
                let labels = operands.map(ArrayRole::name);
                difference(f, [&labels[0], &labels[1]], [&shapes[0], &shapes[1]])?;
                f.write_str("; this rule wants identical shapes")
            }
            Self::RankTooLarge {
                rule,
                array,
                input,
                target,
            } => {
                heading(f, *rule, *array, [input, target])?;
                let [a, b] = labels(*rule, *array);
                Picture::right_aligned([&a, &b], input, target).rows(f, 0)?;
                let (count, target_rank) = (axes_count(input.len()), target.len());
                write!(f, "\n  {a} has {count}, {b} only {target_rank}: ")?;
                if *rule == Rule::Pdpd {
                    write!(f, "{a} must not have more axes than {b}, ")?;
                    return f.write_str("even if the extra axes have size 1");
                }
                f.write_str(match rule {
                    Rule::Named => {
                        "a mode needs a target with at least as many axes as the input; \
                         `AxisPattern::plan` takes this pattern"
                    }
                    _ => "this rule never drops an axis, not even one of size 1",
                })
            }
            Self::InvalidAxes {
                rule,
                array,
                input,
                target,
                axes,
                fault,
            } => {
                heading(f, *rule, *array, [input, target])?;
                list_of_axes(f, *rule, *array, [input, target], axes, *fault)?;
                invalid_axes(
                    f,
                    (*rule, *array),
                    [input.len(), target.len()],
                    axes,
                    *fault,
                )
            }
            Self::BroadcastAxesRank {
                input,
                target,
                axes,
            } => {
                heading(f, Rule::BroadcastAxes, ArrayRole::Input, [input, target])?;
                Picture::right_aligned(["input", "target"], input, target).rows(f, 0)?;
                let in_target = axes.iter().filter(|&&axis| axis < target.len());
                let kept = target.len() - in_target.collect::<HashSet<_>>().len();
                write!(f, "\n  broadcast axes {} leave {kept} of ", list(axes))?;
                let [has, of] = [input, target].map(|shape| axes_count(shape.len()));
                write!(f, "the target's {of}, but the input has {has}")
            }
            Self::PdpdAxis {
                array,
                input,
                target,
                axis,
            } => {
                heading(f, Rule::Pdpd, *array, [input, target])?;
                pdpd_axis(f, *array, *axis)
            }
            Self::PdpdOverhang {
                array,
                input,
                target,
                axis,
                trimmed_rank,
            } => {
                heading(f, Rule::Pdpd, *array, [input, target])?;
                let [b, a] = labels(Rule::Pdpd, *array);
                let (trimmed, rest) = input.split_at((*trimmed_rank).min(input.len()));
                let end = axis.saturating_add(trimmed.len());
                // No picture if the axis is far out: it would be mostly blank.
                if end <= target.len().saturating_add(8) {
                    let trimmed = (&*b, trimmed, Place::From(*axis));
                    Picture::new(trimmed, (&a, target, Place::From(0))).rows(f, *axis)?;
                }
                let without = match rest {
                    [] => "",
                    _ => " without its trailing 1s",
                };
                let count = axes_count(trimmed.len());
                match target.len().saturating_sub(*axis) {
                    0 => write!(f, "\n  {}", no_axis(a, *axis, target.len())),
                    left => {
                        write!(f, "\n  aligned with axis {axis}, {b}{without} has ")?;
                        write!(f, "{count} to fill but {a} has {left} left from there")
                    }
                }
            }
            Self::DimensionsRequired { operands, shapes } => {
                pair_heading(f, Rule::Xla, shapes)?;
                let [a, b] = shapes;
                let labels = operands.map(ArrayRole::name);
                Picture::left_aligned([&labels[0], &labels[1]], a, b).rows(f, 0)?;
                let (a, b) = (a.len(), b.len());
                let (small, large) = (a.min(b), a.max(b));
                let (last, alignment) = (large.saturating_sub(1), entries(large - small..large));
                write!(f, "\n  ranks {a} and {b} differ and XLA never guesses: ")?;
                write!(f, "pass broadcast_dimensions, {small} of the axes 0 to ")?;
                write!(f, "{last} in increasing order ")?;
                write!(f, "(NumPy's alignment is {alignment})")
            }
            Self::DimensionsUnexpected { shapes, dimensions } => {
                pair_heading(f, Rule::Xla, shapes)?;
                let why = if shapes.iter().any(|shape| shape.is_empty()) {
                    "a scalar needs no broadcast_dimensions: pass []"
                } else {
                    "equal ranks need no broadcast_dimensions: pass [] or the identity"
                };
                write!(f, "\n  broadcast dimensions {}: {why}", list(dimensions))
            }
            Self::KeepOnNewAxis {
                input,
                target,
                axis,
            } => {
                heading(f, Rule::Expand, ArrayRole::Input, [input, target])?;
                Picture::right_aligned(["input", "size"], input, target).caret(f, *axis)?;
                f.write_str("-1 keeps an input's size, but this axis is new: give it a size")
            }
            Self::InvalidInteger {
                role,
                position,
                value,
            } => {
                let what = match role {
                    IntegerRole::Size | IntegerRole::SizeOrKeep => "a size",
                    IntegerRole::Axis => "an axis",
                };
                let why = match (role, value) {
                    (_, ..0) => "must not be negative",
                    (IntegerRole::SizeOrKeep, _) => "must be less than usize::MAX",
                    _ => "must fit usize",
                };
                write!(f, "entry {position} is {value}: {what} {why}")?;
                match (role, value) {
                    (IntegerRole::SizeOrKeep, ..0) => {
                        f.write_str(", except for -1, which keeps the input's size")
                    }
                    (IntegerRole::Size, -1) => {
                        f.write_str("; broadcast_expand with KEEP keeps the input's size")
                    }
                    _ => Ok(()),
                }
            }
            Self::ShapeOverflow { shape } => {
                let sizes = list(shape);
                if shape.contains(&KEEP) {
                    return write!(f, "the shape {sizes} is too large: {ONLY_IN_EXPAND}");
                }
                if shape.contains(&0) {
                    write!(
                        f,
                        "the sizes of {sizes} other than 0 multiply to more than "
                    )?;
                    return f.write_str("isize::MAX: ndarray has no such shape");
                }
                write!(f, "the shape {sizes} has more than isize::MAX elements: ")?;
                f.write_str("no array can have it, not even a view")
            }
            Self::ReduceMismatch {
                operation,
                input,
                target,
                axis,
            } => {
                let shapes = (list(input), list(target));
                write!(f, "cannot {operation} {} to {} (numpy)", shapes.0, shapes.1)?;
                let picture = Picture::right_aligned(["self", "result"], input, target);
                match axis {
                    Some(axis) => {
                        let new_axes = input.len().saturating_sub(target.len());
                        let column = new_axes.saturating_add(*axis);
                        picture.caret(f, column)?;
                        let (wanted, size) = (entry(target, *axis), entry(input, column));
                        let (wanted, size) = (Size(wanted), Size(size));
                        match size.0 {
                            1 => write!(f, "{wanted} is not 1"),
                            _ => write!(f, "{wanted} is neither {size} nor 1"),
                        }
                    }
                    None => {
                        picture.rows(f, 0)?;
                        let (have, wanted) = (axes_count(input.len()), target.len());
                        write!(f, "\n  self has {have}, the result would have {wanted}")
                    }
                }
            }
            Self::EmptyReduction { shape, reduction } => {
                write!(f, "cannot reduce {}", list(shape))?;
                if !reduction.is_empty() {
                    write!(f, " by {reduction}")?;
                }
                f.write_str(": there are no terms, and this reduction has no result for that; ")?;
                f.write_str("a Fold with an identity has one")
            }
            Self::TooFewTerms {
                shape,
                reduction,
                terms,
                least,
            } => {
                write!(f, "cannot reduce {}", list(shape))?;
                if !reduction.is_empty() {
                    write!(f, " by {reduction}")?;
                }
                write!(f, ": it needs {least} terms, and there are {terms}")
            }
            Self::OutputTooLarge {
                shape,
                element_size,
            } => {
                let shape = list(shape);
                write!(f, "an owned array of shape {shape} with ")?;
                write!(f, "{element_size}-byte elements passes isize::MAX bytes")
            }
            Self::AllocationFailed { bytes } => write!(f, "the allocator refused {bytes} bytes"),
            Self::WrongShape {
                role,
                expected,
                found,
            } => {
                let (found_list, expected_list) = (list(found), list(expected));
                write!(f, "{role} has shape {found_list}, expected {expected_list}")?;
                difference(f, ["found", "expected"], [found, expected])?;
                match role {
                    ArrayRole::Receiver => {
                        f.write_str("; an operation in place does not broadcast self")
                    }
                    _ => Ok(()),
                }
            }
            Self::InvalidSlice {
                role,
                shape,
                strides,
                len,
                fault,
            } => draw_plans::slice(f, *role, (shape, strides), *len, *fault),
            Self::NotOneDimensional { role, shape } => {
                let name = match role {
                    IntegerRole::Size | IntegerRole::SizeOrKeep => "target_shape",
                    IntegerRole::Axis => "axes_mapping",
                };
                let shape = list(shape);
                write!(f, "OpenVINO Broadcast takes {name} as a 1-D tensor, ")?;
                write!(f, "but its shape is {shape}")
            }
            Self::UnknownName {
                kind,
                name,
                expected,
            } => write!(f, "unknown {kind} {}: expected {expected}", quoted(name)),
            Self::InvalidText { kind, text, fault } => {
                write!(f, "invalid {kind} {}: {fault}", quoted(text))
            }
            Self::ModeNotInVersion {
                version,
                mode,
                hint,
            } => write!(
                f,
                "OpenVINO Broadcast-{version} has no mode \"{mode}\": {hint}"
            ),
            Self::PlansDoNotMeet { output, input } => {
                let (output_list, input_list) = (list(output), list(input));
                write!(f, "the plans do not meet: the first gives {output_list}, ")?;
                write!(f, "the second takes {input_list}")?;
                difference(f, ["first", "second"], [output, input])
            }
            Self::NotAPermutation { shape, axes, fault } => {
                draw_plans::permutation(f, shape, axes, *fault)
            }
            Self::InvalidAxis {
                shape,
                axis,
                operation,
            } => draw_plans::axis(f, shape, *axis, operation),
            Self::InvalidBox { shape, ranges } => draw_plans::ranges(f, shape, ranges),
            Self::InvalidBlocks { count, blocks } => {
                let Range { start, end } = blocks;
                write!(f, "the blocks {start}..{end} are not among the {count} ")?;
                f.write_str("blocks of terms that the sums of this plan have")
            }
            Self::CutsBlock {
                shape,
                ranges,
                axis,
                boundary,
                nearest,
            } => draw_plans::cuts_block(f, shape, ranges, (*axis, *boundary), *nearest),
            Self::OtherReduction { first, second } => {
                write!(
                    f,
                    "these parts do not belong together: {first}, and {second}"
                )
            }
            Self::Overlap { ranges, terms } => {
                let Range { start, end } = terms;
                write!(
                    f,
                    "two parts have the terms {start}..{end} of the elements "
                )?;
                write!(f, "{} of the result", list(ranges))
            }
            Self::Incomplete { index, terms } => {
                let (index, Range { start, end }) = (list(index), terms);
                write!(f, "the terms {start}..{end} of the element {index} ")?;
                f.write_str("of the result are missing")
            }
            Self::InvalidBytes { fault } => {
                write!(f, "invalid bytes of an accumulation: {fault}")
            }
            Self::BoundsReversed { min, max } => {
                write!(f, "no size is at least {min} and at most {max}")
            }
            Self::Impossible {
                rule,
                shapes,
                operands,
                fault,
            } => draw_plans::impossible(f, *rule, shapes, *operands, fault),
            Self::NotPossible { known, found } => draw_plans::not_possible(f, known, found),
            Self::InvalidPattern {
                pattern,
                position,
                fault,
            } => draw_plans::pattern(f, pattern, *position, fault),
            Self::AxesMappingMissing {} => f.write_str(
                "OpenVINO Broadcast in mode \"explicit\" needs its third input, axes_mapping: \
                 one target axis for each input axis",
            ),
            Self::AxesMappingUnexpected { mode } => write!(
                f,
                "OpenVINO Broadcast in mode \"{mode}\" takes no third input, but axes_mapping was \
                 given: drop it, or use mode \"explicit\""
            ),
        }
    }
}
