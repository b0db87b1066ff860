//! Reductions of arrays of few elements, without loop nests and scratch memory on the heap.

use super::reduction::Reduction;
use super::tables::By;
use super::tree::{GROUP, LANES, Monoid};
use crate::engine::tuning::FEW_REDUCED;
use ndarray::{ArrayRef, Dimension};

/// The most axes of an array that is reduced here.
const AXES: usize = 6;

/// The bytes of the largest elements. They are copied on the stack, which has little room.
const LARGEST: usize = 16;

/// Axes that are walked, in an array in standard layout.
struct Walk {
    axes: usize,
    sizes: [usize; AXES],
    strides: [usize; AXES],
}

impl Walk {
    const NONE: Self = Walk {
        axes: 0,
        sizes: [1; AXES],
        strides: [0; AXES],
    };

    fn set(&mut self, axis: usize, size: usize, stride: usize) {
        (self.sizes[axis], self.strides[axis]) = (size, stride);
        self.axes = self.axes.max(axis + 1);
    }

    /// Calls `f` with the offset of each position, in row-major order.
    #[inline(always)]
    fn for_each(&self, mut f: impl FnMut(usize)) {
        let mut index = [0; AXES];
        let mut offset = 0;
        loop {
            f(offset);
            let mut axis = self.axes;
            loop {
                if axis == 0 {
                    return;
                }
                axis -= 1;
                index[axis] += 1;
                offset += self.strides[axis];
                if index[axis] < self.sizes[axis] {
                    break;
                }
                offset -= self.sizes[axis] * self.strides[axis];
                index[axis] = 0;
            }
        }
    }
}

/// Whether an array is reduced here, to a result of `rank` axes.
#[inline(always)]
pub(super) fn is_few<A, D: Dimension>(array: &ArrayRef<A, D>, rank: usize) -> bool {
    let small = const { size_of::<A>() <= LARGEST };
    small && (1..=FEW_REDUCED).contains(&array.len()) && array.ndim().max(rank) <= AXES
}

/// Calls `put` with each result of an array that [`is_few`], in row-major order.
///
/// For each axis of `array`, `axes` names the axis of the result that it becomes; `None` is an axis
/// to reduce.
pub(super) fn reduce<A, D, R>(
    array: &ArrayRef<A, D>,
    axes: impl Iterator<Item = Option<usize>>,
    reduction: &R,
    mut put: impl FnMut(A),
) where
    A: Copy + Send + Sync,
    D: Dimension,
    R: Reduction<A, Acc = A, Out = A>,
{
    let Some(&first) = array.first() else {
        return;
    };
    let mut elements = [first; FEW_REDUCED];
    match array.as_slice() {
        Some(slice) => elements[..slice.len()].copy_from_slice(slice),
        None => (elements.iter_mut().zip(array)).for_each(|(to, &from)| *to = from),
    }
    let shape = array.shape();
    let mut strides = [1; AXES];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    let (mut kept, mut summed) = (Walk::NONE, Walk::NONE);
    for ((becomes, &size), stride) in axes.zip(shape).zip(strides) {
        match becomes {
            Some(axis) => kept.set(axis, size, stride),
            None => summed.set(summed.axes, size, stride),
        }
    }
    // Where the terms of the first result are.
    let (mut terms, mut count) = ([0; FEW_REDUCED], 0);
    summed.for_each(|offset| {
        terms[count] = offset as u8;
        count += 1;
    });
    let (by, terms, mut values) = (By::of(reduction), &terms[..count], [first; FEW_REDUCED]);
    kept.for_each(|first| {
        for (value, &term) in values.iter_mut().zip(terms) {
            *value = elements[first + usize::from(term)];
        }
        put(reduction.finish(sum(by, &mut values[..count]), count));
    });
}

// `sum` is for fewer terms than a group, and places are `u8`.
const _: () = assert!(FEW_REDUCED < GROUP && FEW_REDUCED <= 1 << u8::BITS);

/// The sum of fewer terms than a group, by the tree.
#[inline(always)]
fn sum<A: Copy, M: Monoid<A>>(m: M, terms: &mut [A]) -> A {
    for i in LANES..terms.len() {
        terms[i % LANES] = m.combine(terms[i % LANES], terms[i]);
    }
    let mut live = terms.len().min(LANES);
    for half in [8, 4, 2, 1] {
        for i in half..live {
            terms[i - half] = m.combine(terms[i - half], terms[i]);
        }
        live = live.min(half);
    }
    terms[0]
}
