//! Reductions of few elements.

use super::super::block::{Along, Block};
use super::super::gather::MORE_ROWS;
use super::super::kernel::{
    FEW_TERMS, Facts, Kernel, LEAF, Leaves, OPERANDS, Rows, Runs, Stack, live_lanes,
};
use super::super::nest::LoopAxis;
use super::super::reduction::LANES;
use super::super::tuning::{CACHE_LINE, LARGE_ELEMENT};
use super::operands::{SUMMED, Target, alignment};
use super::scratch::Few;
use super::unit::fold_runs;
use std::ptr;

/// [`reduce`](super::reduce) of few elements, without nests and a plan: these take longer than the
/// elements do. `None`: nothing has been done, as there is no room or the elements do not lie side
/// by side.
///
/// # Safety
///
/// As for [`reduce`](super::reduce), whose checks have been made. There is an element.
#[inline(never)]
pub(super) unsafe fn reduce_few(
    kernel: &dyn Kernel,
    facts: &Facts<'_>,
    becomes: &[usize],
    target: &Target<'_>,
) -> Option<usize> {
    let (inputs, shape, acc) = (facts.inputs, facts.shape, facts.size);
    if alignment(facts) > CACHE_LINE {
        return None;
    }
    // The strides of the operands and of the target.
    let (mut kept, mut summed) = (LoopAxis::UNIT, LoopAxis::UNIT);
    for (axis, (&size, &to)) in shape.iter().zip(becomes).enumerate() {
        if size == 1 {
            continue;
        }
        let mut strides = [0; OPERANDS + 1];
        for (stride, input) in strides.iter_mut().zip(inputs) {
            *stride = (input.stride(axis, shape.len())).wrapping_mul(input.size as isize);
        }
        let outer = match to {
            SUMMED => &mut summed,
            to => {
                strides[OPERANDS] = target.strides[to].wrapping_mul(target.size as isize);
                &mut kept
            }
        };
        let inner = LoopAxis { size, strides };
        if outer.size > 1 && !outer.continues(&inner) {
            return None;
        }
        *outer = inner.resized(outer.size * size);
    }
    let ([down @ .., place], [along @ .., _]) = (kept.strides, summed.strides);
    let (columns, terms) = (kept.size, summed.size);
    let mut first = [ptr::null(); OPERANDS];
    let mut chunk = [0; OPERANDS];
    let (mut side_by_side, mut in_runs, mut adjacent) = (true, true, true);
    for (operand, input) in inputs.iter().enumerate() {
        let size = input.size as isize;
        (first[operand], chunk[operand]) = (input.first.cast_const(), size * LANES as isize);
        side_by_side &= columns == 1 || down[operand] == size;
        in_runs &= terms == 1 || along[operand] == size;
        adjacent &= along[operand] == size * columns as isize;
    }
    let size = inputs.iter().map(|input| input.size).max()?;
    let mut memory = Few::uninit();
    let stack = Stack {
        first: memory.as_mut_ptr().cast(),
        width: columns,
    };
    let room = size_of::<Few>();
    // In so small a call, to fold few terms takes less time than to gather them, whatever their
    // size.
    let few = terms <= FEW_TERMS && columns > 1;
    let mut sums = stack.first.cast_const();
    if in_runs
        && (few && !side_by_side || !kernel.is_short(terms, false))
        && acc < LARGE_ELEMENT
        && size < LARGE_ELEMENT
    {
        let leaves = terms.div_ceil(LEAF);
        if columns * acc * (leaves.ilog2() as usize + 1) > room {
            return None;
        }
        let (column, leaf) = (down, chunk.map(|bytes| bytes * (LEAF / LANES) as isize));
        let runs = Runs {
            first,
            columns,
            column,
            leaf,
            terms,
            number: 0,
        };
        // SAFETY: runs of the inputs; there is room for the sums of all levels.
        unsafe { fold_runs(kernel, &runs, stack, 0) };
        // SAFETY: they have been pushed.
        sums = unsafe { kernel.close(columns, stack, leaves) };
    } else {
        let bytes = columns * acc;
        let scratch = (1 + live_lanes(terms)) * bytes;
        let gather = inputs[0].packs.filter(|_| in_runs && inputs.len() == 1);
        let table = match (side_by_side, gather) {
            (true, _) => 0,
            (false, None) => return None,
            (false, Some(_)) => (terms + MORE_ROWS) * columns * size,
        };
        let begin = (bytes + scratch).next_multiple_of(CACHE_LINE);
        if begin + table > room || terms > LEAF {
            return None;
        }
        let mut steps = along;
        if let (false, Some(gather)) = (side_by_side, gather) {
            let (to, pitch) = (stack.first.wrapping_add(begin), columns * size);
            let block = Block {
                to,
                pitch,
                from: first[0],
                rows: Along {
                    len: terms,
                    step: along[0],
                },
                columns: Along {
                    len: columns,
                    step: down[0],
                },
            };
            // SAFETY: all elements of the input; there is room for them and for `MORE_ROWS`.
            unsafe { gather.pack(block) };
            (first[0], steps[0], adjacent) = (to, pitch as isize, true);
        }
        let rows = Rows {
            first,
            count: terms,
            step: steps,
            offsets: None,
            chunk,
            columns,
            adjacent,
            number: 0,
        };
        // SAFETY: rows of the inputs, or of the table; there is room for the sums, and behind them
        // for what a leaf needs.
        unsafe {
            kernel.fold(
                Leaves::Rows(&rows, stack.first.wrapping_add(bytes)),
                stack,
                0,
            )
        };
    }
    // SAFETY: the sums have been written; the places of the target: the contract of this function.
    unsafe { kernel.finish(sums, columns, terms, target.first, place) };
    Some(columns)
}
