//! Any region, with plain stores: which rows and planes are copied together.

use super::super::axes::{Axis, outwards, positions};
use super::operands::{Kernels, Region};
use super::rows;
use crate::engine::tuning::copies::{MANY_PLANES, SHORT_PERIOD, SMALL_PLANE};

/// Copies all positions of a region.
#[inline]
pub(super) fn fill(region: Region) {
    let axes = region.axes();
    let Kernels { size, copy, .. } = *region.kernels();
    // Two axes are a plane, whose rows are repeated by its kernel.
    if axes.len() < 3 {
        region.for_each_plane(copy);
    } else if let Some(place) = repeated_planes(axes, size) {
        region.for_each_inner(place, fill_repeated);
    } else if let Some(place) = small_planes(axes, size) {
        region.for_each_inner(place, fill_small_planes);
    } else {
        region.for_each_plane(copy);
    }
}

/// The outermost axis that replicates two axes or more, if what is inside it is dense in output and
/// short.
fn repeated_planes(axes: &[Axis], size: usize) -> Option<usize> {
    outwards(axes)
        .take_while(|&(_, axis, inside)| {
            axis.strides[0] == inside as isize && inside * size <= SHORT_PERIOD
        })
        .filter(|(place, axis, _)| axis.strides[1] == 0 && place + 3 <= axes.len())
        .map(|(place, ..)| place)
        .last()
}

/// [`fill`] for a region that is dense in output and whose outermost axis replicates what is inside
/// it: built once, then repeated. Eight axes of six, every other one replicated, take a thread 20
/// ps a byte by repetition, and 46 plane by plane.
pub(super) fn fill_repeated(mut region: Region) {
    let range = region.range();
    let Kernels { size, copy, .. } = *region.kernels();
    let period = positions(&region.axes()[1..]).min(range.len());
    if period == 1 {
        return region.for_each_plane(copy);
    }
    // The range may begin in the middle of a period: what follows any position is periodic, too.
    let first = region.part(range.start..range.start + period);
    first.for_each_inner(1, fill);
    rows::repeat(region.out(), period * size);
}

/// The longest axis around a plane that is small, if it is long enough.
fn small_planes(axes: &[Axis], size: usize) -> Option<usize> {
    outwards(axes)
        .take_while(|(_, _, inside)| inside * size <= SMALL_PLANE)
        .map(|(place, axis, _)| (place, axis.size))
        .reduce(|longest, outer| if outer.1 > longest.1 { outer } else { longest })
        .filter(|&(place, size)| size >= MANY_PLANES && place + 3 <= axes.len())
        .map(|(place, _)| place)
}

/// [`fill`] for a region whose outermost axis has many small planes inside: the first row of each,
/// then the second row of each, and so on.
fn fill_small_planes(mut region: Region) {
    let range = region.range();
    let Kernels { size, copy, .. } = *region.kernels();
    let len = positions(&region.axes()[1..]);
    let (first, end) = (range.start.div_ceil(len), range.end / len);
    if end < first + MANY_PLANES {
        return region.for_each_plane(copy);
    }
    region.part(range.start..first * len).for_each_plane(copy);
    let together = (SHORT_PERIOD / (len * size)).max(1);
    for plane in (first..end).step_by(together) {
        region.for_each_row_across(plane..end.min(plane + together), copy);
    }
    region.part(end * len..range.end).for_each_plane(copy);
}

#[cfg(test)]
mod tests {
    use super::super::tests::{
        Element, Wide, check, check_layouts, check_standard, permuted, replicated, sparse, standard,
    };

    #[test]
    fn every_layout_of_usual_elements() {
        check_layouts::<u8>(sparse(3));
        check_layouts::<f32>(1);
        check_layouts::<f64>(sparse(3));
    }

    #[test]
    fn every_layout_of_other_elements() {
        check_layouts::<u16>(sparse(7));
        check_layouts::<u128>(sparse(7));
        check_layouts::<[f32; 3]>(sparse(7));
        check_layouts::<(u8, u16)>(sparse(7));
        check_layouts::<[u8; 3]>(sparse(7));
        check_layouts::<[u64; 3]>(sparse(7));
    }

