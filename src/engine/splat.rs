//! Rows of copies of one element.

use super::block::{Block, Slot, repeat};
use super::machine::{
    MOST_SHUFFLES, REGISTER, Shuffle, Vectorize, WIDE_REGISTER, can_shuffle, copy_shuffled,
    in_vectors, widest,
};
use super::tuning::WIDE_FROM;
use super::tuning::copies::SHORT_REPEAT;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::{array, slice};

/// Fills each row of the copy with its one element.
///
/// # Safety
///
/// As for [`Gather::copy`](super::gather::Gather::copy), with elements of the size of `B`.
/// Columns are 0 apart.
pub(super) unsafe fn splat_rows<B: Copy>(block: Block) {
    let size = size_of::<B>();
    let (rows, bytes) = (block.rows.len, block.columns.len * size);
    let rest = |done| block.part([done, 0], rows - done, block.columns.len, size);
    let mut done = 0;
    if rows > 1 && block.pitch == bytes {
        // SAFETY: the contract of this function; rows have no gaps.
        done = unsafe { expand(block, size) };
        // SAFETY: as above.
        let short = unsafe { ShortRows::<B>::new(rest(done)) };
        done += in_vectors(short, rows * bytes >= WIDE_FROM);
    }
    // SAFETY: the contract of this function.
    let long = unsafe { LongRows::<B>::new(rest(done)) };
    in_vectors(long, bytes >= WIDE_FROM);
}

/// [`splat_rows`] by the kernel of long rows alone, which is short code.
///
/// # Safety
///
/// As there.
pub(super) unsafe fn splat_long_rows<B: Copy>(block: Block) {
    // SAFETY: the contract of this function.
    widest(unsafe { LongRows::<B>::new(block) });
}

/// Whether the compiler keeps several elements of `size` bytes in a register.
fn in_registers(size: usize) -> bool {
    matches!(size, 1 | 2 | 4 | 8)
}

/// Rows of any length.
struct LongRows<B>(Block, PhantomData<B>);

impl<B: Copy> LongRows<B> {
    /// # Safety
    ///
    /// As for [`splat_rows`].
    unsafe fn new(block: Block) -> Self {
        LongRows(block, PhantomData)
    }
}

impl<B: Copy> Vectorize for LongRows<B> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (size, len) = (size_of::<B>(), self.0.columns.len);
        for row in 0..self.0.rows.len {
            let (to, from) = (self.0.to(row, 0, size), self.0.from(row, 0));
            // SAFETY: the element of a row: the contract of `new`.
            let element = unsafe { from.cast::<Slot<B>>().read() };
            // SAFETY: a row of the copy: the contract of `new`.
            let slots = unsafe { slice::from_raw_parts_mut(to.cast::<Slot<B>>(), len) };
            match size {
                1 => fill::<B, 32>(slots, element),
                2 => fill::<B, 16>(slots, element),
                4 => fill::<B, 8>(slots, element),
                8 => fill::<B, 4>(slots, element),
                _ => {
                    let some = len.min(16);
                    slots[..some].iter_mut().for_each(|slot| *slot = element);
                    // SAFETY: the row, of which some elements are written.
                    unsafe { repeat(to, some * size, some * size, len * size) };
                }
            }
        }
    }
}

/// Fills a row with stores of `K` elements, which are a wide register. Those between the first and
/// the last one begin at a multiple of their size: they cross no cache line.
#[inline(always)]
fn fill<B: Copy, const K: usize>(row: &mut [Slot<B>], element: Slot<B>) {
    let Some(last) = row.len().checked_sub(K) else {
        return row.iter_mut().for_each(|slot| *slot = element);
    };
    let (to, register) = (row.as_mut_ptr(), [element; K]);
    // SAFETY: `K` elements of the row, as each place is at most `last`.
    let put = |at: usize| unsafe { to.wrapping_add(at).cast::<[Slot<B>; K]>().write(register) };
    put(0);
    let mut at = K - to.addr() / size_of::<B>() % K;
    while at < last {
        put(at);
        at += K;
    }
    put(last);
}

/// Rows of at most sixteen registers without gaps between them. The last register of a row reaches
/// into the next row, which is written after it. Returns how many rows are done: not the last ones,
/// past whose end it would reach, and none if rows are longer.
struct ShortRows<B>(Block, PhantomData<B>);

impl<B: Copy> ShortRows<B> {
    /// # Safety
    ///
    /// As for [`splat_rows`]; rows have no gaps.
    unsafe fn new(block: Block) -> Self {
        ShortRows(block, PhantomData)
    }

