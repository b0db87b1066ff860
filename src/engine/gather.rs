//! The one gather: elements that lie anywhere are copied side by side.

use super::block::{Along, Block, Slot, repeat};
use super::machine::{Vectorize, copy_in_cache, in_vectors, square, widest};
use super::splat::splat_rows;
use super::tuning::copies::{SHORT_REPEAT, SHORT_ROW, repeated};
use super::tuning::{BLOCK, CACHE_LINE, LARGE_ELEMENT, PAGE, SQUARE};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;

/// The most rows after its last one that [`Gather::pack`] may write.
pub(crate) const MORE_ROWS: usize = 7;

/// What copies blocks of elements of one size.
pub(crate) struct Gather {
    /// Bytes of an element.
    pub(crate) size: usize,
    /// [`Block::copy`].
    copy: unsafe fn(Block, usize),
}

// Statics are compiled once, in this crate. Each is one of its own, so that a program has only
// those of the sizes that it uses.
static OF_1: Gather = Gather::new::<u8, true>();
static OF_2: Gather = Gather::new::<u16, true>();
static OF_4: Gather = Gather::new::<u32, true>();
static OF_8: Gather = Gather::new::<u64, true>();
static OF_16: Gather = Gather::new::<u128, true>();
static FEW_OF_1: Gather = Gather::new::<u8, false>();
static FEW_OF_2: Gather = Gather::new::<u16, false>();
static FEW_OF_4: Gather = Gather::new::<u32, false>();
static FEW_OF_8: Gather = Gather::new::<u64, false>();
static FEW_OF_16: Gather = Gather::new::<u128, false>();

impl Gather {
    const fn new<B: Copy, const ALL: bool>() -> Self {
        Gather {
            size: size_of::<B>(),
            copy: Block::copy::<B, ALL>,
        }
    }

    /// The gather of elements of type `A`: with all kernels, or with few of them, which are short
    /// code. Chosen in a constant, so that only what is needed is compiled for `A`.
    pub(crate) const fn of<A: Copy, const ALL: bool>() -> &'static Self {
        const {
            match size_of::<A>() {
                1 if ALL => &OF_1,
                2 if ALL => &OF_2,
                4 if ALL => &OF_4,
                8 if ALL => &OF_8,
                16 if ALL => &OF_16,
                1 => &FEW_OF_1,
                2 => &FEW_OF_2,
                4 => &FEW_OF_4,
                8 => &FEW_OF_8,
                16 => &FEW_OF_16,
                _ => &const { Gather::new::<A, ALL>() },
            }
        }
    }

    /// Copies a block, and writes nothing else.
    ///
    /// # Safety
    ///
    /// The elements of the block are readable, those of the copy are writable, and the two do not
    /// overlap. Elements have the size of this gather.
    pub(crate) unsafe fn copy(&self, block: Block) {
        // SAFETY: the contract of this function.
        unsafe { (self.copy)(block, 0) };
    }

    /// Copies a block. After several rows it may write up to [`MORE_ROWS`] more, with the same
    /// columns, whose contents mean nothing. It does so only if each column begins in memory where
    /// the one before it ends.
    ///
    /// # Safety
    ///
    /// As for [`copy`](Self::copy). The rows after the last one are writable too.
    pub(crate) unsafe fn pack(&self, block: Block) {
        // SAFETY: the contract of this function.
        unsafe { (self.copy)(block, MORE_ROWS) };
    }
}

