//! The one gather: elements that lie anywhere are copied side by side.

use super::machine::{Vectorize, square, widest};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;

/// One axis of a block: how many elements it has, and how many bytes lie between two of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Along {
    pub(crate) len: usize,
    pub(crate) step: isize,
}

/// Copies may write so many rows more than they have elements for: see [`gather`].
pub(crate) const MORE_ROWS: usize = 7;

/// A block of elements, and the place of a copy. In the copy, the elements of a row are contiguous.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    pub(crate) to: *mut u8,
    /// Bytes between two rows of the copy.
    pub(crate) pitch: usize,
    pub(crate) from: *const u8,
    pub(crate) rows: Along,
    pub(crate) columns: Along,
}

/// Copies a block whose elements have `size` bytes. If there are several rows, up to [`MORE_ROWS`]
/// after the last one may be overwritten; they are not initialised then.
///
/// # Safety
///
/// The elements of the block are readable, those of the copy and of the rows after it are writable,
/// and the two do not overlap.
pub(crate) unsafe fn gather(block: Block, size: usize) {
    match size {
        0 => {}
        // SAFETY: the contract of this function. So in each call.
        1 => unsafe { block.copy::<u8>() },
        // SAFETY: as above.
        2 => unsafe { block.copy::<u16>() },
        // SAFETY: as above.
        4 => unsafe { block.copy::<u32>() },
        // SAFETY: as above.
        8 => unsafe { block.copy::<u64>() },
        // SAFETY: as above.
        16 => unsafe { block.copy::<u128>() },
        // SAFETY: as above.
        _ => unsafe { block.copy_bytes(size) },
    }
}

/// [`gather`] of up to four rows whose elements alternate in memory, as the channels of pixels.
/// `false`: they do not, and nothing was copied.
///
/// # Safety
///
/// As for [`gather`].
pub(crate) unsafe fn gather_alternating(block: Block, size: usize) -> bool {
    let (rows, columns) = (block.rows, block.columns);
    if rows.step != size as isize || columns.step != (rows.len * size) as isize {
        return false;
    }
    /// The kernels by the size of elements and the number of rows.
    macro_rules! kernels {
        ($($size:literal $rows:literal $B:ty,)+) => {
            match (size, rows.len) {
                // SAFETY: the contract of this function; the rows alternate, as just checked.
                $(($size, $rows) => widest(unsafe { Alternating::<$B, $rows>::new(block) }),)+
                _ => return false,
            }
        };
    }
    kernels! {
        1 2 u8, 1 3 u8, 1 4 u8,
        2 2 u16, 2 3 u16, 2 4 u16,
        4 2 u32, 4 3 u32, 4 4 u32,
    }
    true
}

/// An element that may be padding.
type Bits<B> = MaybeUninit<B>;

impl Block {
    /// Where the copy of an element of `size` bytes is.
    fn to(&self, row: usize, column: usize, size: usize) -> *mut u8 {
        self.to.wrapping_add(row * self.pitch + column * size)
    }

    fn from(&self, row: usize, column: usize) -> *const u8 {
        let along = self.columns.step.wrapping_mul(column as isize);
        let down = self.rows.step.wrapping_mul(row as isize);
        self.from.wrapping_byte_offset(down.wrapping_add(along))
    }

    /// Copies one element.
    ///
    /// # Safety
    ///
    /// There are such a row and such a column, of elements of the size of `B`.
    #[inline(always)]
    unsafe fn copy_one<B: Copy>(&self, row: usize, column: usize) {
        let to = self.to(row, column, size_of::<B>()).cast::<Bits<B>>();
        // SAFETY: the contract of this function. The elements may not be aligned for `B`.
        let element = unsafe { self.from(row, column).cast::<Bits<B>>().read_unaligned() };
        // SAFETY: as above.
        unsafe { to.write_unaligned(element) };
    }

