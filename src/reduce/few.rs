//! Reductions of few elements, without loop nests and scratch memory on the heap: of up to 1024,
//! and of up to 16384 that lie in the order in which they are summed.

use super::reduction::Reduction;
use super::runs::sum_runs;
use super::tables::By;
use super::tree::{self, BLOCK_TERMS, GROUP, LANES, Monoid, Reading};
use crate::engine::machine::{Vectorize, widest};
use crate::engine::terms::Runs;
use crate::engine::threads::PARALLEL_FROM;
use crate::engine::tuning::{FEW_IN_ORDER, FEW_REDUCED, FEWER_REDUCED};
use ndarray::{ArrayRef, Dimension};
use smallvec::SmallVec;

/// The most axes of an array that is reduced here.
const AXES: usize = 6;

/// The bytes of the largest elements. They are copied on the stack, which has little room.
const LARGEST: usize = 16;

/// Elements on the stack. Places that are not used are not initialised.
type Few<A> = SmallVec<[A; FEW_REDUCED]>;

/// The loops over the terms of all results: outside over the summed axes, inside over the kept
/// ones in the order of the result.
struct Walk {
    loops: usize,
    sizes: [usize; AXES],
    strides: [usize; AXES],
}

impl Walk {
    const EMPTY: Self = Walk {
        loops: 0,
        sizes: [1; AXES],
        strides: [0; AXES],
    };