    /// [`run`](Vectorize::run) with registers of `K` elements.
    #[inline(always)]
    fn registers<const K: usize>(self) -> usize {
        match self.0.columns.len.div_ceil(K) {
            1 => self.reaching::<K, 1>(),
            2 => self.reaching::<K, 2>(),
            3 => self.reaching::<K, 3>(),
            4 => self.reaching::<K, 4>(),
            5..=6 => self.reaching::<K, 6>(),
            7..=8 => self.reaching::<K, 8>(),
            9..=12 => self.reaching::<K, 12>(),
            13..=16 => self.reaching::<K, 16>(),
            _ => 0,
        }
    }

    /// Stores of `R` times `K` elements, which are at least a row.
    #[inline(always)]
    fn reaching<const K: usize, const R: usize>(self) -> usize {
        let (len, size) = (self.0.columns.len, size_of::<B>());
        assert!(0 < len && len <= K * R);
        let done = (self.0.rows.len).saturating_sub((K * R).div_ceil(len));
        for row in 0..done {
            let (to, from) = (self.0.to(row, 0, size), self.0.from(row, 0));
            // SAFETY: the element of a row: the contract of `new`.
            let element = unsafe { from.cast::<Slot<B>>().read() };
            let to = to.cast::<[[Slot<B>; K]; R]>();
            // SAFETY: rows have no gaps: the contract of `new`. `K * R` elements are at most this
            // row and the `(K * R).div_ceil(len)` after it, which are in the block as `row < done`.
            unsafe { to.write([[element; K]; R]) };
        }
        done
    }
}

impl<B: Copy> Vectorize for ShortRows<B> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        match size_of::<B>() {
            1 => self.registers::<16>(),
            2 => self.registers::<8>(),
            4 => self.registers::<4>(),
            8 => self.registers::<2>(),
            _ => 0,
        }
    }
}

/// Elements of at most sixteen bytes that are neighbours in memory, to short rows: each half of a
/// wide register of the copy is one shuffle of sixteen bytes. Returns how many rows are done, which
/// may be none. Elements of other rows may also be written; they are still to do.
///
/// # Safety
///
/// As for [`splat_rows`]; rows have no gaps.
unsafe fn expand(block: Block, size: usize) -> usize {
    let (rows, row_bytes) = (block.rows.len, block.columns.len * size);
    // The pattern begins anew after as many registers as end where a row ends.
    let period = row_bytes >> row_bytes.trailing_zeros().min(WIDE_REGISTER.ilog2());
    let pays = block.rows.step == size as isize
        && size <= REGISTER
        && (row_bytes < WIDE_REGISTER || !in_registers(size) && row_bytes <= 2 * WIDE_REGISTER)
        && period <= MOST_SHUFFLES
        && rows * row_bytes >= SHORT_REPEAT
        && can_shuffle();
    if !pays {
        return 0;
    }
    let mut shuffles = [Shuffle::NONE; MOST_SHUFFLES];
    let (to, from) = (block.to.cast::<MaybeUninit<u8>>(), block.from.cast());
    // SAFETY: the elements of all rows, which are neighbours: the contract of this function.
    let source = unsafe { slice::from_raw_parts(from, rows * size) };
    // SAFETY: all rows of the copy, which have no gaps: as above.
    let out = unsafe { slice::from_raw_parts_mut(to, rows * row_bytes) };
    // The source byte of each byte of the copy in turn, without a division.
    let (mut row, mut column, mut byte) = (0, 0, 0);
    let mut next = || {
        let at = row * size + byte;
        (column, byte) = (column + 1, if byte + 1 == size { 0 } else { byte + 1 });
        if column == row_bytes {
            (row, column) = (row + 1, 0);
        }
        at
    };
    // Registers that begin at a multiple of their size cross no cache line.
    let (head, out) = out.split_at_mut(to.addr().wrapping_neg() % WIDE_REGISTER);
    head.iter_mut().for_each(|to| *to = source[next()]);
    for shuffle in &mut shuffles[..period] {
        for half in 0..2 {
            // Sixteen bytes of the copy come from at most sixteen of the source. Within a row they
            // come from one element, which is no longer; with each further row the source moves on
            // by half of the copy or less.
            let bytes: [usize; REGISTER] = array::from_fn(|_| next());
            let offset = bytes.into_iter().min().unwrap_or(0);
            shuffle.offsets[half] = offset;
            shuffle.indices[half] = bytes.map(|byte| (byte - offset) as u8);
            debug_assert!(
                shuffle.indices[half]
                    .iter()
                    .all(|&i| usize::from(i) < REGISTER)
            );
        }
    }
    let step = period * WIDE_REGISTER / row_bytes * size;
    (head.len() + copy_shuffled(&shuffles[..period], source, step, out)) / row_bytes
}
