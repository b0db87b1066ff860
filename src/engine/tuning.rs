//! Sizes of the machine, and the thresholds that follow from them or were measured.
//!
//! Those of `threads` stand there. A few others stand beside the only code that they concern, such
//! as `LEAVES_AT_ONCE` in `sums/plan`.
//!
//! Unless said otherwise a measurement is of `f32` on two cores of an AMD EPYC virtual machine,
//! with 32 KiB of first-level, 1 MiB of second-level cache for each core and 32 MiB of last-level
//! cache. Those of copies are of 4 MiB on one thread.

use std::ops::RangeInclusive;

// The machine.

/// Bytes of a register of AVX2.
pub(crate) const WIDE_REGISTER: usize = 32;

/// Bytes of a cache line, which streaming stores fill whole.
pub(crate) const CACHE_LINE: usize = 64;

/// Bytes of a page of memory, the stretch that a prefetcher works in.
pub(crate) const PAGE: usize = 4 << 10;

/// Bytes of a huge page on x86-64 and, with 4 KiB base pages, on AArch64.
pub(crate) const HUGE_PAGE: usize = 2 << 20;

/// Bytes of a first-level data cache: the smallest among the processors in use.
pub(crate) const FIRST_LEVEL_CACHE: usize = 32 << 10;

/// Bytes of a second-level cache, of which a part is left for other data.
pub(crate) const SECOND_LEVEL_CACHE: usize = 1 << 20;

// All operations.

/// Axes of size above 1 that a loop nest holds without a heap allocation, counted before merging.
pub(crate) const INLINE_AXES: usize = 8;

/// From this size on a fresh allocation is advised to use huge pages.
///
/// glibc's `malloc` gives every allocation from 32 MiB up a mapping of its own (its threshold grows
/// to that and no further), so the advice never concerns memory that others use, and it ends with
/// the allocation.
pub(crate) const HUGE_PAGES_FROM: usize = 32 << 20;

/// Bytes that are built, packed or gathered at a time, and of a chunk of a map's output: half of a
/// first-level cache, so that what is read fits beside them.
///
/// Copies: 8 to 32 KiB measured the same within 3 %. Maps: the sum of a column and a row of 64 KiB
/// to 4 MiB takes the same time in chunks of 8 and 16 KiB. The sum of a product of two 256 x 256
/// takes two threads 15 us with tables of this size, and 23 us with tables four times as large.
pub(crate) const BLOCK: usize = FIRST_LEVEL_CACHE / 2;

/// Bounds of the bytes of one chunk of copies and sums. Reading is fastest in long ranges: two
/// threads sum 256 MiB in 6.8 ms by 2 MiB and in 8.1 ms by 128 KiB. Beyond a huge page, which one
/// thread should touch first, nothing is gained.
pub(crate) const CHUNK_BYTES: RangeInclusive<usize> = SECOND_LEVEL_CACHE / 8..=HUGE_PAGE;

/// So many chunks for each thread keep all of them busy to the end: others take over from a thread
/// that is held up.
pub(crate) const CHUNKS_OF_A_THREAD: usize = 32;

/// Up to this many elements are mapped or copied in the order of the axes, without a loop nest.
/// Building a nest and choosing the fastest order of its loops takes longer than the elements do: 4
/// by 4 `f32` plus a row of 4 take 46 ns without a nest, and 103 ns with one.
pub(crate) const FEW_MAPPED: usize = 64;

/// Up to this many elements in long rows are copied row by row, without a loop nest. A row of 16
/// `f32` to 16 by 16 takes 66 ns row by row and 128 ns by the kernels, one of 32 to 32 by 32 takes
/// 107 and 156 ns (an Intel Xeon). Larger squares take the same time either way.
pub(crate) const FEW_ELEMENTS: usize = 1024;

/// Elements and accumulators of at least this many bytes are moved and summed one by one. The other
/// kernels keep up to 64 of them on the stack: in a debug build a row of 6
/// elements of 128 bytes took 250 KiB of it
/// (`STACK_TABLE=1 cargo test --test stack table -- --nocapture`).
pub(crate) const LARGE_ELEMENT: usize = CACHE_LINE;

/// From this many elements on a row is walked alone. Shorter rows are walked across, many rows at a
/// time, as starting a loop costs more than so few elements. Few rows that are at least this long
/// are walked without looking for the fastest order.
pub(crate) const LONG_ROW: usize = 16;