impl Block {
    /// Copies the block. If there are several rows, up to `more` after the last one may be
    /// overwritten.
    ///
    /// # Safety
    ///
    /// As for [`Gather::copy`], with elements of the size of `B`. `more` rows after the last one
    /// are writable too.
    unsafe fn copy<B: Copy, const ALL: bool>(self, more: usize) {
        let (rows, columns, size) = (self.rows, self.columns, size_of::<B>());
        let (step, bytes) = (size as isize, columns.len * size);
        let contiguous = columns.step == step;
        let most = repeated(rows.len * bytes);
        // Few rows, and long ones, are copied from the one row that they repeat: see `SQUARE`.
        let direct = contiguous
            && bytes <= most
            && (bytes >= SHORT_REPEAT || rows.len <= SQUARE && bytes >= 4);
        let alternates_in_copy = ALL && self.alternates_in_copy(size);
        let alternates = ALL && self.alternates(size);
        // SAFETY: the contract of this function. So in each call.
        match columns.len {
            _ if rows.len * bytes == 0 => {}
            // One column whose copies are neighbours: a row.
            1 if rows.len > 1 && self.pitch == size => {
                let row = Block {
                    rows: columns,
                    columns: rows,
                    ..self
                };
                // SAFETY: as above.
                unsafe { row.copy::<B, ALL>(0) };
            }
            _ if rows.step == 0 && rows.len > 1 && self.pitch == bytes && !direct => {
                let width = (most / size).clamp(1, columns.len);
                for column in (0..columns.len).step_by(width) {
                    let width = width.min(columns.len - column);
                    let part = self.part([0, column], 1, width, size);
                    // SAFETY: as above; a part of the first row.
                    unsafe { part.copy::<B, ALL>(0) };
                    let all = (rows.len - 1) * bytes + width * size;
                    // SAFETY: as above; the part of the first row of the copy is written.
                    unsafe { repeat(part.to, width * size, bytes, all) };
                }
            }
            // SAFETY: as above.
            _ if contiguous => unsafe { self.copy_rows(bytes) },
            // Not those that have copies of elements on the stack.
            // SAFETY: as above.
            _ if size >= LARGE_ELEMENT => unsafe { self.one_by_one::<B>() },
            // SAFETY: as above.
            2 if alternates_in_copy => unsafe { self.alternate::<B, 2, true>() },
            // SAFETY: as above.
            3 if alternates_in_copy => unsafe { self.alternate::<B, 3, true>() },
            // SAFETY: as above.
            4 if alternates_in_copy => unsafe { self.alternate::<B, 4, true>() },
            // SAFETY: as above.
            2.. if columns.step == 0 => unsafe { splat_rows::<B, ALL>(self) },
            // SAFETY: as above.
            _ if alternates && rows.len == 2 => unsafe { self.alternate::<B, 2, false>() },
            // SAFETY: as above.
            _ if alternates && rows.len == 3 => unsafe { self.alternate::<B, 3, false>() },
            // SAFETY: as above.
            _ if alternates && rows.len == 4 => unsafe { self.alternate::<B, 4, false>() },
            // SAFETY: as above.
            ..=4 if rows.len > 4 => unsafe { self.one_by_one::<B>() },
            // SAFETY: as above.
            _ if self.crosses() => unsafe { self.transpose::<B>(more) },
            _ if columns.step == -step && matches!(size, 1 | 2 | 4 | 8) => {
                // 512 x 512 `u8` take 25 us, and 6 us in wide registers (an Intel Xeon). Elements
                // of 4 bytes and more gain nothing.
                in_vectors(
                    Reverse::<B>(self, PhantomData),
                    const { size_of::<B>() <= 2 },
                );
            }
            // SAFETY: as above.
            _ => unsafe { self.one_by_one::<B>() },
        }
    }

    /// Whether lines of memory run down the rows.
    fn crosses(&self) -> bool {
        self.rows.len > 1
            && self.rows.step != 0
            && self.rows.step.unsigned_abs() < self.columns.step.unsigned_abs()
    }

    /// Whether elements that are neighbours in rows of the copy are in different lines of memory,
    /// each of which is contiguous, as the channels of an image that become its pixels; or in one
    /// line, if columns are 0 apart.
    fn alternates_in_copy(&self, size: usize) -> bool {
        self.pitch == self.columns.len * size && self.rows.step == size as isize
    }

    /// Whether the elements of the rows alternate in memory, as the channels of pixels.
    fn alternates(&self, size: usize) -> bool {
        self.rows.step == size as isize && self.columns.step == (self.rows.len * size) as isize
    }

    /// The compiler unrolls the loops over few columns.
    ///
    /// # Safety
    ///
    /// As for [`Gather::copy`], with elements of the size of `B`.
    #[inline(never)]
    unsafe fn one_by_one<B: Copy>(self) {
        for row in 0..self.rows.len {
            // SAFETY: an element of the block.
            let each = |column| unsafe { self.copy_one::<B>(row, column) };
            match self.columns.len {
                1 => each(0),
                2 => (0..2).for_each(each),
                3 => (0..3).for_each(each),
                4 => (0..4).for_each(each),
                columns => (0..columns).for_each(each),
            }
        }
    }