    /// Adds the loops for an array of this shape and these strides, and a result of shape `result`
    /// whose axes are `axes` of the array.
    ///
    /// The walk is filled in place. A function that returned it would copy it, which takes 4 ns:
    /// the wide loads of the copy wait for the narrow stores just before them.
    #[inline(always)]
    fn add(&mut self, shape: &[usize], strides: &[usize], (result, axes): (&[usize], &[usize])) {
        for (axis, &size) in shape.iter().enumerate() {
            let mut kept = axes.iter().zip(result);
            if !kept.any(|(&kept, &kept_size)| kept == axis && kept_size == size) {
                self.push(size, strides[axis]);
            }
        }
        for (&axis, &size) in axes.iter().zip(result) {
            if axis < shape.len() {
                self.push(size, strides[axis]);
            }
        }
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

    /// Whether the results are summed run by run: the `count` terms of each are side by side, in
    /// the order of the results. A single result of fewer than [`GROUP`] terms is not, as that is
    /// slower: 4 by 4 `f32` take 63 ns as a run, and 40 ns as rows.
    #[inline(always)]
    fn is_in_runs(&self, count: usize) -> bool {
        match self.loops {
            1 => self.sizes[0] == count && count >= GROUP,
            2 => self.sizes[0] == count && self.strides[..2] == [1, count],
            _ => false,
        }
    }

    /// Copies the elements of an array to `memory` in the order of the loops, if they lie in
    /// another order.
    #[inline(always)]
    fn put_in_order<A: Copy>(&self, elements: &[A], memory: &mut Few<A>) {
        // One loop or none is over all elements as they lie.
        let Some(outer) = self.loops.checked_sub(2) else {
            return;
        };
        memory.extend_from_slice(elements);
        let [rows, columns] = [outer, outer + 1].map(|axis| (self.sizes[axis], self.strides[axis]));
        for (position, terms) in memory.chunks_mut(rows.0 * columns.0).enumerate() {
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

/// The memory of an array that has no gaps and no axis backwards.
#[inline(always)]
fn memory_of<A, D: Dimension>(array: &ArrayRef<A, D>) -> Option<&[A]> {
    // ndarray negates negative strides, which overflows for `isize::MIN`. An axis of size 1 may have
    // that stride.
    match array.strides().iter().all(|&stride| stride >= 0) {
        true => array.as_slice_memory_order(),
        false => None,
    }
}

/// The strides of an array of up to [`AXES`] axes, none of which is negative.
#[inline(always)]
fn strides_of<A, D: Dimension>(array: &ArrayRef<A, D>) -> [usize; AXES] {
    let mut strides = [1; AXES];
    for (to, &stride) in strides.iter_mut().zip(array.strides()) {
        *to = stride as usize;
    }
    strides
}

/// The strides of an array in standard layout.
#[inline(always)]
fn standard_strides(shape: &[usize]) -> [usize; AXES] {
    let mut strides = [1; AXES];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    strides
}

/// Whether an array of this shape is reduced to `results` results here, whatever the order of its
/// axes. If nothing is summed, only up to [`FEWER_REDUCED`] elements are: to copy more is faster.
#[inline(always)]
pub(super) fn has_few<A>(shape: &[usize], results: usize) -> bool {
    let small = const { size_of::<A>() <= LARGEST };
    let len: usize = shape.iter().product();
    let few = len <= FEWER_REDUCED || len <= FEW_REDUCED && results < len;
    small && few && len > 0 && shape.len() <= AXES
}

/// Whether an array is reduced here to a result of shape `to.0`, whose axes are `to.1` of the
/// array.
#[inline(always)]
pub(super) fn is_few<A, D: Dimension>(array: &ArrayRef<A, D>, to: (&[usize], &[usize])) -> bool {
    // In a constant, so that nothing here is compiled for large elements.
    if const { size_of::<A>() > LARGEST } {
        return false;
    }
    let (len, shape) = (array.len(), array.shape());
    if len > FEW_REDUCED {
        return shape.len() <= AXES
            && len <= FEW_IN_ORDER
            && memory_of(array).is_some()
            && copies_few(shape, &strides_of(array), to);
    }
    let lies_well = || len <= FEWER_REDUCED || memory_of(array).is_some();
    has_few::<A>(shape, to.0.iter().product()) && lies_well()
}

/// The elements of an array in memory, if accumulators of type `A`, one of each, are made and
/// reduced here to `results` results.
///
/// Elements with gaps are mapped to an array of accumulators first: the map has vector instructions
/// for them, and for broadcast rows (sums in `f64` of 32 x 32 `f32` with gaps take 1000 ns, and
/// 1500 ns if an iterator gathers them; an AMD EPYC).
#[inline(always)]
pub(super) fn few_to_lift<A, T, D: Dimension>(
    array: &ArrayRef<T, D>,
    results: usize,
) -> Option<&[T]> {
    match has_few::<A>(array.shape(), results) {
        true => memory_of(array),
        false => None,
    }
}

/// [`is_few`] of an array in standard layout.
pub(super) fn is_few_in_standard_layout<A>(shape: &[usize], to: (&[usize], &[usize])) -> bool {
    if const { size_of::<A>() > LARGEST } || shape.len() > AXES {
        return false;
    }
    match shape.iter().product() {
        0..=FEW_REDUCED => has_few::<A>(shape, to.0.iter().product()),
        len => len <= FEW_IN_ORDER && copies_few(shape, &standard_strides(shape), to),
    }
}

/// Whether an array of more than [`FEW_REDUCED`] elements, which has no gaps, is reduced here: each
/// result is of one block, and so few elements are copied that there is room for them.
#[inline(never)]
fn copies_few(shape: &[usize], strides: &[usize; AXES], to: (&[usize], &[usize])) -> bool {
    let mut walk = Walk::EMPTY;
    walk.add(shape, strides, to);
    let len: usize = shape.iter().product();
    let width: usize = to.0.iter().product();
    let count = len / width;
    let copied = match walk.is_in_runs(count) {
        true => width,
        false if walk.loops < 2 => width * count.min(LANES),
        false => len,
    };
    (2..=BLOCK_TERMS).contains(&count) && copied <= FEW_REDUCED
}

/// Reduces an array that [`is_few`] by a commutative reduction. Calls `put` with the accumulators
/// of the results, in row-major order, and the number of terms of each.
///
/// The shape of the result is `to.0`. Its axes are `to.1` of the array; where that is no axis, or
/// the sizes differ, the result has size 1. If the terms are `numbered`, each first passes through
/// [`Reduction::at_index`].
pub(super) fn reduce<T, D, R>(
    array: &ArrayRef<R::Acc, D>,
    to: (&[usize], &[usize]),
    reduction: &R,
    numbered: bool,
    put: impl FnOnce(&[R::Acc], usize),
) where
    D: Dimension,
    R: Reduction<T>,
{
    let shape = array.shape();
    let mut gathered: Few<R::Acc> = Few::new();
    let (elements, strides) = match memory_of(array) {
        Some(elements) => (elements, strides_of(array)),
        None => {
            gathered.extend(array.iter().copied());
            (&gathered[..], standard_strides(shape))
        }
    };
    let mut walk = Walk::EMPTY;
    walk.add(shape, &strides, to);
    reduce_walk(&walk, elements, to, reduction, numbered, put);
}

/// [`reduce`] of numbered accumulators of the elements of an array, which are [`few_to_lift`].
pub(super) fn reduce_lifted<T, D, R>(
    array: &ArrayRef<T, D>,
    elements: &[T],
    to: (&[usize], &[usize]),
    reduction: &R,
    put: impl FnOnce(&[R::Acc], usize),
) where
    T: Copy,
    D: Dimension,
    R: Reduction<T>,
{
    // Filled in place: `collect` would copy all of its 4 to 16 KiB.
    let mut lifted: Few<R::Acc> = Few::new();
    lifted.extend(elements.iter().map(|&element| reduction.lift(element)));
    let mut walk = Walk::EMPTY;
    walk.add(array.shape(), &strides_of(array), to);
    reduce_numbered(&walk, &lifted, to, reduction, put);
}

/// [`reduce_walk`] of numbered terms. Not inlined, so that its memory and that of the lifted terms
/// are not in one frame: positions in 1 x 1 and 4 x 4 `f32` take 64 and 103 ns, and 100 and 137 ns
/// in one frame (an AMD EPYC).
#[inline(never)]
fn reduce_numbered<T, R: Reduction<T>>(
    walk: &Walk,
    elements: &[R::Acc],
    to: (&[usize], &[usize]),
    reduction: &R,
    put: impl FnOnce(&[R::Acc], usize),
) {
    reduce_walk(walk, elements, to, reduction, true, put);
}

/// [`reduce`] of elements that lie as the strides of `walk` say.
#[inline(always)]
fn reduce_walk<T, R: Reduction<T>>(
    walk: &Walk,
    elements: &[R::Acc],
    to: (&[usize], &[usize]),
    reduction: &R,
    numbered: bool,
    put: impl FnOnce(&[R::Acc], usize),
) {
    let by = By::of(reduction);
    let width: usize = to.0.iter().product();
    let count = elements.len() / width;
    let runs = walk.is_in_runs(count);
    let mut copy: Few<R::Acc> = Few::new();
    if !runs {
        walk.put_in_order(elements, &mut copy);
    }
    if numbered {
        if copy.is_empty() {
            copy.extend_from_slice(elements);
        }
        let rows = copy.chunks_mut(if runs { count } else { width });
        for (row, accs) in rows.enumerate() {
            for (column, acc) in accs.iter_mut().enumerate() {
                *acc = reduction.at_index(*acc, if runs { column } else { row });
            }
        }
    }
    let terms = match copy.is_empty() {
        true => elements,
        false => &copy,
    };
    if runs {
        let mut sums: Few<R::Acc> = Few::new();
        sums.resize(width, terms[0]);
        sum_runs(by, Runs::cut(terms, count, false), &mut sums);
        return put(&sums, count);
    }
    let live = count.min(LANES);
    let (first, rest) = terms.split_at(live * width);
    let mut lanes: Few<R::Acc> = Few::from_slice(first);
    if count < GROUP {
        for rows in rest.chunks(first.len()) {
            tree::add(by, &mut lanes, rows);
        }
    } else {
        widest(AddBlock {
            by,
            terms,
            width,
            lanes: &mut lanes,
        });
    }
    tree::fold_lanes(by, &mut lanes, width, live);
    put(&lanes[..width], count);
}

/// Adds rows of terms to the lanes of a block.
struct AddBlock<'s, A, M> {
    by: M,
    terms: &'s [A],
    width: usize,
    lanes: &'s mut [A],
}

impl<A: Copy, M: Monoid<A>> Vectorize for AddBlock<'_, A, M> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (terms, width, lanes) = (self.terms, self.width, self.lanes);
        tree::add_table(self.by, terms, width, Reading::Eight, lanes, &mut [], true);
    }
}

// Several threads would not help.
const _: () = assert!(FEW_IN_ORDER * LARGEST <= PARALLEL_FROM);

// `tree::add_table` sums one block.
const _: () = assert!(FEW_REDUCED <= BLOCK_TERMS);
