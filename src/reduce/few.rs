//! Reductions of arrays of few elements, without loop nests and scratch memory on the heap.

use super::reduction::Reduction;
use super::tables::By;
use super::tree::{self, BLOCK_TERMS, GROUP, LANES, Monoid, Reading};
use crate::engine::tuning::{FEW_REDUCED, FEWER_REDUCED, FEWEST_REDUCED};
use ndarray::{ArrayRef, Dimension};

/// The most axes of an array that is reduced here.
const AXES: usize = 6;

/// The bytes of the largest elements. They are copied on the stack, which has little room.
const LARGEST: usize = 16;

/// The loops over the terms of all results: outside over the summed axes, inside over the kept
/// ones in the order of the result. Strides are those of an array in standard layout.
struct Walk {
    loops: usize,
    sizes: [usize; AXES],
    strides: [usize; AXES],
}

impl Walk {
    /// For an array of `shape`, and a result of shape `result` whose axes are `axes` of the array.
    #[inline(always)]
    fn new(shape: &[usize], result: &[usize], axes: &[usize]) -> Self {
        let mut strides = [1; AXES];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis] * shape[axis];
        }
        let mut walk = Walk {
            loops: 0,
            sizes: [1; AXES],
            strides: [0; AXES],
        };
        for (axis, &size) in shape.iter().enumerate() {
            let mut kept = axes.iter().zip(result);
            if !kept.any(|(&kept, &kept_size)| kept == axis && kept_size == size) {
                walk.push(size, strides[axis]);
            }
        }
        for (&axis, &size) in axes.iter().zip(result) {
            if let Some(&stride) = strides.get(axis) {
                walk.push(size, stride);
            }
        }
        walk
    }

    /// Adds an innermost loop. It is merged with the one around it if they make one.
    #[inline(always)]
    fn push(&mut self, size: usize, stride: usize) {
        if size == 1 {
            return;
        }
        match self.loops.checked_sub(1) {
            Some(last) if self.strides[last] == size * stride => {
                self.sizes[last] *= size;
                self.strides[last] = stride;
            }
            _ => {
                (self.sizes[self.loops], self.strides[self.loops]) = (size, stride);
                self.loops += 1;
            }
        }
    }

    /// Whether the loops are over all elements in their order.
    #[inline(always)]
    fn keeps_order(&self) -> bool {
        self.loops <= 1
    }

    /// The elements of an array in the order of the loops, in `memory`, which has room for them.
    #[inline(always)]
    fn terms_of<'m, A: Copy, D: Dimension, const MOST: usize>(
        &self,
        array: &ArrayRef<A, D>,
        memory: &'m mut [A; MOST],
    ) -> &'m mut [A] {
        let terms = &mut memory[..array.len()];
        match array.as_slice() {
            Some(elements) => self.copy(elements, terms),
            None => {
                let mut elements = [terms[0]; MOST];
                (elements.iter_mut().zip(array)).for_each(|(to, &from)| *to = from);
                self.copy(&elements[..array.len()], terms);
            }
        }
        terms
    }

    /// Copies the elements of an array in standard layout to `terms`, in the order of the loops.
    #[inline(always)]
    fn copy<A: Copy>(&self, elements: &[A], terms: &mut [A]) {
        let Some(outer) = self.loops.checked_sub(2) else {
            return terms.copy_from_slice(elements);
        };
        let [rows, columns] = [outer, outer + 1].map(|axis| (self.sizes[axis], self.strides[axis]));
        for (position, terms) in terms.chunks_mut(rows.0 * columns.0).enumerate() {
            let (mut offset, mut rest) = (0, position);
            for axis in (0..outer).rev() {
                offset += rest % self.sizes[axis] * self.strides[axis];
                rest /= self.sizes[axis];
            }
            for (row, terms) in terms.chunks_mut(columns.0).enumerate() {
                for (column, term) in terms.iter_mut().enumerate() {
                    *term = elements[offset + row * rows.1 + column * columns.1];
                }
            }
        }
    }
}

/// Whether an array is reduced here.
#[inline(always)]
pub(super) fn is_few<A, D: Dimension>(array: &ArrayRef<A, D>) -> bool {
    let small = const { size_of::<A>() <= LARGEST };
    let few =
        array.len() <= FEWER_REDUCED || array.len() <= FEW_REDUCED && array.is_standard_layout();
    small && few && !array.is_empty() && array.ndim() <= AXES
}

/// Calls `put` with the results of an array that [`is_few`], in row-major order.
///
/// The shape of the result is `result`. Its axes are `axes` of the array; where that is no axis, or
/// the sizes differ, the result has size 1.
pub(super) fn reduce<A, D, R>(
    array: &ArrayRef<A, D>,
    (result, axes): (&[usize], &[usize]),
    reduction: &R,
    put: impl FnOnce(&[A]),
) where
    A: Copy + Send + Sync,
    D: Dimension,
    R: Reduction<A, Acc = A, Out = A>,
{
    let Some(&first) = array.first() else {
        return;
    };
    let len = array.len();
    let walk = Walk::new(array.shape(), result, axes);
    let width = result.iter().product();
    let put = |sums: &mut [A]| {
        sums.iter_mut()
            .for_each(|sum| *sum = reduction.finish(*sum, len / width));
        put(sums);
    };
    let by = By::of(reduction);
    let (mut fewest, mut fewer);
    let terms = if len <= FEWEST_REDUCED {
        fewest = [first; FEWEST_REDUCED];
        walk.terms_of(array, &mut fewest)
    } else if len <= FEWER_REDUCED {
        fewer = [first; FEWER_REDUCED];
        walk.terms_of(array, &mut fewer)
    } else {
        let elements = array.as_slice().unwrap_or_default();
        return add_table(by, &walk, elements, width, put);
    };
    put(add_rows(by, terms, width));
}

// `add_rows` is for fewer rows than a group, `add_table` for one block at most.
const _: () = assert!(FEWER_REDUCED < GROUP && FEW_REDUCED <= BLOCK_TERMS);

/// The sums of rows of `width` terms, fewer than a group of them, which are overwritten.
#[inline(always)]
fn add_rows<A: Copy, M: Monoid<A>>(m: M, terms: &mut [A], width: usize) -> &mut [A] {
    let count = terms.len() / width;
    let (lanes, rest) = terms.split_at_mut(count.min(LANES) * width);
    for rows in rest.chunks(lanes.len()) {
        tree::add(m, lanes, rows);
    }
    tree::fold_lanes(m, lanes, width, count.min(LANES));
    &mut lanes[..width]
}

/// Calls `put` with the sums of `width` columns, whose terms are the elements of an array in
/// standard layout.
///
/// Not inlined, so that the stack is taken only by arrays that need it.
#[inline(never)]
fn add_table<A: Copy, M: Monoid<A>>(
    m: M,
    walk: &Walk,
    elements: &[A],
    width: usize,
    put: impl FnOnce(&mut [A]),
) {
    let mut lanes = [elements[0]; FEW_REDUCED];
    let mut copy;
    let terms = if walk.keeps_order() {
        elements
    } else {
        copy = [elements[0]; FEW_REDUCED];
        let terms = &mut copy[..elements.len()];
        walk.copy(elements, terms);
        terms
    };
    tree::add_table(m, terms, width, Reading::Eight, &mut lanes, &mut [], true);
    let live = (terms.len() / width).min(LANES);
    tree::fold_lanes(m, &mut lanes[..live * width], width, live);
    put(&mut lanes[..width]);
}