/// From this many bytes on wide registers pay: 10 KB of one element take 1.0 us by registers of 32
/// bytes and 2.8 us by those of 16; copies of 4 MiB in rows or repeated pieces take two threads 5
/// to 8 % less by registers of 32 bytes, at multiples of 32, than with the `memcpy` of glibc.
pub(crate) const WIDE_FROM: usize = 8 * WIDE_REGISTER;

/// Outputs of fewer bytes are mapped without wide registers. Calling a function that is compiled
/// for them takes 20 ns: 16 by 16 `f32` plus a row take 65 ns without wide vectors and 85 ns with
/// them, 64 by 64 take 440 and 350 ns, and a polynomial of these 3.3 and 1.8 us (an Intel Xeon).
pub(crate) const WIDE_MAPPED_FROM: usize = 4 << 10;

/// Side of the squares that are walked where an input is contiguous along another axis than the
/// output. Up to this many short rows are copied from the one source row that they repeat, as
/// repetition loads bytes that straddle recent stores, so that store forwarding fails:
/// `[N, 1, 16]` to `[N, 8, 16]`, `f32`, takes 220 us by repetition and 160 us from the source.
pub(crate) const SQUARE: usize = 32;

/// Bytes of a chunk of an output that has `bytes` bytes. Outputs of more than one and up to four
/// [`BLOCK`] are cut into smaller chunks. The first two chunks run on the calling thread, which
/// measures them: of two or three large chunks, none or one would be left for other threads.
pub(crate) fn map_chunk(bytes: usize) -> usize {
    match (BLOCK + 1..=4 * BLOCK).contains(&bytes) {
        true => BLOCK / 4,
        false => BLOCK,
    }
}

/// Thresholds of copies alone.
pub(crate) mod copies {
    use super::{FIRST_LEVEL_CACHE, SECOND_LEVEL_CACHE, WIDE_REGISTER};

    /// Existing memory of this many bytes is written past the cache, if the source replicates: four
    /// times a last-level cache of 32 MiB. What is streamed is not in the cache for its next
    /// reader. 256 MiB of one row, or of copies of a column, take two threads 12 ms past the cache
    /// and 20 ms through it (an Intel Xeon).
    pub(crate) const STREAMED_FROM: usize = 128 << 20;

    /// Bytes that are copied to all of their places before others are, if `bytes` are written: a
    /// quarter of a first-level cache, which keeps them beside what is written. 4 MiB of copies of
    /// 16 KiB take 59 us, of 32 KiB and more 86 us, in such parts 54 us. Memory is written faster
    /// in long runs: 32 MiB of copies of 512 KiB take 2.8 ms, in such parts 3.5 ms.
    pub(crate) const fn repeated(bytes: usize) -> usize {
        match bytes <= 8 * SECOND_LEVEL_CACHE {
            true => FIRST_LEVEL_CACHE / 4,
            false => SECOND_LEVEL_CACHE / 2,
        }
    }

    /// Bytes that are repeated at a time with plain stores: periods of 256 bytes take 53 us, and 60
    /// us with pieces as long as the block, which push the source out of the first-level cache.
    pub(crate) const SHORT_REPEAT: usize = 2 << 10;

    /// Rows and columns from which a transposed matrix is cut into squares. 4 by 6 matrices take
    /// 770 us in squares and 670 us row by row; 4 by 8 take 590 us either way; 2 or 3 rows of 64
    /// take 890 and 670 us in squares, 140 and 170 us row by row.
    pub(crate) const TRANSPOSED_FROM: [usize; 2] = [4, 8];

    /// Rows of up to this many bytes are copied as their first and their last bytes: two pieces of
    /// 1, 2, 4, 8, 16 or 32 bytes cover each of these lengths, and no more fit into two wide
    /// registers. Rows of 2 `f32`, with a gap between them, take 5 times as long by `memcpy`.
    pub(crate) const SHORT_ROW: usize = 2 * WIDE_REGISTER;

    /// Planes of up to this many bytes are copied many at a time. One by one each costs some 16 ns:
    /// 4.2 ms for `[N, 1, 2]` to `[N, 2, 2]`, `f32`, and 0.26 ms together. Larger planes begin so
    /// far apart that this gains nothing.
    pub(crate) const SMALL_PLANE: usize = 256;

    /// Fewer planes than this are not worth it.
    pub(crate) const MANY_PLANES: usize = 4;
}
