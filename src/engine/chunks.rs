//! Cutting a length of elements into chunks that threads can work on.

use super::threads::{Cost, for_each_range};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A length of elements cut into chunks at the addresses that are multiples of a number of bytes.
///
/// Chunks that begin at cache lines or pages are each written by one thread alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunks {
    len: usize,
    element_size: usize,
    chunk_bytes: usize,
    /// Bytes between the boundary before the first element and that element.
    lead: usize,
}

impl Chunks {
    /// Cuts `len` elements of `element_size` bytes, the first one at `address`.
    ///
    /// A chunk holds the elements that begin between one multiple of `chunk_bytes` and the next.
    #[inline]
    pub(crate) fn new(len: usize, element_size: usize, address: usize, chunk_bytes: usize) -> Self {
        Chunks {
            len,
            element_size: element_size.max(1),
            chunk_bytes,
            lead: address % chunk_bytes,
        }
    }

    /// Whether the elements are no more than a chunk, wherever they begin.
    #[inline]
    pub(crate) fn is_one(&self) -> bool {
        self.len.saturating_mul(self.element_size) <= self.chunk_bytes
    }

    /// Calls `f` with ranges that together are all elements, each of some chunks, on as many
    /// threads as `cost` is worth. Returns the sum of what it returns.
    pub(crate) fn for_each(&self, cost: Cost, f: impl Fn(Range<usize>) -> usize + Sync) -> usize {
        let sum = AtomicUsize::new(0);
        for_each_range(self.count(), cost, |chunks| {
            // Relaxed: `for_each_range` waits for all threads before the sum is read.
            sum.fetch_add(f(self.range(chunks)), Ordering::Relaxed);
        });
        sum.into_inner()
    }

    /// The number of chunks. The sum does not overflow, as an array has at most `isize::MAX` bytes.
    #[inline]
    fn count(&self) -> usize {
        if self.len == 0 {
            0
        } else {
            (self.lead + self.len.saturating_mul(self.element_size)).div_ceil(self.chunk_bytes)
        }
    }

    /// The elements of the chunks `chunks`.
    #[inline]
    fn range(&self, chunks: Range<usize>) -> Range<usize> {
        self.begin(chunks.start)..self.begin(chunks.end)
    }

    #[inline]
    fn begin(&self, chunk: usize) -> usize {
        let bytes = (chunk.saturating_mul(self.chunk_bytes)).saturating_sub(self.lead);
        bytes.div_ceil(self.element_size).min(self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::Chunks;

    #[test]
    fn chunks_cover_every_element_once_and_begin_at_boundaries() {
        for (len, element_size, address, chunk_bytes) in [
            (0, 4, 64, 64),
            (1, 4, 60, 64),
            (1000, 4, 4, 64),
            (1000, 12, 20, 64),
            (1000, 3, 1, 128),
            (17, 100, 50, 64),
            (1000, 0, 1, 64),
        ] {
            let chunks = Chunks::new(len, element_size, address, chunk_bytes);
            let mut next = 0;
            for chunk in 0..chunks.count() {
                let range = chunks.range(chunk..chunk + 1);
                assert_eq!(range.start, next);
                next = range.end;
                let first = address + range.start * element_size;
                if chunk > 0 && element_size > 0 && !range.is_empty() {
                    assert!(first % chunk_bytes < element_size);
                }
            }
            assert_eq!(next, len);
        }
    }
}
