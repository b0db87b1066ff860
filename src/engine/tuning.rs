//! Thresholds of maps, copies and sums: what each is, what was measured, and how it follows from
//! the caches. Those of `threads` stand there. A few others stand beside the only code that they
//! concern, such as `LEAVES_AT_ONCE` in `sums`.
//!
//! Unless said otherwise a measurement is of `f32` on two cores of an AMD EPYC virtual machine,
//! with 32 KiB of first-level, 1 MiB of second-level cache for each core and 32 MiB of last-level
//! cache.

use std::fs::File;
use std::io::Read;
use std::ops::RangeInclusive;
use std::sync::OnceLock;

/// Axes of size above 1 that a loop nest holds without a heap allocation, counted before merging.
pub(crate) const INLINE_AXES: usize = 8;

/// Bytes of a cache line, which streaming stores fill whole.
pub(crate) const CACHE_LINE: usize = 64;

/// Bytes of a page of memory, the stretch that a prefetcher works in.
pub(crate) const PAGE: usize = 4 << 10;

/// Bytes of a huge page on x86-64 and, with 4 KiB base pages, on AArch64.
pub(crate) const HUGE_PAGE: usize = 2 << 20;

/// From this size on a fresh allocation is advised to use huge pages.
///
/// glibc's `malloc` gives every allocation from 32 MiB up a mapping of its own (its threshold grows
/// to that and no further), so the advice never concerns memory that others use, and it ends with
/// the allocation.
pub(crate) const HUGE_PAGES_FROM: usize = 32 << 20;

/// The thresholds of owned copies. Times are of 4 MiB on one thread, unless the text says more.
pub(crate) mod copies {
    use super::{HUGE_PAGE, last_level_cache};
    use std::ops::RangeInclusive;

    /// Existing memory of this many bytes is written past the cache: 5/8 of the last-level cache,
    /// but no more than 64 MiB.
    ///
    /// With 32 MiB of last-level cache, one core overwrites a buffer with plain stores at 16 us per
    /// MiB if the buffer has 4 MiB, 33 if 16, 42 if 20, 55 if 28 and 60 beyond. Streamed, it takes
    /// 37 us per MiB for any size.
    ///
    /// A cache of hundreds of MiB is shared by many cores, and a process may have few of them.
    /// Measured on two cores of an Intel Xeon whose last-level cache has 480 MiB, with a repeated
    /// row: 64 MiB take 1.5 ms with plain stores and streamed, 256 MiB 17 ms with plain stores and
    /// 11 ms streamed.
    pub(crate) fn stream_copies_from() -> usize {
        (last_level_cache() / 8 * 5).min(64 << 20)
    }

    /// Bytes of the block on the stack in which output is built before it is streamed or repeated:
    /// half of a first-level cache of 32 KiB, so that source lines fit beside it. 8 to 32 KiB
    /// measured the same within 3 %.
    pub(crate) const BLOCK: usize = 16 << 10;

    /// The longest period of which a block holds two, in bytes.
    pub(crate) const SHORT_PERIOD: usize = BLOCK / 2;

    /// Bytes that are repeated at a time with plain stores. Periods of 256 bytes take 53 us. With
    /// pieces as long as the block, which push the source out of the first-level cache, they take
    /// 60 us.
    pub(crate) const SHORT_REPEAT: usize = 2 << 10;

    /// The longest period that is built for several of its places, in bytes. Four of them are then
    /// one chunk of work.
    pub(crate) const LONGEST_PERIOD: usize = HUGE_PAGE / 2;

    /// Up to this many elements in long rows are copied row by row, which needs no loop nest. A row
    /// of 16 `f32` to 16 by 16 takes 66 ns row by row and 128 ns by the kernels, one of 32 to 32 by
    /// 32 takes 107 and 156 ns (an Intel Xeon). Larger squares take the same time either way.
    pub(crate) const FEW_COPIED: usize = 1024;

    /// With this many repeats the cost of building the period is negligible. With fewer, the period
    /// may be a part of a longer one that repeats at least as often: eight axes, every other one
    /// replicated 4 times and the first 64 times, take 210 us on two threads if periods of 4 KiB
    /// are built for 4 places each, and 120 us if those of 64 KiB are built for 8.
    pub(crate) const MANY_REPEATS: usize = 16;

    /// Rows of at least this many bytes are streamed from the source without a block: the
    /// incomplete lines at their ends are then below 4 % of them. A replicated axis is written by
    /// repetition if it covers at least this many contiguous bytes of output.
    pub(crate) const LONG_ROW: usize = 4 << 10;

    /// The same for repetition where output is streamed and continues after the axis, because each
    /// repetition may begin and end within a line. 256 MiB in runs of 5 KiB take 28 to 30 ps a byte
    /// by repetition, and 18 in blocks that end with lines; in runs of 33 KiB they take 18 and 20.
    pub(crate) const LONG_STREAMED_REPEAT: usize = 32 << 10;

