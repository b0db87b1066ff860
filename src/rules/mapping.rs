//! explicit with a mapping that is known in part.

use super::alignment::{checked, infer, sizes_of, unknown};
use super::axes::increasing;
use super::explicit::mapped;
use crate::error::{ArrayRole, AxesFault, Mismatch, Result};
use crate::partial::{PartialShape, PartialSize};
use crate::rule::{Relation, Rule};
use crate::shape::Sizes;
use smallvec::SmallVec;

/// The mode `explicit` with a mapping known in part, as OpenVINO's operator has it: scalar data may
/// have a mapping of one entry onto an axis of size 1.
pub(crate) fn infer_explicit(
    data: &PartialShape,
    target: &PartialShape,
    mapping: &PartialShape,
) -> Result<PartialShape> {
    let scalar_as_vector = data.rank() == Some(0) && mapping.rank() == Some(1);
    let operands = [ArrayRole::Input, ArrayRole::Target];
    // The data may be scalar if nothing is known.
    let rank = mapping.rank().or(data.rank()).unwrap_or(0);
    if let (Some(axes), false) = (mapping.value(), scalar_as_vector) {
        let ranks = [Some(rank), None];
        return infer(Rule::Explicit, operands, [data, target], ranks, |shapes| {
            mapped(shapes.ranks, axes.sizes(), increasing)
        });
    }
    let refused = || {
        let why = Mismatch::axes::<usize>(&[], AxesFault::NoneFits(mapping.clone()));
        Err(why.of(Rule::Explicit, operands, [data.clone(), target.clone()]))
    };
    if data.rank().is_some_and(|data| data != rank) && !scalar_as_vector {
        return refused();
    }
    // A scalar with one entry is as data of size 1 that must not be stretched.
    let relation = match scalar_as_vector {
        true => Relation::Equal,
        false => Relation::Stretch,
    };
    unknown([data])?;
    let any = PartialSize::ANY;
    let axis_at = |axis: usize| mapping.sizes().map_or(any, |axes| axes[axis]);
    let data = sizes_of(data, Some(rank)).unwrap_or_default();
    let sizes = target.sizes().unwrap_or(&[]);
    let end = target.rank().unwrap_or(usize::MAX);
    // The size of a target axis that this data axis feeds, if it may. Scalar data has size 1.
    let fed = |axis: usize, at: usize| {
        let size = data.get(axis).copied().unwrap_or(1.into());
        let wanted = sizes.get(at).copied().unwrap_or(any);
        relation
            .output(size, wanted)
            .filter(|_| axis_at(axis).contains(at))
    };
    // The first target axes that data axes 0, 0 and 1, ... can feed in increasing order, and the
    // last ones that can be fed by the last data axis, by the last two, ...
    let mut first = SmallVec::<[usize; 4]>::new();
    for axis in 0..rank {
        let entry = axis_at(axis);
        let from = first.last().map_or(0, |at| at + 1);
        let to = end.min(entry.max().unwrap_or(end).saturating_add(1));
        match (entry.min().max(from)..to).find(|&at| fed(axis, at).is_some()) {
            Some(at) => first.push(at),
            None => return refused(),
        }
    }
    if target.rank().is_none() {
        return Ok(PartialShape::UNKNOWN);
    }
    let (mut last, mut to) = (first.clone(), end);
    for (axis, at) in last.iter_mut().enumerate().rev() {
        // There is one, as there was one above.
        let found = (0..to).rev().find(|&at| fed(axis, at).is_some());
        to = found.unwrap_or(0);
        *at = to;
    }
    // The first `before` data axes, and no more, can feed target axes before `at`. The data axes
    // from `not_after` on, and no more, can feed target axes after it.
    let output = (0..end).map(|at| {
        let before = first.partition_point(|&fed_axis| fed_axis < at);
        let not_after = last.partition_point(|&fed_axis| fed_axis <= at);
        // If each data axis can feed an axis before or after this one, this one may have any size
        // of the target. Otherwise the data axis `before` feeds it.
        let feeding = (not_after > before).then_some(before);
        feeding.and_then(|axis| fed(axis, at)).unwrap_or(sizes[at])
    });
    checked(output.collect())
}
