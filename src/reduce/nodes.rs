//! Sums of blocks, which are combined with their neighbours. Also the sum of a block of large
//! elements, which is computed one addition at a time.

use super::tree::{FAN_IN, GROUP, LANES, Monoid};
use crate::engine::tuning::LARGE_ELEMENT;

/// Whether terms are so large that kernels must not keep 16 of them on the stack.
#[inline(always)]
pub(super) const fn is_large<A>() -> bool {
    size_of::<A>() >= LARGE_ELEMENT
}

/// `terms[to] = terms[to] + terms[from]`. Never inlined, so that large elements of all calls are at
/// one place of the stack.
#[inline(never)]
pub(super) fn add_one<A: Copy, M: Monoid<A>>(m: M, terms: &mut [A], to: usize, from: usize) {
    terms[to] = m.combine(terms[to], terms[from]);
}

/// Sums a block of one column in place. Afterwards the sum is in `terms[0]`.
///
/// For large elements. Only the elements that `combine` takes and returns are on the stack.
pub(super) fn block_of_large<A: Copy, M: Monoid<A>>(m: M, terms: &mut [A]) {
    let (len, lanes) = (terms.len(), terms.len().min(LANES));
    let in_groups = len / GROUP * GROUP;
    let mut add = |to: usize, from: usize| add_one(m, terms, to, from);
    for group in (0..in_groups).step_by(GROUP) {
        for lane in 0..LANES {
            for half in [1, 2, 4] {
                for k in (0..FAN_IN).step_by(2 * half) {
                    let to = group + lane + k * LANES;
                    add(to, to + half * LANES);
                }
            }
            if group > 0 {
                add(lane, group + lane);
            }
        }
    }
    for i in in_groups.max(lanes)..len {
        add(i % LANES, i);
    }
    let mut live = lanes;
    for half in [8, 4, 2, 1] {
        if live > half {
            (0..live - half).for_each(|i| add(i, i + half));
            live = half;
        }
    }
}

/// Sums rows of partial sums, neighbours first; the result is in row 0. Each row is the sum of 2^k
/// blocks, with one k for all rows; the last row may be the sum of fewer.
#[inline(always)]
pub(super) fn fold_neighbours<A: Copy, M: Monoid<A>>(m: M, rows: &mut [A], width: usize) {
    let mut count = rows.len() / width;
    while count > 1 {
        for i in 0..count / 2 * width {
            let left = i / width * 2 * width + i % width;
            rows[i] = m.combine(rows[left], rows[left + width]);
        }
        if count % 2 == 1 {
            rows.copy_within((count - 1) * width..count * width, count / 2 * width);
        }
        count = count.div_ceil(2);
    }
}

/// Adds the sums of the block number `index` of `width` columns, counted from 0. Row `k` of `stack`
/// holds the sums of `2^k` blocks until their neighbours are there.
#[inline(always)]
pub(super) fn push_block<A: Copy, M: Monoid<A>>(
    m: M,
    stack: &mut [A],
    width: usize,
    index: usize,
    sum: &mut [A],
) {
    let mut level = 0;
    while index >> level & 1 == 1 {
        let waiting = &stack[level * width..][..width];
        for (sum, &waiting) in sum.iter_mut().zip(waiting) {
            *sum = m.combine(waiting, *sum);
        }
        level += 1;
    }
    stack[level * width..][..width].copy_from_slice(sum);
}

/// The sums of all `count` blocks that have been pushed.
#[inline(always)]
pub(super) fn fold_blocks<A: Copy, M: Monoid<A>>(
    m: M,
    stack: &[A],
    width: usize,
    count: usize,
    sum: &mut [A],
) {
    let lowest = count.trailing_zeros() as usize;
    sum.copy_from_slice(&stack[lowest * width..][..width]);
    for level in lowest + 1..usize::BITS as usize {
        if count >> level & 1 == 1 {
            let waiting = &stack[level * width..][..width];
            for (sum, &waiting) in sum.iter_mut().zip(waiting) {
                *sum = m.combine(waiting, *sum);
            }
        }
    }
}

/// The same, never inlined: elements may be large, and those of one step are not on the stack of the
/// next.
pub(super) mod out_of_line {
    use super::Monoid;

    /// [`super::push_block`].
    #[inline(never)]
    pub(in super::super) fn push_block<A: Copy, M: Monoid<A>>(
        by: M,
        stack: &mut [A],
        index: usize,
        sum: &mut [A],
    ) {
        super::push_block(by, stack, sum.len(), index, sum);
    }

    /// [`super::fold_blocks`].
    #[inline(never)]
    pub(in super::super) fn fold_blocks<A: Copy, M: Monoid<A>>(
        by: M,
        stack: &[A],
        count: usize,
        sum: &mut [A],
    ) {
        super::fold_blocks(by, stack, sum.len(), count, sum);
    }

    /// [`super::fold_neighbours`].
    #[inline(never)]
    pub(in super::super) fn fold_neighbours<A: Copy, M: Monoid<A>>(
        by: M,
        rows: &mut [A],
        width: usize,
    ) {
        super::fold_neighbours(by, rows, width);
    }
}