    /// Copies rows of `bytes` bytes that are contiguous in memory.
    ///
    /// # Safety
    ///
    /// As for [`Gather::copy`].
    #[inline(never)]
    unsafe fn copy_rows(self, bytes: usize) {
        // SAFETY: the contract of this function. So in each call.
        match bytes {
            _ if self.rows.len == 1 || bytes > SHORT_ROW => {
                for row in 0..self.rows.len {
                    let (to, from) = (self.to(row, 0, 0), self.from(row, 0));
                    // SAFETY: as above; a row.
                    unsafe { copy_in_cache(from, to, bytes) };
                }
            }
            // SAFETY: as above.
            ..=2 => unsafe { self.copy_short_rows::<1>(bytes) },
            // SAFETY: as above.
            3..=4 => unsafe { self.copy_short_rows::<2>(bytes) },
            // SAFETY: as above.
            5..=8 => unsafe { self.copy_short_rows::<4>(bytes) },
            // SAFETY: as above.
            9..=16 => unsafe { self.copy_short_rows::<8>(bytes) },
            // SAFETY: as above.
            17..=32 => unsafe { self.copy_short_rows::<16>(bytes) },
            // SAFETY: as above.
            _ => unsafe { self.copy_short_rows::<32>(bytes) },
        }
    }

    /// Rows of `W..=2 * W` bytes, each as its first `W` and its last `W` bytes, which needs no
    /// branch.
    ///
    /// # Safety
    ///
    /// As for [`copy_rows`](Self::copy_rows).
    unsafe fn copy_short_rows<const W: usize>(self, bytes: usize) {
        assert!((W..=2 * W).contains(&bytes));
        for row in 0..self.rows.len {
            let (to, from) = (self.to(row, 0, 0), self.from(row, 0));
            for at in [0, bytes - W] {
                let (to, from) = (to.wrapping_add(at), from.wrapping_add(at));
                // SAFETY: `W` bytes of a row.
                unsafe { ptr::copy_nonoverlapping(from, to, W) };
            }
        }
    }

    /// `K` lines of elements that alternate: columns that are contiguous in memory to rows of the
    /// copy, or columns of memory to rows that are contiguous in the copy. Most stores begin at a
    /// cache line: `[512, 512, 3]` to `[3, 512, 512]`, `u8`, takes 59 us without, and 42 us (an
    /// Intel Xeon).
    ///
    /// # Safety
    ///
    /// As for [`Gather::copy`], with elements of the size of `B`. With `IN_COPY`, there are `K`
    /// columns, and [`alternates_in_copy`](Self::alternates_in_copy) holds; without, there are `K`
    /// rows, and [`alternates`](Self::alternates) holds.
    unsafe fn alternate<B: Copy, const K: usize, const IN_COPY: bool>(self) {
        let size = size_of::<B>();
        let part = |from: usize, to: usize| match IN_COPY {
            true => self.part([from, 0], to - from, K, size),
            false => self.part([0, from], K, to - from, size),
        };
        let (len, to_line) = match IN_COPY {
            true => (
                self.rows.len,
                self.to.cast::<[Slot<B>; K]>().align_offset(CACHE_LINE),
            ),
            false => (
                self.columns.len,
                self.to.cast::<Slot<B>>().align_offset(CACHE_LINE),
            ),
        };
        let first = to_line.min(len);
        for part in [part(0, first), part(first, len)] {
            widest(Alternate::<B, K, IN_COPY>(part, PhantomData));
        }
    }

    /// Lines of memory run down the rows: rows are copied together as many as a cache line has
    /// elements, so that each is fetched once.
    ///
    /// # Safety
    ///
    /// As for [`copy`](Self::copy).
    unsafe fn transpose<B: Copy>(self, more: usize) {
        let size = size_of::<B>();
        let (rows, columns) = (self.rows.len, self.columns.len);
        if self.rows.step == -(size as isize) {
            // From the last row on, lines run forwards.
            let (last, step) = (rows - 1, size as isize);
            let backwards = Block {
                to: self.to(last, 0, size),
                pitch: self.pitch.wrapping_neg(),
                from: self.from(last, 0),
                rows: Along { len: rows, step },
                ..self
            };
            // SAFETY: the same elements and places. With no more rows, nothing behind them is
            // written.
            return unsafe { backwards.transpose::<B>(0) };
        }
        // Rows of the copy that are a number of pages apart share few sets of a first-level cache,
        // which does not hold a line of each row of a band: 1024 x 1024 `f32` take 552 us in place,
        // and 302 through a block.
        if self.pitch % PAGE == 0 && rows > 4 && columns * size >= CACHE_LINE {
            // SAFETY: the contract of this function.
            return unsafe { self.transpose_through_block::<B>() };
        }
        // Fewer rows if rows of the copy share few sets of a cache.
        let lines = if self.pitch % (PAGE / 8) == 0 { 1 } else { 4 };
        let band = Self::band(lines, size);
        // More rows in squares if their copies stay in the first-level cache.
        let band = match const { square(size_of::<B>()) } {
            Some((side, _)) if columns >= side => band.max(BLOCK / (columns * size) / band * band),
            _ => band,
        };
        for row in (0..rows).step_by(band) {
            let height = band.min(rows - row);
            // Those after the last row are after the last band.
            let more = if row + height == rows { more } else { 0 };
            // SAFETY: a part of the block, and the rows after the last one.
            unsafe { (self.part([row, 0], height, columns, size)).transpose_band::<B>(more, rows) };
        }
    }

