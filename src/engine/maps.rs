//! The driver of maps: it walks over the output and its inputs, and knows neither elements nor
//! closures.
//!
//! The walk is in the order of the output's memory. What the closure's loops cannot read in this
//! order is packed, a part at a time: see `pack`.

use super::block::{Along, Block, StackBlock};
use super::chunks::Chunks;
use super::nest::{LoopAxis, LoopNest, Tile, positions};
use super::pack::{Operand, Packing};
use super::threads::Cost;
use super::tuning::{
    BLOCK, CACHE_LINE, FEW_MAPPED, HUGE_PAGE, HUGE_PAGES_FROM, LONG_ROW, SQUARE, WIDE_MAPPED_FROM,
    map_chunk,
};
use crate::error::{ArrayRole, Result, wrong_shape};
use crate::partial::PartialShape;
use crate::shape::replicates;
use std::array;
use std::ops::Range;
use std::ptr;

/// Where position 0 of each operand lies.
pub(crate) type Places<const N: usize> = [*mut u8; N];

/// The inner loop of a map. Operand 0 is the output; strides are in bytes.
///
/// # Safety
///
/// `run` calls a closure once for each position of the tile, row by row, and along each row from
/// its first element to its last. It returns how often.
pub(crate) unsafe trait Kernel<const N: usize>: Sync {
    /// # Safety
    ///
    /// From `first` on, the offsets of the tile are elements of the operands, or, of operands that
    /// may be packed, copies. Nothing else reaches those of outputs meanwhile, and no other tile of
    /// the map has them.
    unsafe fn run(&self, first: &Places<N>, tile: &Tile<N>, wide: bool) -> usize;
}

/// Where the results of a map go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum To {
    /// Memory that was written before.
    Existing,
    /// Memory that may not be there yet: each huge page of it is first written by the thread that
    /// fills it.
    Fresh,
    /// Chunks of so many elements, each written in the order of memory.
    Ordered { chunk: usize },
}