    /// # Safety
    ///
    /// As for [`gather`], with elements of the size of `B`.
    unsafe fn copy<B: Copy>(self) {
        let size = size_of::<B>() as isize;
        let (rows, columns) = (self.rows.len, self.columns.len);
        let row_of = |row: usize| (self.to(row, 0, size_of::<B>()), self.from(row, 0));
        // SAFETY: an element of the block: the contract of this function.
        let each = |row, column| unsafe { self.copy_one::<B>(row, column) };
        if self.rows.step == 0 && rows > 1 && self.pitch == columns * size_of::<B>() {
            let rows_of = |len| Along { len, step: 0 };
            // SAFETY: the first row of the block.
            unsafe {
                Block {
                    rows: rows_of(1),
                    ..self
                }
                .copy::<B>()
            };
            // Twice as many each time.
            let (mut done, all) = (self.pitch, rows * self.pitch);
            while done < all {
                let bytes = (all - done).min(done);
                // SAFETY: places of the copy; those before `done` are written.
                unsafe { ptr::copy_nonoverlapping(self.to, self.to.wrapping_add(done), bytes) };
                done += bytes;
            }
        } else if self.columns.step == size && columns * size_of::<B>() >= 16 {
            for (to, from) in (0..rows).map(row_of) {
                // SAFETY: a row of the block, which is contiguous: the contract of this function.
                unsafe { ptr::copy_nonoverlapping(from, to, columns * size_of::<B>()) };
            }
        } else if rows > 4 && columns <= 4 {
            (0..rows).for_each(|row| (0..columns).for_each(|column| each(row, column)));
        } else if self.columns.step == -size {
            for (to, from) in (0..rows).map(row_of) {
                // SAFETY: a row of the block: the contract of this function.
                unsafe { reverse::<B>(to.cast(), from.cast(), columns) };
            }
        } else if self.columns.step == 0 && columns > 0 {
            for (to, from) in (0..rows).map(row_of) {
                // SAFETY: the element of a row: the contract of this function.
                let element = unsafe { from.cast::<Bits<B>>().read_unaligned() };
                for column in 0..columns {
                    let place = to.cast::<Bits<B>>().wrapping_add(column);
                    // SAFETY: a place of the copy: the contract of this function.
                    unsafe { place.write_unaligned(element) };
                }
            }
        } else if self.rows.step == size && rows > 1 && columns > 1 {
            // SAFETY: the contract of this function.
            unsafe { self.transpose::<B>() };
        } else if self.rows.step.unsigned_abs() < self.columns.step.unsigned_abs() {
            (0..columns).for_each(|column| (0..rows).for_each(|row| each(row, column)));
        } else {
            (0..rows).for_each(|row| (0..columns).for_each(|column| each(row, column)));
        }
    }

    /// The elements of a column are contiguous in memory: squares are copied in registers.
    ///
    /// # Safety
    ///
    /// As for [`gather`], with elements of the size of `B`.
    unsafe fn transpose<B: Copy>(self) {
        let (rows, columns) = (self.rows.len, self.columns.len);
        let (mut row_end, mut column_end) = (0, 0);
        if let Some((side, transpose)) = const { square(size_of::<B>()) } {
            row_end = rows / side * side;
            column_end = columns / side * side;
            let padded = rows.next_multiple_of(side);
            if padded > rows && self.columns.step == (rows * size_of::<B>()) as isize {
                // The next column follows: its elements are read too, into the rows after the last
                // one, but not what is behind the last column.
                let behind = columns.saturating_sub((padded - rows).div_ceil(rows));
                (row_end, column_end) = (padded, behind / side * side);
            }
            for column in (0..column_end).step_by(side) {
                for row in (0..row_end).step_by(side) {
                    let places = (self.to(row, column, size_of::<B>()), self.from(row, column));
                    // SAFETY: a square of the block, or of elements that follow in memory.
                    unsafe { transpose(places, [self.pitch as isize, self.columns.step]) };
                }
            }
        }
        for column in 0..columns {
            let done = if column < column_end {
                row_end.min(rows)
            } else {
                0
            };
            // SAFETY: elements of the block.
            (done..rows).for_each(|row| unsafe { self.copy_one::<B>(row, column) });
        }
    }

    /// # Safety
    ///
    /// As for [`gather`].
    unsafe fn copy_bytes(self, size: usize) {
        for row in 0..self.rows.len {
            for column in 0..self.columns.len {
                // SAFETY: an element of the block.
                unsafe {
                    let to = self.to(row, column, size);
                    ptr::copy_nonoverlapping(self.from(row, column), to, size);
                }
            }
        }
    }
}

/// Copies the `K` rows of a block whose elements alternate in memory.
struct Alternating<B, const K: usize>(Block, PhantomData<B>);

impl<B: Copy, const K: usize> Alternating<B, K> {
    /// # Safety
    ///
    /// As for [`Block::copy`]. There are `K` rows, one element apart, and columns `K` elements
    /// apart.
    unsafe fn new(block: Block) -> Self {
        Alternating(block, PhantomData)
    }
}

impl<B: Copy, const K: usize> Vectorize for Alternating<B, K> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (to, from) = (
            self.0.to.cast::<Bits<B>>(),
            self.0.from.cast::<[Bits<B>; K]>(),
        );
        for column in 0..self.0.columns.len {
            // SAFETY: a column, whose elements are neighbours: the contract of `new`.
            let elements = unsafe { from.wrapping_add(column).read_unaligned() };
            for (row, element) in elements.into_iter().enumerate() {
                let to = to
                    .wrapping_byte_add(row * self.0.pitch)
                    .wrapping_add(column);
                // SAFETY: a place of the copy: the contract of `new`.
                unsafe { to.write_unaligned(element) };
            }
        }
    }
}