    /// Rows that are transposed together: as many as so many cache lines have elements. Lines that
    /// follow each other are fetched together: `f32 [2000, 3000]` in memory takes 2.1 ms by four
    /// lines, and 4.6 by one. `[1000, 256]` in the cache, whose rows are 1 KiB apart, takes 70 and
    /// 29 us.
    fn band(lines: usize, size: usize) -> usize {
        (lines * CACHE_LINE / size.max(1)).max(4)
    }

    /// [`transpose`](Self::transpose) to a block in the cache, from which each row is copied.
    ///
    /// # Safety
    ///
    /// As for [`copy`](Self::copy).
    #[inline(never)]
    unsafe fn transpose_through_block<B: Copy>(self) {
        let size = size_of::<B>();
        let (rows, columns) = (self.rows.len, self.columns.len);
        let band = rows.min(Self::band(4, size));
        let width = BLOCK / (band * size);
        let mut memory = [MaybeUninit::<u8>::uninit(); BLOCK];
        let to = memory.as_mut_ptr().cast::<u8>();
        for row in (0..rows).step_by(band) {
            for column in (0..columns).step_by(width) {
                let (height, width) = (band.min(rows - row), width.min(columns - column));
                let (part, pitch) = (self.part([row, column], height, width, size), width * size);
                assert!(height * pitch <= BLOCK);
                // SAFETY: a part of the block. There is room for it in `memory`, as asserted.
                unsafe { Block { to, pitch, ..part }.transpose_band::<B>(0, rows) };
                let back = Block {
                    from: to,
                    rows: Along {
                        len: height,
                        step: pitch as isize,
                    },
                    ..part
                };
                // SAFETY: the rows of the part, which have just been written to `memory`.
                unsafe { back.copy_rows(pitch) };
            }
        }
    }

    /// A band of [`transpose`](Self::transpose) of a block of `all` rows: squares in registers, as
    /// far as whole ones go, then single elements.
    ///
    /// # Safety
    ///
    /// As for [`copy`](Self::copy).
    #[inline(never)]
    unsafe fn transpose_band<B: Copy>(self, more: usize, all: usize) {
        let (rows, columns, size) = (self.rows.len, self.columns.len, size_of::<B>());
        let (mut row_end, mut column_end) = (0, 0);
        match const { square(size_of::<B>()) } {
            Some((side, transpose)) if self.rows.step == size as isize => {
                row_end = rows / side * side;
                column_end = columns / side * side;
                let padded = rows.next_multiple_of(side);
                if padded - rows <= more && self.columns.step == (all * size) as isize {
                    // The next column follows: its elements are read too, into the rows after the
                    // last one, but not what is behind the last column.
                    let behind = columns.saturating_sub((padded - rows).div_ceil(all));
                    (row_end, column_end) = (padded, behind / side * side);
                }
                for column in (0..column_end).step_by(side) {
                    for row in (0..row_end).step_by(side) {
                        let places = (self.to(row, column, size), self.from(row, column));
                        // SAFETY: a square of the block, or of elements that follow in memory.
                        unsafe { transpose(places, [self.pitch as isize, self.columns.step]) };
                    }
                }
            }
            _ => {}
        }
        if column_end == 0 {
            row_end = 0;
        }
        // SAFETY: an element of the block: the contract of this function.
        let each = |row, column| unsafe { self.copy_one::<B>(row, column) };
        (row_end..rows).for_each(|row| (0..column_end).for_each(|column| each(row, column)));
        // Few lines of memory are read again for each row: writing along rows is faster.
        match all < 8 {
            true => (0..rows).for_each(|row| (column_end..columns).for_each(|at| each(row, at))),
            false => (column_end..columns).for_each(|at| (0..rows).for_each(|row| each(row, at))),
        }
    }
}

/// A part of a block as [`Block::alternate`] takes it, where alone it is made.
struct Alternate<B, const K: usize, const IN_COPY: bool>(Block, PhantomData<B>);

