//! Rows of copies of one element.

use super::block::{Block, Slot, repeat};
use super::machine::{Vectorize, in_vectors};
use super::tuning::WIDE_FROM;
use std::marker::PhantomData;
use std::slice;

/// Fills each row of the copy with its one element. `ALL`: by wide registers, and with a kernel of
/// its own for short rows; without, it is less code.
///
/// # Safety
///
/// As for [`Gather::copy`](super::gather::Gather::copy), with elements of the size of `B`.
/// Columns are 0 apart.
pub(super) unsafe fn splat_rows<B: Copy, const ALL: bool>(block: Block) {
    let bytes = block.rows.len * block.columns.len * size_of::<B>();
    in_vectors(
        Splat::<B, ALL>(block, PhantomData),
        ALL && bytes >= WIDE_FROM,
    );
}

/// A block as [`splat_rows`] takes it, where alone it is made.
struct Splat<B, const ALL: bool>(Block, PhantomData<B>);

impl<B: Copy, const ALL: bool> Vectorize for Splat<B, ALL> {
    #[inline(always)]
    fn run(self) {
        match size_of::<B>() {
            1 => self.in_registers::<16, 32, 64>(),
            2 => self.in_registers::<8, 16, 32>(),
            4 => self.in_registers::<4, 8, 16>(),
            8 => self.in_registers::<2, 4, 8>(),
            size => {
                let len = self.0.columns.len;
                for row in 0..self.0.rows.len {
                    let (to, some) = (self.0.to(row, 0, size), len.min(16));
                    // SAFETY: a part of a row of the copy: the contract of `splat_rows`.
                    unsafe { slice::from_raw_parts_mut(to.cast(), some) }.fill(self.element(row));
                    // SAFETY: the row, of which some elements are written.
                    unsafe { repeat(to, some * size, some * size, len * size) };
                }
            }
        }
    }
}

impl<B: Copy, const ALL: bool> Splat<B, ALL> {
    #[inline(always)]
    fn element(&self, row: usize) -> Slot<B> {
        // SAFETY: the element of a row: the contract of `splat_rows`.
        unsafe { self.0.from(row, 0).cast::<Slot<B>>().read() }
    }

    /// Fills rows by wide registers, of `K` elements. Rows without gaps between them that are no
    /// longer than half a register, one, or two are one store each, which reaches into the next
    /// row: 5 `f32` take a third of the time.
    #[inline(always)]
    fn in_registers<const HALF: usize, const K: usize, const TWO: usize>(&self) {
        let len = self.0.columns.len;
        let short = match ALL && self.0.pitch == len * size_of::<B>() {
            true if len <= HALF => self.short_rows::<HALF>(),
            true if len <= K => self.short_rows::<K>(),
            true if len <= TWO => self.short_rows::<TWO>(),
            _ => 0,
        };
        for row in short..self.0.rows.len {
            let to = self.0.to(row, 0, size_of::<B>()).cast::<Slot<B>>();
            // SAFETY: a row of the copy: the contract of `splat_rows`.
            let slots = unsafe { slice::from_raw_parts_mut(to, len) };
            fill::<B, K>(slots, self.element(row));
        }
    }

    /// Rows of at most `K` elements, without gaps between them. Returns how many are written: not
    /// the last ones, past whose end `K` elements would reach.
    #[inline(always)]
    fn short_rows<const K: usize>(&self) -> usize {
        let len = self.0.columns.len;
        assert!(0 < len && len <= K);
        let done = (self.0.rows.len).saturating_sub(K.div_ceil(len));
        for row in 0..done {
            let to = self.0.to(row, 0, size_of::<B>());
            let register = [self.element(row); K];
            // SAFETY: rows have no gaps, as `in_registers` has checked. `K` elements are at most
            // this row and the `K.div_ceil(len)` after it, which are in the block as `row < done`.
            unsafe { to.cast::<[Slot<B>; K]>().write(register) };
        }
        done
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
