//! Boxes of an array.

use ndarray::{ArrayD, ArrayViewD, Slice};
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
/// Boxes of a grid take O(n log n) time, for each axis. Boxes that no axis separates are compared
/// in pairs.
pub(super) fn any_overlap(mut boxes: Vec<&[Range<usize>]>) -> bool {
    let rank = boxes.first().map_or(0, |ranges| ranges.len());
    // Boxes of different groups have no element in common.
    let all = 0..boxes.len();
    let mut groups = vec![all];
    // An axis may separate more boxes after other axes have separated them. So each is used twice.
    for axis in (0..rank).chain(0..rank) {
        let mut finer = Vec::new();
        for group in groups {
            let boxes = &mut boxes[group.clone()];
            boxes.sort_unstable_by_key(|ranges| ranges[axis].start);
            let (mut begin, mut end) = (group.start, 0);
            for (at, ranges) in group.clone().zip(boxes) {
                if ranges[axis].start >= end {
                    finer.push(begin..at);
                    begin = at;
                }
                end = end.max(ranges[axis].end);
            }
            finer.push(begin..group.end);
        }
        finer.retain(|group| group.len() > 1);
        groups = finer;
    }
    groups.into_iter().any(|group| {
        let boxes = &boxes[group];
        let pair = |(at, ranges): (usize, &&[Range<usize>])| {
            boxes[..at].iter().any(|before| overlap(before, ranges))
        };
        boxes.iter().enumerate().any(pair)
    })
}

/// The box that two boxes have in common, if it has elements.
pub(super) fn intersection(a: &[Range<usize>], b: &[Range<usize>]) -> Option<Ranges> {
    if !overlap(a, b) {
        return None;
    }
    let both = |(a, b): (&Range<usize>, &Range<usize>)| {
        let range = a.start.max(b.start)..a.end.min(b.end);
        (!range.is_empty()).then_some(range)
    };
    a.iter().zip(b).map(both).collect()
}

/// The box `all` without the box `inner` inside it, as boxes.
pub(super) fn without(all: &[Range<usize>], inner: &[Range<usize>]) -> Vec<Ranges> {
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