    #[test]
    fn elements_of_odd_sizes_and_of_none() {
        for (shape, kept) in [
            (&[300, 3][..], &[0][..]),
            (&[300, 3], &[1]),
            (&[30, 11, 4], &[0, 2]),
            (&[700], &[]),
        ] {
            let from = replicated(shape, kept);
            check::<[u8; 3]>(shape, &standard(shape), &from, 1);
            check::<[u64; 5]>(shape, &standard(shape), &from, 1);
            check::<[u8; 2000]>(shape, &standard(shape), &from, 1);
            check::<Wide>(shape, &standard(shape), &from, 1);
            check::<()>(shape, &standard(shape), &from, 1);
        }
        check::<Wide>(&[40, 30], &[30, 1], &[1, 40], 0);
        check::<[u8; 3]>(&[40, 30], &[30, 1], &[1, 40], 0);
        check::<[u64; 5]>(&[40, 30], &[30, 1], &[1, 40], 0);
    }

    /// Planes of every small size, on both sides of every threshold: `[N, 1, n] -> [N, k, n]`, `[N,
    /// k] -> [N, k, n]`, `[k, n] -> [N, k, n]` and the planes of a permuted source, within a larger
    /// nest whose outermost axis replicates it all and without.
    #[test]
    fn small_planes_of_every_size() {
        /// Every `step`-th shape.
        fn planes<A: Element>(step: usize, rows: &[usize]) {
            let mut shapes = 0;
            for n in [1, 2, 3, 4, 5, 8, 15, 16, 17, 33] {
                for &k in rows {
                    for planes in [3, 4, 5, 1 + 9000 / (n * k * size_of::<A>())] {
                        shapes += 1;
                        if shapes % step != 0 {
                            continue;
                        }
                        let shape = [planes, k, n];
                        let to = standard(&shape);
                        let shift = (n + k) % 5;
                        for kept in [&[0, 2][..], &[0, 1], &[1, 2], &[0], &[1]] {
                            check::<A>(&shape, &to, &replicated(&shape, kept), shift);
                        }
                        check::<A>(&shape, &to, &permuted(&shape, &[2, 0, 1]), shift);
                        check::<A>(&shape, &permuted(&shape, &[1, 0, 2]), &to, shift);
                        let shape = [2, planes, k, n];
                        for kept in [&[1, 3][..], &[1, 2], &[2, 3]] {
                            let from = replicated(&shape, kept);
                            check::<A>(&shape, &standard(&shape), &from, shift);
                        }
                    }
                }
            }
        }
        planes::<u8>(sparse(3), &[2, 7, 63, 64, 65, 130]);
        planes::<f32>(1, &[2, 3, 4, 8, 31, 32, 33, 65]);
        planes::<(u8, u16)>(sparse(3), &[2, 5]);
        planes::<f64>(sparse(3), &[2, 5, 32, 33]);
        planes::<[f32; 3]>(sparse(3), &[2, 5]);
        planes::<u128>(sparse(3), &[2, 16, 17]);
    }

    /// 8 KiB are 2048 elements of 4 bytes.
    #[test]
    fn planes_around_the_longest_repeated_one() {
        for (shape, from) in [
            (&[4, 3, 5][..], &[0, 5, 1][..]),
            (&[4, 3, 5], &[5, 0, 1]),
            (&[2, 4, 3, 5], &[15, 0, 5, 1]),
            (&[2, 4, 3, 5], &[0, 15, 5, 1]),
            (&[2, 2, 4, 3, 5], &[0, 15, 0, 5, 1]),
            (&[2, 2, 1024], &[0, 1024, 1]),
            (&[2, 3, 683], &[0, 683, 1]),
            (&[2, 2, 3, 683], &[0, 0, 683, 1]),
            (&[2, 3, 2, 2, 256], &[0, 512, 0, 256, 1]),
        ] {
            check_standard::<f32>(shape, from);
            // Output with a gap after the outermost axis, then after each row.
            let mut gap = standard(shape);
            gap[0] += 1;
            check::<f32>(shape, &gap, from, 1);
            let mut gap: Vec<isize> = gap.iter().map(|stride| stride * 2).collect();
            gap[shape.len() - 1] = 1;
            check::<f32>(shape, &gap, from, 1);
        }
    }
}
