//! Boxes of an array.

use ndarray::{ArrayD, ArrayViewD, Slice};
use std::ops::Range;

/// A box of an array: a range for each axis.
pub(super) type Ranges = Box<[Range<usize>]>;

/// The box that two boxes have in common, if it has elements.
pub(super) fn common(a: &[Range<usize>], b: &[Range<usize>]) -> Option<Ranges> {
    let both = |(a, b): (&Range<usize>, &Range<usize>)| {
        let range = a.start.max(b.start)..a.end.min(b.end);
        (!range.is_empty()).then_some(range)
    };
    a.iter().zip(b).map(both).collect()
}

/// The boxes that are left of a box without a box that is inside it.
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

/// The elements of a box, of an array whose first element is at the beginning of `of`.
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
