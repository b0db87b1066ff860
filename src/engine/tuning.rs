//! Every threshold of the engine: what it is, what was measured, and how it follows from the caches.
//!
//! Unless said otherwise a measurement is of `f32` on two cores of an AMD EPYC virtual machine, with 32 KiB of first-level, 1 MiB of
//! second-level cache for each core and 32 MiB of last-level cache.

use std::ops::RangeInclusive;
use std::sync::OnceLock;

/// Bytes of a cache line, which streaming stores fill whole.
pub(crate) const CACHE_LINE: usize = 64;

/// Bytes of a huge page on x86-64 and, with 4 KiB base pages, on AArch64.
pub(crate) const HUGE_PAGE: usize = 2 << 20;

/// From this size on a fresh allocation is advised to use huge pages.
///
/// glibc's `malloc` gives every allocation from 32 MiB up a mapping of its own (its threshold grows to that and no further), so the
/// advice never concerns memory that others use, and it ends with the allocation.
pub(crate) const HUGE_PAGES_FROM: usize = 32 << 20;

/// Bytes of the last-level cache, read once; 32 MiB where the system does not say.
fn last_level_cache() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| read_last_level_cache().unwrap_or(32 << 20))
}

/// Linux lists the caches of each processor, from the first level on, in these files: `32768K`.
fn read_last_level_cache() -> Option<usize> {
    let size = |index: usize| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size");
        let text = std::fs::read_to_string(path).ok()?;
        let kibibytes: usize = text.trim().strip_suffix('K')?.parse().ok()?;
        kibibytes.checked_mul(1024)
    };
    (0..8)
        .map_while(size)
        .filter(|&bytes| bytes >= 1 << 20)
        .last()
}

// Sums.
//
// Figures are for 256 MiB in memory unless they say otherwise.

/// Bytes of a first-level data cache: the smallest among the processors in use.
const FIRST_LEVEL_CACHE: usize = 32 << 10;

/// Bytes of a page of memory, the stretch that a prefetcher works in.
const PAGE: usize = 4 << 10;

/// Columns of one row that are summed together take at most as many bytes: their 16 lanes fill a
/// first-level cache.
pub(crate) const SUM_ROW: usize = FIRST_LEVEL_CACHE / 16;

/// Rows are not cut narrower than this to get more units of work. 4096 rows of 256 `f32` take two
/// threads 33 us whole and 45 us in quarters.
pub(crate) const NARROW_SUM_ROW: usize = SUM_ROW / 2;

/// With fewer columns side by side than this, blocks are copied together before they are summed.
pub(crate) const FEW_COLUMNS: usize = 8;

/// A block that is copied together takes at most as many bytes, unless it is one column: half of a
/// first-level cache.
pub(crate) const GATHERED_BLOCK: usize = FIRST_LEVEL_CACHE / 2;

/// Most columns in a unit of work whose columns are summed one by one, and most elements in 16 rows
/// that are read as a table.
pub(crate) const MANY_COLUMNS: usize = 1024;

/// Bytes of terms that a thread takes at once: the terms of a sum are cut into [`MANY_SUM_CHUNKS`]
/// within these bounds. Reading is fastest in long ranges: two threads take 6.8 ms by 2 MiB and 8.1
/// ms by 128 KiB.
pub(crate) const SUM_CHUNK: RangeInclusive<usize> = 128 << 10..=2 << 20;

/// So many chunks keep all threads busy to the end.
pub(crate) const MANY_SUM_CHUNKS: usize = 64;

/// With fewer units of work than this, the terms of each sum are cut too, so that there are
/// [`MANY_SUM_CHUNKS`] units.
pub(crate) const FEW_SUM_UNITS: usize = 32;

/// Long ranges are read at as many places in turn, as each of them has a prefetcher at work: two
/// threads take 6.0 ms by 2 MiB so, and 6.8 ms from end to end.
pub(crate) const READ_STREAMS: usize = 4;

/// Bytes at each of these places at least. With 32 KiB they gain nothing.
pub(crate) const READ_STREAM: usize = 128 << 10;

/// Blocks of one column whose sums are kept until they are added up: 2 MiB of `f32`, the longest
/// range that a thread takes.
pub(crate) const BLOCKS_AT_ONCE: usize = 512;

/// Columns whose lanes are added together, step by step for all of them: to add up the lanes of one
/// column takes longer than to fill them. Rows of 15 `f32` take 8.5 ms so and 31 ms one by one.
pub(crate) const COLUMNS_AT_ONCE: usize = 32;

/// Rows of more terms than this, up to 16, are added together so; shorter ones take no longer than
/// they are read for.
pub(crate) const SHORT_ROW_TERMS: usize = 10;

/// Bytes of 16 rows of a table up to which it is read in four streams, which are so near to each
/// other that they are as one.
pub(crate) const NEAR_STREAMS: usize = 256;

/// Bytes of 16 rows from which a table is read in eight streams, each in a page of its own. Eight
/// streams in one page are what prefetchers do worst: rows of 16 `f32` take 22 ms so, 13 ms if each
/// group is copied first, and 10 ms in one stream.
pub(crate) const APART_STREAMS: usize = PAGE;

/// Bytes of sums side by side that are worth going past the cache.
pub(crate) const STREAM_SUMS_ROW: usize = 1 << 10;

/// Whether so many bytes of sums go past the cache to existing memory: from three quarters of the
/// last-level cache on. With rows of 3 `f32` summed into 85 MiB, 8 ms instead of 10, as these are
/// not read first.
pub(crate) fn sums_are_streamed(bytes: usize) -> bool {
    // The cache's size is read from files, and is 1 MiB or more.
    bytes >= 3 << 18 && bytes >= last_level_cache() / 4 * 3
}