    /// Rows and columns from which a transposed matrix is cut into squares. 4 by 6 matrices take
    /// 770 us in squares and 670 us row by row; 4 by 8 take 590 us either way; 2 or 3 rows of 64
    /// take 890 and 670 us in squares, 140 and 170 us row by row.
    pub(crate) const TRANSPOSED_FROM: [usize; 2] = [4, 8];

    /// Bounds of the bytes of one chunk of work. With a lower bound of 256 KiB, 4 MiB on two
    /// threads take up to 5 % longer. Beyond a huge page, which one thread should touch first,
    /// nothing is gained.
    pub(crate) const CHUNK_BYTES: RangeInclusive<usize> = 64 << 10..=HUGE_PAGE;

    /// Planes of fewer bytes than this are not expanded by shuffles: building the table of shuffles
    /// takes some 100 ns.
    pub(crate) const LONG_EXPANSION: usize = 2 << 10;

    /// The longest rows that are expanded by shuffles, in bytes: four registers.
    pub(crate) const LONGEST_EXPANDED: usize = 64;

    /// Planes of up to this many bytes whose rows are few copies of one element are interleaved:
    /// `[256]` to `[256, 3]`, `f32`, takes 0.13 us interleaved and 0.45 by a table of shuffles; 256
    /// KiB of `u8`, `[N, 1, N, 1]` to `[N, 2, N, 2]`, 19 us instead of 57. Longer ones are faster
    /// by shuffles.
    pub(crate) const SHORT_SPLAT: usize = 8 << 10;

    /// Rows of this many bytes are copied as their first and their last bytes: two pieces of 4, 8,
    /// 16 or 32 bytes cover each of these lengths. A row of fewer bytes has no such piece, and more
    /// bytes do not fit into two wide registers.
    pub(crate) const SHORT_ROW: RangeInclusive<usize> = 4..=64;

    /// Up to this many short rows are copied from the one source row that they repeat. Repetition
    /// loads bytes that straddle recent stores, so store forwarding fails: `[N, 1, 16]` to
    /// `[N, 8, 16]`, `f32`, takes 220 us by repetition and 160 us from the source. From 64 rows on
    /// repetition is faster.
    pub(crate) const FEW_ROWS: usize = 32;

    /// Planes of up to this many bytes are copied many at a time. One by one each costs some 16 ns:
    /// 4.2 ms for `[N, 1, 2]` to `[N, 2, 2]`, `f32`, and 0.26 ms together. Larger planes begin so
    /// far apart that this gains nothing.
    pub(crate) const SMALL_PLANE: usize = 256;

    /// Fewer planes than this are not worth it.
    pub(crate) const MANY_PLANES: usize = 4;

    /// Fewer bytes than this are filled with one element without asking for wide registers. From
    /// 256 bytes on it pays: 10 KB take 1.0 us by registers of 32 bytes and 2.8 us by those of 16.
    pub(crate) const FILL_WIDE_FROM: usize = 256;
}

/// Bytes of the last-level cache, read once; 32 MiB if the system does not say, or says less than
/// 1 MiB.
pub(crate) fn last_level_cache() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| read_last_level_cache().unwrap_or(32 << 20))
}

/// Linux lists the caches of a processor in these files, as in `32768K`. They are read from the
/// last level down. Nothing here allocates, as an allocation that fails would abort.
fn read_last_level_cache() -> Option<usize> {
    const FILES: [&str; 3] = [
        "/sys/devices/system/cpu/cpu0/cache/index3/size",
        "/sys/devices/system/cpu/cpu0/cache/index2/size",
        "/sys/devices/system/cpu/cpu0/cache/index1/size",
    ];
    let size = |file: &&str| {
        let mut text = [0; 16];
        let len = File::open(file).ok()?.read(&mut text).ok()?;
        let text = std::str::from_utf8(&text[..len]).ok()?;
        let kibibytes: usize = text.trim().strip_suffix('K')?.parse().ok()?;
        kibibytes.checked_mul(1024)
    };
    FILES
        .iter()
        .find_map(size)
        .filter(|&bytes| bytes >= 1 << 20)
}

// Maps: closures over rows of several operands.

/// Up to this many elements are mapped or copied in the order of the axes, without a loop nest.
/// Building a nest and choosing the fastest order of its loops takes longer than the elements do: 4
/// by 4 `f32` plus a row of 4 take 46 ns without a nest, and 103 ns with one.
pub(crate) const FEW_MAPPED: usize = 64;

/// Outputs of fewer bytes are mapped without wide vectors. Calling a function that is compiled for
/// them takes 20 ns: 16 by 16 `f32` plus a row take 65 ns without wide vectors and 85 ns with them,
/// 64 by 64 take 440 and 350 ns, and a polynomial of these 3.3 and 1.8 us (an Intel Xeon).
pub(crate) const WIDE_MAPPED_FROM: usize = 4 << 10;

