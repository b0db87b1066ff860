//! Every threshold of the engine: what it is, what was measured, and how it follows from the
//! caches.
//!
//! Unless said otherwise a measurement is of `f32` on two cores of an AMD EPYC virtual machine,
//! with 32 KiB of first-level, 1 MiB of second-level cache for each core and 32 MiB of last-level
//! cache.

use std::sync::OnceLock;

/// Axes of a loop nest that are kept without a heap allocation. Merging rarely leaves more.
pub(crate) const INLINE_AXES: usize = 8;

/// Bytes of a cache line, which streaming stores fill whole.
pub(crate) const CACHE_LINE: usize = 64;

/// Bytes of a huge page on x86-64 and, with 4 KiB base pages, on AArch64.
pub(crate) const HUGE_PAGE: usize = 2 << 20;

/// From this size on a fresh allocation is advised to use huge pages.
///
/// glibc's `malloc` gives every allocation from 32 MiB up a mapping of its own (its threshold grows
/// to that and no further), so the advice never concerns memory that others use, and it ends with
/// the allocation.
pub(crate) const HUGE_PAGES_FROM: usize = 32 << 20;

/// Bytes of the last-level cache, read once; 32 MiB where the system does not say.
pub(crate) fn last_level_cache() -> usize {
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

// Maps: closures over rows of several operands.

/// Rows at least this long are walked one by one. Shorter rows are walked across, many rows at a
/// time, as starting a loop costs more than so few elements.
pub(crate) const MAP_LONG_ROW: usize = 16;

/// How many short rows are walked across at a time: what they touch stays in the first-level cache.
pub(crate) const ROWS_ACROSS: usize = 256;

/// Side of the squares that are walked where an input is contiguous along another axis than the
/// output.
pub(crate) const SQUARE: usize = 32;

/// Elements of a chunk. A slow closure is shared in chunks of so few elements; a fast one takes
/// many chunks at once.
pub(crate) const MAP_CHUNK: usize = 256;

/// Bytes of a chunk of a streamed output.
pub(crate) const MAP_STREAM_CHUNK: usize = 64 << 10;

/// Bytes of the block that results are computed into before they are streamed out of it. Measured
/// on 256 MiB: with 4 KiB the reads of one block and the writes of the last overlap; 1 KiB takes a
/// quarter longer, and so does 16 KiB.
pub(crate) const MAP_BLOCK: usize = 4 << 10;

/// Neighbours in the output must be this many bytes to be streamed, as the cache lines at their
/// ends are written twice.
pub(crate) const MAP_STREAM_RUN_FROM: usize = 4 << 10;

/// Existing outputs from this size on are streamed: as much as the last-level cache holds. A
/// smaller output may be read from the cache next.
pub(crate) fn map_stream_from() -> usize {
    last_level_cache()
}

/// Into how many chunks an output with drop glue is cut at most: so many counts fit on the stack.
pub(crate) const COUNTED_CHUNKS: usize = 64;

/// Elements of such a chunk at least.
pub(crate) const COUNTED_CHUNK_FROM: usize = 1024;
