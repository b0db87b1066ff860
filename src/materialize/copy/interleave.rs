//! The channels of an image from planes to pixels, and from pixels to planes.
//!
//! Planes are 2 to 4 columns, each contiguous. A pixel is a row of as many elements.

use super::operands::{Plane, Slot};
use crate::engine::machine::{Vectorize, widest};

/// Copies a plane whose source has its columns side by side. Returns whether it has copied it.
pub(super) fn interleave<T: Copy>(plane: &mut Plane) -> bool {
    let (rows, columns) = (plane.rows(), plane.columns());
    let fits = plane.is_dense() && rows.strides[1] == 1;
    fits && match columns.size {
        2 => interleaved::<T, 2>(plane),
        3 => interleaved::<T, 3>(plane),
        4 => interleaved::<T, 4>(plane),
        _ => false,
    }
}

/// Copies a plane whose output has its rows side by side, and the source its columns, without gaps.
/// Returns whether it has copied it.
pub(super) fn separate<T: Copy>(plane: &mut Plane) -> bool {
    let (rows, columns) = (plane.rows(), plane.columns());
    let fits = rows.strides[1] == 1 && columns.strides == [1, rows.size as isize];
    fits && match rows.size {
        2 => separated::<T, 2>(plane),
        3 => separated::<T, 3>(plane),
        4 => separated::<T, 4>(plane),
        _ => false,
    }
}

fn interleaved<T: Copy, const K: usize>(plane: &mut Plane) -> bool {
    let (to, from) = plane.rows_and_source_columns::<T, K>();
    widest(Interleave(to, from));
    true
}

fn separated<T: Copy, const K: usize>(plane: &mut Plane) -> bool {
    let (to, from) = plane.rows_and_source::<T, K>();
    widest(Separate(to, from));
    true
}

struct Interleave<'p, T, const K: usize>(&'p mut [[Slot<T>; K]], [&'p [Slot<T>]; K]);

impl<T: Copy, const K: usize> Vectorize for Interleave<'_, T, K> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Interleave(to, from) = self;
        let from = from.map(|from| &from[..to.len()]);
        for (i, to) in to.iter_mut().enumerate() {
            for (k, to) in to.iter_mut().enumerate() {
                *to = from[k][i];
            }
        }
    }
}

struct Separate<'p, T, const K: usize>([&'p mut [Slot<T>]; K], &'p [[Slot<T>; K]]);

impl<T: Copy, const K: usize> Vectorize for Separate<'_, T, K> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Separate(to, from) = self;
        let to = to.map(|to| &mut to[..from.len()]);
        for (i, from) in from.iter().enumerate() {
            for (k, &from) in from.iter().enumerate() {
                to[k][i] = from;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Element, check, check_standard};

    /// From planes to pixels and from pixels to planes, dense and with gaps, of `n` pixels.
    fn channels<A: Element>(n: usize) {
        for channels in 1..=6 {
            let (c, len) = (channels as isize, n as isize);
            for plane in [len, len + 3] {
                check_standard::<A>(&[n, channels], &[1, plane]);
                check::<A>(&[n, channels], &[c + 1, 1], &[1, plane], 1);
                check::<A>(&[channels, n], &[plane, 1], &[1, c], 1);
            }
            check::<A>(&[channels, n], &[len, 1], &[1, c + 1], 1);
            check_standard::<A>(&[2, n, channels], &[c * len, 1, len]);
            check_standard::<A>(&[2, channels, n], &[c * len, 1, c]);
            // Rows of one element each.
            check::<A>(&[n, channels], &[c, 1], &[1, 0], 1);
            check::<A>(&[3, n, channels], &[c * len, c, 1], &[0, 1, 0], 1);
        }
    }

    #[test]
    fn channels_of_elements_of_every_size() {
        for n in [2, 3, 15, 16, 17, 31, 33, 64, 65, 129, 700] {
            channels::<u8>(n);
            channels::<u16>(n);
            channels::<(u8, u16)>(n);
            channels::<f32>(n);
            channels::<f64>(n);
        }
        for n in [3, 33] {
            channels::<[u8; 3]>(n);
            channels::<u128>(n);
            channels::<[u64; 3]>(n);
            channels::<()>(n);
        }
    }
}