/// Maps with up to three inputs.
///
/// # Errors
///
/// `WrongShape` if an input does not replicate to the output's shape, aligned from the right, by
/// its axes of size 1; `AllocationFailed`. The closure has not been called then.
///
/// # Safety
///
/// The operands are arrays of the kernel's types. Nothing else reaches the elements of outputs.
pub(crate) unsafe fn map_of_4(
    output: Operand<'_>,
    inputs: &[Operand<'_>],
    kernel: &dyn Kernel<4>,
    to: To,
) -> Result<usize> {
    // SAFETY: the contract of this function.
    unsafe { map(output, inputs, kernel, to) }
}

/// Maps with up to seven inputs, which may be second outputs.
///
/// # Errors
///
/// As for [`map_of_4`].
///
/// # Safety
///
/// As for [`map_of_4`].
pub(crate) unsafe fn map_of_8(
    output: Operand<'_>,
    inputs: &[Operand<'_>],
    kernel: &dyn Kernel<8>,
    to: To,
) -> Result<usize> {
    // SAFETY: the contract of this function.
    unsafe { map(output, inputs, kernel, to) }
}

/// Calls the kernel with tiles that together are all positions, each of which is in one tile.
/// Returns how many there are.
///
/// # Errors
///
/// As for [`map_of_4`].
///
/// # Safety
///
/// As for [`map_of_4`].
unsafe fn map<const N: usize>(
    output: Operand<'_>,
    inputs: &[Operand<'_>],
    kernel: &dyn Kernel<N>,
    to: To,
) -> Result<usize> {
    let shape = output.shape;
    for input in inputs {
        if !replicates(input.shape, shape) {
            let expected = PartialShape::known(input.shape);
            return Err(wrong_shape(ArrayRole::Out, expected, shape));
        }
    }
    // Found one by one, so that loops over operands are unrolled and strides stay in registers.
    let operand = |at: usize| match at {
        0 => Some(&output),
        at => inputs.get(at - 1),
    };
    let axes = shape.iter().enumerate().map(|(axis, &size)| {
        let stride = |one: &Operand<'_>| {
            one.stride(axis, shape.len())
                .wrapping_mul(one.size as isize)
        };
        LoopAxis {
            size,
            strides: array::from_fn(|at| operand(at).map_or(0, stride)),
        }
    });
    let first = array::from_fn(|at| operand(at).map_or(ptr::null_mut(), |one| one.first));
    let ordered = matches!(to, To::Ordered { .. });
    // Few elements, or long rows that need no packing, at most a chunk.
    if !ordered {
        if let Some(tile) = Tile::of(axes.clone()) {
            let len = tile.rows.size.saturating_mul(tile.columns.size);
            let bytes = len.saturating_mul(output.size);
            if bytes <= BLOCK && (len <= FEW_MAPPED || is_plain(&tile, &output, inputs)) {
                // SAFETY: the contract of this function. The tile is all positions of the output,
                // to which the inputs replicate, as checked.
                return Ok(unsafe { kernel.run(&first, &tile, bytes >= WIDE_MAPPED_FROM) });
            }
        }
    }
    let mut operands = [output; N];
    operands[1..=inputs.len()].copy_from_slice(inputs);
    let operands = &operands[..=inputs.len()];
    let mut nest = LoopNest::empty();
    nest.fill(axes)?;
    nest.sort();
    let bytes = nest.len().saturating_mul(output.size);
    let contiguous = nest.inner().strides[0] == output.size as isize;
    let packs = !ordered
        && contiguous
        && nest.len() > FEW_MAPPED
        && operands.iter().any(|operand| operand.packs.is_some());
    if packs {
        cross(&mut nest);
    }
    let place = first[0].wrapping_offset(nest.start()[0]).addr();
    let chunks = match to {
        // Chunks are counted in elements from the first one on.
        To::Ordered { chunk } => Chunks::new(nest.len(), 1, 0, chunk),
        To::Fresh if bytes >= HUGE_PAGES_FROM => {
            Chunks::new(nest.len(), output.size, place, HUGE_PAGE)
        }
        // The first chunk begins at the cache line of the first element. So it is about as long as
        // the others: its time tells how long all of them take.
        _ => Chunks::new(
            nest.len(),
            output.size,
            place % CACHE_LINE,
            map_chunk(bytes),
        ),
    };
    let walk = Walk {
        nest: &nest,
        rows: rows(&nest, output.size).filter(|_| !ordered),
        operands,
        first,
        kernel,
        packs,
        wide: bytes >= WIDE_MAPPED_FROM,
    };
    // SAFETY: the contract of this function. The nest walks the shape of the output, to which the
    // inputs replicate, as checked, by the strides of all operands. Each position is in one range.
    let range = |range| unsafe { walk.range(range) };
    if chunks.is_one() || bytes == 0 && !ordered {
        return Ok(range(0..nest.len()));
    }
    // What is read and written. An input that does not move in the innermost loop counts nothing.
    let moving = (operands.iter().zip(nest.inner().strides)).enumerate();
    let moving = moving.filter(|&(at, (_, stride))| at == 0 || stride != 0);
    let sizes: usize = moving.map(|(_, (operand, _))| operand.size).sum();
    let cost = Cost::Closure {
        bytes: nest.len().saturating_mul(sizes),
    };
    Ok(chunks.for_each(cost, range))
}

/// Whether the rows of a tile are long and need no packing: finding the fastest order of loops
/// takes longer than it saves.
fn is_plain<const N: usize>(tile: &Tile<N>, output: &Operand<'_>, inputs: &[Operand<'_>]) -> bool {
    let is_plain =
        |(operand, &stride): (&Operand<'_>, &isize)| stride == 0 || stride == operand.size as isize;
    let columns = tile.columns;
    columns.size >= LONG_ROW
        && is_plain((output, &columns.strides[0]))
        && inputs.iter().zip(&columns.strides[1..]).all(is_plain)
}

/// Moves the axis along which an input has its shortest stride next to the innermost one, if it is
/// another one: the two are packed together, so that each cache line of the input is used while it
/// is in the cache. A short axis is moved inside the innermost, so that every chunk of work has all
/// of it, as the channels of a pixel.
fn cross<const N: usize>(nest: &mut LoopNest<N>) {
    let crossing = (1..N).find_map(|operand| nest.crossing(operand));
    if let (Some(axis), true) = (crossing, nest.inner().size >= SQUARE) {
        let short = nest.axes()[axis].size < LONG_ROW;
        nest.move_axis(axis, nest.axes().len() - 1 - usize::from(!short));
    }
}

/// The axis that has the rows of blocks, if rows of the output's elements of `size` bytes are
/// contiguous, and tiles would have few of them: to start a tile takes as long as some rows do.
fn rows<const N: usize>(nest: &LoopNest<N>, size: usize) -> Option<usize> {
    let [before @ .., outer, next, inner] = nest.axes() else {
        return None;
    };
    if next.size >= LONG_ROW || inner.strides[0] != size as isize {
        return None;
    }
    let axis = match (1..N).find_map(|operand| nest.crossing(operand)) {
        Some(crossing) => Some(crossing).filter(|&axis| axis <= before.len()),
        None => (outer.size > next.size).then_some(before.len()),
    };
    // A block of the output has several turns of it.
    let most = BLOCK / size.max(1) / LONG_ROW;
    axis.filter(|&axis| positions(&nest.axes()[axis + 1..]) <= most)
}

/// A walk over all positions of a map.
struct Walk<'a, const N: usize> {
    nest: &'a LoopNest<N>,
    /// See [`rows`].
    rows: Option<usize>,
    operands: &'a [Operand<'a>],
    first: Places<N>,
    kernel: &'a dyn Kernel<N>,
    packs: bool,
    wide: bool,
}

