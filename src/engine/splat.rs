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
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (size, len) = (size_of::<B>(), self.0.columns.len);
        let done = match size {
            _ if !ALL || self.0.pitch != len * size => 0,
            1 => self.short_rows::<16>(),
            2 => self.short_rows::<8>(),
            4 => self.short_rows::<4>(),
            8 => self.short_rows::<2>(),
            _ => 0,
        };
        for row in done..self.0.rows.len {
            let (to, element) = (self.0.to(row, 0, size), self.element(row));
            // SAFETY: a row of the copy: the contract of `splat_rows`.
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

impl<B: Copy, const ALL: bool> Splat<B, ALL> {
    #[inline(always)]
    fn element(&self, row: usize) -> Slot<B> {
        // SAFETY: the element of a row: the contract of `splat_rows`.
        unsafe { self.0.from(row, 0).cast::<Slot<B>>().read() }
    }

    /// Rows of at most sixteen registers of `K` elements, without gaps between them. The last
    /// register of a row reaches into the next row, which is written after it. Returns how many
    /// rows are done: not the last ones, past whose end it would reach, and none if rows are
    /// longer.
    #[inline(always)]
    fn short_rows<const K: usize>(&self) -> usize {
        match self.0.columns.len.div_ceil(K) {
            1 => self.reaching::<K, 1>(),
            2 => self.reaching::<K, 2>(),
            3..=4 => self.reaching::<K, 4>(),
            5..=8 => self.reaching::<K, 8>(),
            9..=16 => self.reaching::<K, 16>(),
            _ => 0,
        }
    }

    /// Stores of `R` times `K` elements, which are at least a row.
    #[inline(always)]
    fn reaching<const K: usize, const R: usize>(&self) -> usize {
        let len = self.0.columns.len;
        assert!(0 < len && len <= K * R);
        let done = (self.0.rows.len).saturating_sub((K * R).div_ceil(len));
        for row in 0..done {
            let to = self.0.to(row, 0, size_of::<B>());
            let registers = [[self.element(row); K]; R];
            // SAFETY: rows have no gaps, as `run` has checked. `K * R` elements are at most
            // this row and the `(K * R).div_ceil(len)` after it, which are in the block as
            // `row < done`.
            unsafe { to.cast::<[[Slot<B>; K]; R]>().write(registers) };
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