impl<B: Copy, const K: usize, const IN_COPY: bool> Vectorize for Alternate<B, K, IN_COPY> {
    #[inline(always)]
    fn run(self) {
        // The same block, with steps that the compiler knows.
        let (mut block, size) = (self.0, size_of::<B>());
        block.rows.step = size as isize;
        let len = match IN_COPY {
            true => {
                block.pitch = K * size;
                block.rows.len
            }
            false => {
                block.columns.step = (K * size) as isize;
                block.columns.len
            }
        };
        for i in 0..len {
            for k in 0..K {
                let [row, column] = if IN_COPY { [i, k] } else { [k, i] };
                // SAFETY: an element of the block: the contract of `alternate`.
                unsafe { block.copy_one::<B>(row, column) };
            }
        }
    }

    fn run_plain(self) {
        // SAFETY: the elements of the block, and their places: the contract of `alternate`.
        unsafe { self.0.one_by_one::<B>() };
    }
}

/// A block whose columns are an element apart in memory, backwards. It is only made in
/// [`Block::copy`], which checks that.
struct Reverse<B>(Block, PhantomData<B>);

impl<B: Copy> Vectorize for Reverse<B> {
    /// The elements of a row are read in the order of memory, which prefetchers follow.
    // Not inlined by force without optimisation: its array would be on the stack of every copy.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn run(self) {
        const MANY: usize = 16;
        let (block, size) = (self.0, size_of::<B>());
        let columns = block.columns.len;
        for row in 0..block.rows.len {
            let mut left = columns;
            while left >= MANY {
                let last = block.from(row, left - 1).cast::<Slot<B>>();
                // All are read before one is written, so that the compiler needs no check for
                // overlaps.
                let mut some = [Slot::<B>(MaybeUninit::uninit()); MANY];
                for (i, element) in some.iter_mut().enumerate() {
                    // SAFETY: the element of column `left - MANY + i`, as columns are an element
                    // apart, backwards: checked in `Block::copy`, whose contract makes it readable.
                    *element = unsafe { last.wrapping_add(MANY - 1 - i).read() };
                }
                left -= MANY;
                let to = block.to(row, left, size).cast::<[Slot<B>; MANY]>();
                // SAFETY: the places of these elements: the same contract.
                unsafe { to.write(some) };
            }
            for column in 0..left {
                // SAFETY: an element of the row, and its place: the same contract.
                unsafe { block.copy_one::<B>(row, column) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All blocks of up to nine rows and columns, and some longer rows, with steps of -3 to 3
    /// elements, and of neighbours that follow each other, into rows with and without a gap.
    #[test]
    fn every_small_block_is_copied_and_nothing_else_is_written() {
        let mut cases = 0;
        for size in [1, 2, 3, 4, 8, 16, 24] {
            let lens = |rows| {
                (0..10)
                    .chain([16, 17, 33])
                    .map(move |columns| (rows, columns))
            };
            for (rows, columns) in (0..10).flat_map(lens) {
                let steps = |far: usize| (-3..=3).chain([far as isize, -(far as isize)]);
                for (down, along) in
                    steps(columns).flat_map(|down| steps(rows).map(move |along| (down, along)))
                {
                    cases += 1;
                    let gap = cases % 2 * 5;
                    for (packs, few) in [(false, false), (true, false), (true, true)] {
                        check(size, [rows, columns], [down, along], gap, packs, few);
                    }
                }
            }
        }
    }

    fn check(
        size: usize,
        [rows, columns]: [usize; 2],
        [down, along]: [isize; 2],
        gap: usize,
        packs: bool,
        few: bool,
    ) {
        const AROUND: u8 = 0xee;
        let what = format!(
            "{size} bytes, {rows} rows {down} apart, {columns} columns {along} apart, \
             {packs}, {few}"
        );
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
        let more = if packs && rows > 1 { MORE_ROWS } else { 0 };
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
        let gathers = |size| match size {
            1 => [Gather::of::<u8, true>(), Gather::of::<u8, false>()],
            2 => [Gather::of::<u16, true>(), Gather::of::<u16, false>()],
            3 => [
                Gather::of::<[u8; 3], true>(),
                Gather::of::<[u8; 3], false>(),
            ],
            4 => [Gather::of::<u32, true>(), Gather::of::<u32, false>()],
            8 => [Gather::of::<u64, true>(), Gather::of::<u64, false>()],
            16 => [Gather::of::<u128, true>(), Gather::of::<u128, false>()],
            _ => [
                Gather::of::<[u64; 3], true>(),
                Gather::of::<[u64; 3], false>(),
            ],
        };
        let gather = gathers(size)[usize::from(few)];
        match packs {
            // SAFETY: `memory` has what the steps reach, and `copy` the rows and `MORE_ROWS`.
            true => unsafe { gather.pack(block) },
            // SAFETY: as above.
            false => unsafe { gather.copy(block) },
        }
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
    }
}