/// Up to this many elements are reduced without a loop nest and a plan.
pub(crate) const FEW_REDUCED: usize = 1024;

/// Rows at least this long are walked one by one. Shorter rows are walked across, many rows at a
/// time, as starting a loop costs more than so few elements. Few rows that are at least this long
/// are walked without looking for the fastest order.
pub(crate) const MAP_LONG_ROW: usize = 16;

/// How many short rows are walked across at a time: what they touch stays in the first-level cache.
pub(crate) const ROWS_ACROSS: usize = 256;

/// Side of the squares that are walked where an input is contiguous along another axis than the
/// output.
pub(crate) const SQUARE: usize = 32;

/// Bytes of all blocks that parts of inputs are copied to: half of a first-level cache, beside what
/// is read and written.
pub(crate) const PACKED: usize = FIRST_LEVEL_CACHE / 2;

/// Bytes of a chunk of output. Slow closures are shared by chunks; an output that is no longer
/// stays on the calling thread, which then does not read the clock: 64 rows of 72 `f32` plus a row
/// take 390 ns in one chunk, and 500 ns in two (an Intel Xeon). The sum of a column and a row,
/// `f32`, of 64 KiB to 4 MiB takes the same time in chunks of 8 and 16 KiB.
pub(crate) const MAP_CHUNK: usize = 16 << 10;

/// Bytes of a chunk of an output that has `bytes` bytes. Outputs of more than one and up to four
/// [`MAP_CHUNK`] are cut into smaller chunks. The first two chunks run on the calling thread, which
/// measures them: of two or three large chunks, none or one would be left for other threads.
pub(crate) fn map_chunk(bytes: usize) -> usize {
    match (MAP_CHUNK + 1..=4 * MAP_CHUNK).contains(&bytes) {
        true => MAP_CHUNK / 4,
        false => MAP_CHUNK,
    }
}

/// The largest number of chunks of an output whose elements have drop glue. Each chunk has a count
/// of its initialised elements; this many counts fit on the stack.
pub(crate) const COUNTED_CHUNKS: usize = 64;

/// Elements of such a chunk at least.
pub(crate) const COUNTED_CHUNK_FROM: usize = 1024;

// Sums.
//
// Figures are for 256 MiB in memory unless they say otherwise.

/// Bytes of a first-level data cache: the smallest among the processors in use.
const FIRST_LEVEL_CACHE: usize = 32 << 10;

/// Bytes of a second-level cache, of which a part is left for other data.
pub(crate) const SECOND_LEVEL_CACHE: usize = 1 << 20;

/// Columns of one row that are summed together take at most this many bytes: two pages of a row are
/// read in order, and their 16 lanes stay in the second-level cache. One thread sums the first axis
/// of `f64` 2048 x 1024 in 352 us, and in 542 us with rows half as long.
pub(crate) const SUM_ROW: usize = SECOND_LEVEL_CACHE / 128;

/// A table of terms takes at most this many bytes, half of a first-level cache. Tables of the
/// smallest allowed width may be larger, and so may tables of one column whose terms are far apart.
/// The sum of a product of two 256 x 256 `f32` takes two threads 15 us with tables of this size,
/// and 23 us with tables four times as large.
pub(crate) const SUM_TABLE: usize = FIRST_LEVEL_CACHE / 2;

/// Tables in which the leaves of many columns wait take at most this many bytes, so that they stay
/// in the second-level cache.
pub(crate) const SUM_TABLES: usize = SECOND_LEVEL_CACHE / 4;

/// Bytes of terms that a thread takes at once: the terms of all sums are cut into
/// [`MANY_SUM_CHUNKS`] within these bounds. Reading is fastest in long ranges: two threads take 6.8
/// ms by 2 MiB and 8.1 ms by 128 KiB.
pub(crate) const SUM_CHUNK: RangeInclusive<usize> = 128 << 10..=2 << 20;

/// This many chunks keep all threads busy to the end.
pub(crate) const MANY_SUM_CHUNKS: usize = 64;

/// Elements of at least this many bytes are summed one by one, in tables on the heap. Maps read
/// them by one loop, and do not pack them. The other kernels keep up to 64 elements on the stack:
/// in a debug build a row of 6 elements of 128 bytes took 250 KiB of it
/// (`STACK_TABLE=1 cargo test --test stack table -- --nocapture`).
pub(crate) const LARGE_ELEMENT: usize = 64;

/// Fewer bytes than this are copied by `memcpy`, which is then as fast as wide registers.
///
/// From here on registers of 32 bytes that begin at multiples of 32 are ahead: copies of 4 MiB in
/// rows or repeated pieces take two threads 5 to 8 % less than with the `memcpy` of glibc.
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
pub(crate) const COPY_WIDE_FROM: usize = 256;
