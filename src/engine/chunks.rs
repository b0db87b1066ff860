//! Cutting a length of elements into chunks that threads can work on.

use super::machine::WIDE_REGISTER;
use super::tuning::MAP_ALIGNED_ROW;
use std::ops::Range;

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

    /// The number of chunks.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        if self.len == 0 {
            0
        } else {
            (self.lead + self.len.saturating_mul(self.element_size)).div_ceil(self.chunk_bytes)
        }
    }

    /// The elements of the chunks `chunks`.
    #[inline]
    pub(crate) fn range(&self, chunks: Range<usize>) -> Range<usize> {
        self.begin(chunks.start)..self.begin(chunks.end)
    }

    /// How many of the elements of a row lie before the first at which a vector begins, if that
    /// is the same for all rows. 0 if rows are so short that aligned vectors gain nothing.
    ///
    /// A row has `len` elements, the first of them `offset` elements after the first of all.
    #[inline]
    pub(crate) fn before_vectors(&self, offset: isize, row_stride: isize, len: usize) -> usize {
        let size = self.element_size;
        if len.saturating_mul(size) < MAP_ALIGNED_ROW {
            return 0;
        }
        let bytes = |offset: isize| (offset as usize).wrapping_mul(size);
        let head = bytes(offset).wrapping_add(self.lead).wrapping_neg() % WIDE_REGISTER;
        match bytes(row_stride) % WIDE_REGISTER == 0 && head % size == 0 {
            true => head / size,
            false => 0,
        }
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

    #[test]
    fn long_rows_are_cut_where_a_vector_begins_in_all_of_them() {
        for (element_size, address, offset, row_stride, expected) in [
            (4, 4096, 0, 2048, 0),
            (4, 4112, 0, 2048, 4),
            (4, 4112, 3, 2048, 1),
            (4, 4112, -3, -2048, 7),
            (4, 4112, 0, 2049, 0),
            (1, 4097, 0, 0, 31),
            (2, 4097, 0, 0, 0),
            (12, 4104, 0, 0, 2),
            (8, 4104, 0, 4, 3),
        ] {
            let chunks = Chunks::new(1 << 20, element_size, address, 8192);
            let found = chunks.before_vectors(offset, row_stride, 4096);
            assert_eq!(found, expected, "{element_size} {address} {offset}");
            assert_eq!(chunks.before_vectors(offset, row_stride, 100), 0);
        }
    }
}