/// Copies `len` elements that lie backwards from `from` on.
///
/// # Safety
///
/// They are readable and writable, and the two do not overlap.
unsafe fn reverse<B: Copy>(to: *mut Bits<B>, from: *const Bits<B>, len: usize) {
    const MANY: usize = 16;
    // The elements are read in the order of memory, which prefetchers follow.
    let mut left = len;
    while left >= MANY {
        let last = from.wrapping_sub(left - 1);
        // All are read before one is written, so that the compiler needs no check for overlaps.
        let mut some = [Bits::<B>::uninit(); MANY];
        for (i, element) in some.iter_mut().enumerate() {
            // SAFETY: one of the elements: the contract of this function.
            *element = unsafe { last.wrapping_add(MANY - 1 - i).read_unaligned() };
        }
        left -= MANY;
        let to = to.wrapping_add(left).cast::<[Bits<B>; MANY]>();
        // SAFETY: as many places: the contract of this function.
        unsafe { to.write_unaligned(some) };
    }
    for i in 0..left {
        // SAFETY: one of the elements: the contract of this function.
        let element = unsafe { from.wrapping_sub(i).read_unaligned() };
        // SAFETY: one of the places.
        unsafe { to.wrapping_add(i).write_unaligned(element) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All blocks of up to nine rows and columns with steps of -3 to 3 elements, and of neighbours
    /// that follow each other, into rows with and without a gap.
    #[test]
    fn every_small_block_is_copied_and_nothing_else_is_written() {
        let mut cases = 0;
        for size in [1, 2, 3, 4, 8, 16, 24] {
            for (rows, columns) in (0..10).flat_map(|rows| (0..10).map(move |all| (rows, all))) {
                let steps = |far: usize| (-3..=3).chain([far as isize, -(far as isize)]);
                for (down, along) in
                    steps(columns).flat_map(|down| steps(rows).map(move |along| (down, along)))
                {
                    cases += 1;
                    check(size, [rows, columns], [down, along], cases % 2 * 5);
                }
            }
        }
    }

    fn check(size: usize, [rows, columns]: [usize; 2], [down, along]: [isize; 2], gap: usize) {
        const AROUND: u8 = 0xee;
        let what =
            format!("{size} bytes, {rows} rows {down} apart, {columns} columns {along} apart");
        let far = |len: usize, step: isize| step * len.saturating_sub(1) as isize;
        let reach = [far(rows, down), far(columns, along)];
        let low: isize = reach.iter().map(|far| far.min(&0)).sum();
        let elements = 1 + reach.iter().map(|far| far.unsigned_abs()).sum::<usize>();
        // As large as the block: valgrind finds a read of anything else, and AddressSanitizer
        // does unless it is one of the inline assembly.
        let memory: Vec<u8> = (0..elements * size)
            .map(|i| (i * 31 + i / 7 % 5) as u8 | 1)
            .collect();
        let pitch = columns * size + gap;
        let more = if rows > 1 { MORE_ROWS } else { 0 };
        let mut copy = vec![AROUND; (rows + more) * pitch + 8];
        let bytes = size as isize;
        let block = Block {
            to: copy.as_mut_ptr(),
            pitch,
            from: memory.as_ptr().wrapping_byte_offset(-low * bytes),
            rows: Along {
                len: rows,
                step: down * bytes,
            },
            columns: Along {
                len: columns,
                step: along * bytes,
            },
        };
        // SAFETY: `memory` has what the steps reach, and `copy` the rows and `MORE_ROWS`.
        unsafe { gather(block, size) };
        for row in 0..rows {
            let of_row = &copy[row * pitch..][..pitch];
            for column in 0..columns {
                let at = (row as isize * down + column as isize * along - low) as usize * size;
                let found = &of_row[column * size..][..size];
                assert_eq!(found, &memory[at..at + size], "{row} {column} of {what}");
            }
            assert!(
                of_row[columns * size..].iter().all(|&x| x == AROUND),
                "{row} of {what}"
            );
        }
        assert!(
            copy[(rows + more) * pitch..].iter().all(|&x| x == AROUND),
            "behind {what}"
        );
        let mut alternating = vec![AROUND; (rows + more) * pitch + 8];
        let to = alternating.as_mut_ptr();
        // SAFETY: as above.
        if unsafe { gather_alternating(Block { to, ..block }, size) } {
            let both = copy.iter().zip(&alternating).take(rows * pitch);
            assert!(both.into_iter().all(|(a, b)| a == b), "alternating, {what}");
            assert!(
                alternating[rows * pitch..].iter().all(|&x| x == AROUND),
                "behind {what}"
            );
        }
    }
}
