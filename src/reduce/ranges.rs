//! Boxes of an array.

use ndarray::{ArrayD, ArrayViewD, Slice};
use std::collections::HashSet;
use std::ops::Range;

/// A box of an array: a range for each axis.
pub(super) type Ranges = Box<[Range<usize>]>;

/// Whether two boxes have an element in common. Both have elements.
fn overlap(a: &[Range<usize>], b: &[Range<usize>]) -> bool {
    let mut axes = a.iter().zip(b);
    axes.all(|(a, b)| a.start < b.end && b.start < a.end)
}

/// Whether two boxes of a list have an element in common. Each has elements.
///
/// Boxes that the best axis does not separate are compared in pairs.
pub(super) fn any_overlap(mut boxes: Vec<&[Range<usize>]>) -> bool {
    let rank = boxes.first().map_or(0, |ranges| ranges.len());
    let starts = |&axis: &usize| {
        let starts = boxes.iter().map(|ranges| ranges[axis].start);
        starts.collect::<HashSet<_>>().len()
    };
    let Some(axis) = (0..rank).max_by_key(starts) else {
        return boxes.len() > 1;
    };
    boxes.sort_unstable_by_key(|ranges| ranges[axis].start);
    boxes.iter().enumerate().any(|(at, a)| {
        let later = boxes[at + 1..].iter();
        let mut near = later.take_while(|b| b[axis].start < a[axis].end);
        near.any(|b| overlap(a, b))
    })
}

/// The first index of an array, in row-major order, that is in none of the boxes. No two boxes
/// overlap, and each has elements.
pub(super) fn first_outside(
    shape: &[usize],
    mut boxes: Vec<&[Range<usize>]>,
) -> Option<Vec<usize>> {
    let all: Ranges = shape.iter().map(|&size| 0..size).collect();
    if boxes.iter().map(|ranges| len(ranges)).sum::<usize>() == len(&all) {
        return None;
    }
    let first = |ranges: &[Range<usize>]| -> Vec<usize> {
        ranges.iter().map(|range| range.start).collect()
    };
    // In this order the rest is few boxes at any time.
    boxes.sort_by_cached_key(|ranges| first(ranges));
    let mut rest = vec![all];
    for inner in boxes {
        rest = rest
            .iter()
            .flat_map(|outer| without(outer, inner))
            .collect();
    }
    rest.iter().map(|ranges| first(ranges)).min()
}

/// The box that two boxes have in common, if it has elements.
pub(super) fn intersection(a: &[Range<usize>], b: &[Range<usize>]) -> Option<Ranges> {
    if !overlap(a, b) {
        return None;
    }
    let both = |(a, b): (&Range<usize>, &Range<usize>)| a.start.max(b.start)..a.end.min(b.end);
    Some(a.iter().zip(b).map(both).collect())
}

/// The box `all` without the elements of another one, as boxes.
pub(super) fn without(all: &[Range<usize>], other: &[Range<usize>]) -> Vec<Ranges> {
    let Some(inner) = intersection(all, other) else {
        return vec![all.into()];
    };
    let (mut rest, mut left) = (all.to_vec(), Vec::new());
    for (axis, inner) in inner.iter().enumerate() {
        let Range { start, end } = rest[axis];
        for range in [start..inner.start, inner.end..end] {
            if !range.is_empty() {
                let mut outside = rest.clone();
                outside[axis] = range;
                left.push(outside.into());
            }
        }
        rest[axis] = inner.clone();
    }
    left
}

/// The elements of the box `to`. `values` holds those of the box `of`, which contains `to`.
pub(super) fn slice<'a, A>(
    values: &'a ArrayD<A>,
    of: &[Range<usize>],
    to: &[Range<usize>],
) -> ArrayViewD<'a, A> {
    let mut view = values.view();
    view.slice_each_axis_inplace(|axis| {
        let axis = axis.axis.index();
        let begin = of[axis].start;
        Slice::from(to[axis].start - begin..to[axis].end - begin)
    });
    view
}

/// How many elements a box has.
pub(super) fn len(ranges: &[Range<usize>]) -> usize {
    ranges.iter().map(|range| range.len()).product()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array3;

    /// Pseudo-random boxes of a small array, compared with the elements that they have.
    #[test]
    fn boxes_overlap_and_leave_gaps_where_their_elements_do() {
        let shape = [4, 3, 5];
        let mut state = 1_u64;
        let mut below = |end: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            (state >> 33) as usize % end
        };
        let list = |boxes: &[Ranges]| any_overlap(boxes.iter().map(|ranges| &ranges[..]).collect());
        let mut overlapping = 0;
        for _ in 0..2000 {
            let mut range = |size: usize| {
                let start = below(size);
                start..start + 1 + below(size - start)
            };
            let count = range(4).end;
            let boxes: Vec<Ranges> = (0..count).map(|_| shape.map(&mut range).into()).collect();
            let mut counts = Array3::<u8>::zeros(shape);
            let mut rest: Vec<Ranges> = vec![shape.map(|size| 0..size).into()];
            for ranges in &boxes {
                let mut part = counts.view_mut();
                part.slice_each_axis_inplace(|axis| ranges[axis.axis.index()].clone().into());
                part.map_inplace(|count| *count += 1);
                rest = rest
                    .iter()
                    .flat_map(|outer| without(outer, ranges))
                    .collect();
            }
            let overlap = counts.iter().any(|&count| count > 1);
            assert_eq!(list(&boxes), overlap, "{boxes:?}");
            overlapping += usize::from(overlap);
            // The rest has all elements but those of the boxes.
            assert!(!list(&rest), "{rest:?}");
            let elements: usize = rest.iter().map(|ranges| len(ranges)).sum();
            assert_eq!(elements, counts.iter().filter(|&&count| count == 0).count());
            let mut counts = counts.indexed_iter();
            let first = counts.find(|&(_, &count)| count > 0);
            let first = first.map(|((i, j, k), _)| vec![i, j, k]);
            let found = first_outside(&shape, rest.iter().map(|ranges| &ranges[..]).collect());
            assert_eq!(found, first, "{boxes:?}");
        }
        assert!((500..1500).contains(&overlapping), "{overlapping}");
    }
}
