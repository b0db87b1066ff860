//! Every threshold of the engine: what it is, what was measured, and how it follows from the caches.
//!
//! Unless said otherwise a measurement is of `f32` on two cores of an AMD EPYC virtual machine, with 32 KiB of first-level, 1 MiB of
//! second-level cache for each core and 32 MiB of last-level cache.

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
