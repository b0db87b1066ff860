//! explicit with a mapping that is known in part.

use super::call::{Call, Fit, checked, checked_shape};
use crate::error::{BroadcastError, PartialFault};
use crate::partial::{PartialShape, PartialSize};
use crate::rule::Rule;
use crate::rules::axes::increasing;
use crate::shape::Sizes;
use smallvec::SmallVec;

/// The mode `explicit` with a mapping known in part, as OpenVINO's operator has it: scalar data may
/// have a mapping of one entry onto an axis of size 1.
pub(crate) fn infer_explicit(
    data: &PartialShape,
    target: &PartialShape,
    mapping: &PartialShape,
) -> Result<PartialShape, BroadcastError> {
    let call = Call {
        rule: Rule::Explicit,
        shapes: [data, target],
        operands: false,
    };
    let scalar_as_vector = data.rank() == Some(0) && mapping.rank() == Some(1);
    if let (Some(axes), false) = (mapping.value(), scalar_as_vector) {
        return call.mapped(axes.sizes(), increasing);
    }
    let refused = || Err(call.error(PartialFault::Mapping(mapping.clone())));
    let rank = match (data.rank(), mapping.rank()) {
        (Some(0), Some(1)) => 1,
        (Some(rank), Some(entries)) if rank != entries => return refused(),
        (Some(rank), _) | (None, Some(rank)) => rank,
        // The data may be scalar.
        (None, None) => return checked_shape(target),
    };
    let any = |count| SmallVec::<[_; 4]>::from_elem(PartialSize::ANY, count);
    let axes = mapping
        .sizes()
        .map_or_else(|| any(rank), SmallVec::from_slice);
    // A scalar with one entry is as data of size 1 that must not be stretched.
    let (data, fit): (_, Fit) = match data.sizes() {
        _ if scalar_as_vector => (any(0), PartialSize::and),
        Some(data) => (SmallVec::from_slice(data), PartialSize::stretched_to),
        None => (any(rank), PartialSize::stretched_to),
    };
    let size = |axis: usize| data.get(axis).copied().unwrap_or(PartialSize::ONE);
    checked_shape(call.shapes[0])?;
    let Some(target) = target.sizes() else {
        let mut next = 0;
        for axis in &axes {
            let at = axis.min().max(next);
            if !axis.contains(at) {
                return refused();
            }
            next = at.saturating_add(1);
        }
        return Ok(PartialShape::UNKNOWN);
    };
    // The size of a target axis that this data axis feeds, if it may.
    let fed = |axis: usize, at: usize| match axes[axis].contains(at) {
        true => fit(size(axis), target[at]),
        false => None,
    };
    // The first target axes that data axes 0, 0 and 1, ... can feed in increasing order, and the
    // last ones that can be fed by the last data axis, by the last two, ...
    let mut first: SmallVec<[usize; 4]> = SmallVec::from_elem(0, rank);
    let mut last = first.clone();
    let mut from = 0;
    for (axis, at) in first.iter_mut().enumerate() {
        match (from..target.len()).find(|&at| fed(axis, at).is_some()) {
            Some(found) => *at = found,
            None => return refused(),
        }
        from = *at + 1;
    }
    let mut to = target.len();
    for (axis, at) in last.iter_mut().enumerate().rev() {
        // There is one, as there was one above.
        *at = (0..to)
            .rev()
            .find(|&at| fed(axis, at).is_some())
            .unwrap_or(0);
        to = *at;
    }
    // The first `before` data axes, and no more, can feed target axes before `at`. The data axes
    // from `not_after` on, and no more, can feed target axes after it.
    let (mut before, mut not_after) = (0, 0);
    let output = (0..target.len()).map(|at| {
        while before < rank && first[before] < at {
            before += 1;
        }
        while not_after < rank && last[not_after] <= at {
            not_after += 1;
        }
        // If each data axis can feed an axis before or after this one, this one may have any size
        // of the target. Otherwise the data axis `before` feeds it.
        let feeding = (not_after > before).then_some(before);
        feeding.and_then(|axis| fed(axis, at)).unwrap_or(target[at])
    });
    checked(output.collect())
}
