//! Reductions of so few bytes that one thread reads them.

use super::super::block::{Along, Block};
use super::super::gather::MORE_ROWS;
use super::super::kernel::{
    FEW_TERMS, Facts, Finish, Kernel, LANES, LEAF, Leaves, OPERANDS, Rows, Runs, Stack, live_lanes,
    moved, stack_levels,
};
use super::super::nest::LoopAxis;
use super::super::pack::Operand;
use super::super::tuning::{BLOCK, CACHE_LINE, LARGE_ELEMENT, PAGE};
use super::operands::SUMMED;
use super::scratch::Few;
use std::ptr;

/// Columns that are worth a call of the kernel. If an array has more than fit into the scratch
/// memory, it is not cut into narrower pieces.
const WIDE: usize = 4 * LANES;

/// If the axes that are kept are two loops, the kernel is called for each turn of the outer loop.
/// So many terms are worth a call. Fewer are left to the plan, which gathers those of many turns:
/// `[300, 7, 3]` over axis 1 takes 304 000 instructions by calls for 21 terms each, and 216 000 by
/// the plan.
const TERMS_OF_PLANE: usize = 4 * LANES;

/// [`reduce`](super::reduce) of few elements, without nests and a plan: these take longer than few
/// elements do. The sum of 64 by 64 takes 280 ns, and 480 with them (an Intel Xeon). `None`:
/// nothing has been done, as there is no room, the elements do not lie side by side, the axes are
/// too many loops, or not all terms are asked for.
///
/// # Safety
///
/// As for [`reduce`](super::reduce), whose checks have been made, with `count` terms, which are one
/// slab or whole slabs. There is an element.
#[inline(never)]
pub(super) unsafe fn reduce_few(
    kernel: &dyn Kernel,
    facts: &Facts<'_>,
    becomes: &[usize],
    target: &Operand<'_>,
    finish: &dyn Finish,
    count: usize,
    slab: usize,
) -> Option<usize> {
    let (inputs, shape, acc) = (facts.inputs, facts.shape, facts.size);
    if facts.align > CACHE_LINE || acc > size_of::<Few>() {
        return None;
    }
    // The strides of the operands and of the target. Axes that are kept are one loop, or two.
    let [mut outer, mut kept, mut summed] = [LoopAxis::UNIT; 3];
    for (axis, (&size, &to)) in shape.iter().zip(becomes).enumerate() {
        if size == 1 {
            continue;
        }
        let mut strides = [0; OPERANDS + 1];
        for (stride, input) in strides.iter_mut().zip(inputs) {
            *stride = (input.stride(axis, shape.len())).wrapping_mul(input.size as isize);
        }
        let all = match to {
            SUMMED => &mut summed,
            to => {
                strides[OPERANDS] = target.strides[to].wrapping_mul(target.size as isize);
                &mut kept
            }
        };
        let inner = LoopAxis { size, strides };
        if all.size == 1 || all.continues(&inner) {
            *all = inner.resized(all.size * size);
        } else if to != SUMMED && outer.size == 1 {
            (outer, kept) = (kept, inner);
        } else {
            return None;
        }
    }
    // The nearer axis is the inner one.
    if outer.strides[0].unsigned_abs() < kept.strides[0].unsigned_abs() && outer.size > 1 {
        (outer, kept) = (kept, outer);
        if outer.continues(&kept) {
            (outer, kept) = (LoopAxis::UNIT, kept.resized(kept.size * outer.size));
        }
    }
    // Places that are some eighths of a page apart share few sets of a cache: to write one after
    // the other is slow. The plan writes such results in the order of the target.
    let [down, along] = [&outer, &kept].map(|axis| axis.strides[OPERANDS]);
    let crosses = outer.size > 1 && down.abs() < along.abs() && along % (PAGE / 8) as isize == 0;
    if summed.size != count || crosses && outer.size * kept.size * target.size > BLOCK {
        return None;
    }
    // The slabs of one column are columns, whose sums are joined.
    let in_slabs = slab < count;
    if in_slabs {
        if kept.size > 1 || facts.is_numbered {
            return None;
        }
        let slabs = LoopAxis {
            size: count / slab,
            strides: summed.moved([0; OPERANDS + 1], slab),
        };
        (kept, summed) = (slabs, summed.resized(slab));
    }
    let ([down @ .., place], [along @ .., _]) = (kept.strides, summed.strides);
    let (columns, terms) = (kept.size, summed.size);
    let mut places = [ptr::null(); OPERANDS];
    let mut chunk = [0; OPERANDS];
    let (mut side_by_side, mut in_runs, mut adjacent) = (true, true, true);
    for (operand, input) in inputs.iter().enumerate() {
        let size = input.size as isize;
        (places[operand], chunk[operand]) = (input.first.cast_const(), size * LANES as isize);
        side_by_side &= columns == 1 || down[operand] == size;
        in_runs &= terms == 1 || along[operand] == size;
        adjacent &= along[operand] == size * columns as isize;
    }
    let size = facts.element;
    let leaves = terms.div_ceil(LEAF);
    // To fold few terms of few columns takes less time than to gather them, whatever their size.
    let few = (2..=LANES).contains(&columns) && terms <= FEW_TERMS && !side_by_side;
    let as_runs = in_runs
        && (few || columns == 1 || !kernel.gathers_runs(terms, columns, true))
        && acc.max(size) < LARGE_ELEMENT;
    let gather = inputs[0].packs.filter(|_| in_runs && inputs.len() == 1);
    // Adjacent rows of numbers are folded as one row.
    let wide = as_runs || columns >= WIDE || adjacent && acc <= size_of::<u64>();
    if outer.size > 1 && !(wide && columns * terms >= TERMS_OF_PLANE) {
        return None;
    }
    // The accumulators of a column: its stack, and what a leaf needs.
    let levels = stack_levels(leaves);
    let lanes = 1 + live_lanes(terms.min(LEAF));
    let (own, table) = match gather {
        _ if as_runs => (levels * acc, 0),
        _ if columns == 1 && terms >= LANES => return None,
        _ if side_by_side => ((levels + lanes) * acc, 0),
        Some(_) => ((levels + lanes) * acc, (terms.min(LEAF) + MORE_ROWS) * size),
        None => return None,
    };
    let mut memory = Few::uninit();
    // The table begins at a line of its own.
    let (room, column) = (size_of::<Few>() - CACHE_LINE, own + table);
    // A division takes as long as it takes to fold some columns.
    let width = match columns.saturating_mul(column) <= room {
        true => columns,
        false => room / column / LANES * LANES,
    };
    let least = if in_slabs { columns } else { WIDE.min(columns) };
    if width < least {
        return None;
    }
    let stack = Stack {
        first: memory.as_mut_ptr().cast(),
        width,
    };
    let mut done = 0;
    for at in 0..outer.size {
        let mut next = 0;
        while next < columns {
            let [from @ .., to] = kept.moved(outer.moved([0; OPERANDS + 1], at), next);
            let first = moved(places, inputs.len(), &from, 1);
            let mut columns = width.min(columns - next);
            next += width;
            if as_runs {
                let runs = Runs {
                    first,
                    columns,
                    column: down,
                    leaf: chunk.map(|bytes| bytes * (LEAF / LANES) as isize),
                    terms,
                    number: 0,
                };
                // SAFETY: runs of the inputs; there is room for the sums of all levels.
                unsafe { kernel.fold(Leaves::Runs(&runs), stack, 0) };
            }
            // Runs are folded by now.
            let leaves_of_rows = if as_runs { 0 } else { leaves };
            for leaf in 0..leaves_of_rows {
                let number = leaf * LEAF;
                let mut rows = Rows {
                    first: moved(first, inputs.len(), &along, number),
                    count: LEAF.min(terms - number),
                    step: along,
                    offsets: None,
                    chunk,
                    columns,
                    adjacent: adjacent && columns == kept.size,
                    number,
                };
                if let (false, Some(gather)) = (side_by_side, gather) {
                    let begin = (width * own).next_multiple_of(CACHE_LINE);
                    let block = Block {
                        to: stack.first.wrapping_add(begin),
                        pitch: columns * size,
                        from: rows.first[0],
                        rows: Along::of(&summed.resized(rows.count), 0),
                        columns: Along::of(&kept.resized(columns), 0),
                    };
                    // SAFETY: elements of the input; there is room for them and for `MORE_ROWS`.
                    unsafe { gather.pack(block) };
                    (rows.first[0], rows.step[0]) = (block.to, block.pitch as isize);
                    rows.adjacent = true;
                }
                let scratch = stack.first.wrapping_add(width * levels * acc);
                // SAFETY: rows of the inputs, or of the table; there is room for the stack, and
                // behind it for what a leaf needs.
                unsafe { kernel.fold(Leaves::Rows(&rows, scratch), stack, leaf) };
            }
            // SAFETY: the sums of all leaves have been pushed.
            let mut sums = unsafe { kernel.close(columns, stack, leaves) };
            if in_slabs {
                // SAFETY: the sums of all slabs.
                sums = unsafe { kernel.join(sums, 1, columns, slab) };
                columns = 1;
            }
            let to = target.first.wrapping_byte_offset(to);
            // SAFETY: the sums have been written; the places of the target: the contract of this
            // function.
            unsafe { finish.finish(sums, 1, columns, to, place) };
            done += columns;
        }
    }
    Some(done)
}