// SAFETY: threads reach different elements of the outputs through it: the contract of `range`. The
// elements of outputs are `Send`, and those of inputs `Sync`: the bounds of `inputs::map` and of
// the constructors of inputs.
unsafe impl<const N: usize> Sync for Walk<'_, N> {}

impl<const N: usize> Walk<'_, N> {
    /// The positions of a range. Returns how many there are.
    ///
    /// # Safety
    ///
    /// The offsets of the nest are elements of the operands. Nothing else reaches those of outputs
    /// at the positions of the range, which is walked once.
    unsafe fn range(&self, range: Range<usize>) -> usize {
        let mut count = 0;
        let nest = self.nest;
        nest.for_each_block(range, self.rows, &mut |&tile, _, _| {
            count += match self.packs {
                // SAFETY: a block of the nest, which no other thread has.
                true => unsafe { self.packed(tile.along_output(self.operands[0].size)) },
                // SAFETY: as above.
                false => unsafe { self.kernel.run(&self.first, &tile, self.wide) },
            };
        });
        count
    }

    /// The positions of a tile. Where inputs are packed, parts of them are copied first.
    ///
    /// # Safety
    ///
    /// As for [`range`](Self::range).
    unsafe fn packed(&self, tile: Tile<N>) -> usize {
        let packing = Packing::of(&tile, self.operands);
        if packing.is_none() {
            // SAFETY: the contract of this function.
            return unsafe { self.kernel.run(&self.first, &tile, self.wide) };
        }
        let mut memory = StackBlock::new();
        // One pointer for all operands: another borrow of the block would end those before it.
        let block = memory.0.as_mut_ptr().cast::<u8>();
        let (mut first, mut room) = (self.first, 0);
        for (number, operand) in self.operands.iter().enumerate() {
            if packing.packs(number) {
                first[number] = block.wrapping_add(room);
                room = (room + packing.elements() * operand.size).next_multiple_of(CACHE_LINE);
            }
        }
        assert!(room <= BLOCK);
        let mut count = 0;
        for mut part in packing.parts(tile) {
            for (number, &Operand { size, packs, .. }) in self.operands.iter().enumerate() {
                let Some(gather) = packs.filter(|_| packing.packs(number)) else {
                    continue;
                };
                let mut rows = Along::of(&part.rows, number);
                let columns = Along::of(&part.columns, number);
                let mut pitch = columns.len * size;
                if rows.step == 0 && !packing.merges {
                    // One row serves all of them.
                    (rows.len, pitch) = (1, 0);
                }
                let from = self.first[number].wrapping_offset(part.offsets[number]);
                let block = Block {
                    to: first[number],
                    pitch,
                    from,
                    rows,
                    columns,
                };
                // Merged rows that are equal are packed for the first part, which has the most
                // rows. Their copies serve all parts.
                if rows.step != 0 || !packing.merges || count == 0 {
                    // SAFETY: elements of the input: the contract of this function. There is room
                    // for them, and for the rows after them, as asserted.
                    unsafe { gather.pack(block) };
                }
                part.offsets[number] = 0;
                part.rows.strides[number] = pitch as isize;
                part.columns.strides[number] = size as isize;
            }
            let part = packing.merged(part);
            // SAFETY: the part is one of the tile, and where an input was copied, by this turn or
            // the first one, its offsets are those of the copies. These are aligned: see `Value`.
            count += unsafe { self.kernel.run(&first, &part, self.wide) };
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crossing_keeps_the_set_of_elements() {
        for (shape, out, input) in [
            (&[64, 32][..], &[32, 1][..], &[1, 64][..]),
            (&[64, 31], &[31, 1], &[1, 64]),
            (&[64, 33], &[33, 1], &[-1, 64]),
            (&[64, 33], &[33, 1], &[0, 5]),
            (&[40, 50, 64], &[3200, 64, 1], &[1, 9000, 40]),
            (&[40, 50, 64], &[3200, 64, 1], &[3, 1, 200]),
            (&[], &[], &[]),
        ] {
            let mut nest = LoopNest::of(shape, [out, input]);
            let elements = |nest: &LoopNest<2>| {
                let mut elements = vec![];
                nest.for_each_block(0..nest.len(), None, &mut |tile, _, _| {
                    for row in 0..tile.rows.size {
                        for column in 0..tile.columns.size {
                            elements.push(tile.offsets_at(row, column));
                        }
                    }
                });
                elements.sort_unstable();
                elements
            };
            let before = elements(&nest);
            cross(&mut nest);
            assert_eq!(elements(&nest), before, "{shape:?} {input:?}");
        }
    }
}
