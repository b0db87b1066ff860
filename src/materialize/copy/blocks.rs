//! Streaming through a block: output is built in the cache, and whole lines of it are streamed.

use super::fill::fill;
use super::operands::{Block, Region};
use crate::engine::machine::Streamer;
use crate::engine::tuning::{BLOCK, CACHE_LINE};

/// Copies a region that is dense in output, block by block.
pub(super) fn stream_blocks(mut region: Region, streamer: &Streamer) {
    let (range, size) = (region.range(), region.kernels().size);
    let mut block = Block::NEW;
    // Bytes in the line before the block: the incomplete line that the block before has left.
    let mut carry = 0;
    // Bytes of output that are streamed.
    let mut done = 0;
    let mut next = range.start;
    while next < range.end {
        let count = (BLOCK / size).min(range.end - next);
        fill(region.built_in(next..next + count, block.block()));
        next += count;
        let begin = CACHE_LINE - carry;
        let end = CACHE_LINE + count * size;
        let to = &mut region.out()[done..];
        let mut len = end - begin;
        if next < range.end {
            // Ends where a line ends; the rest is streamed together with the next block.
            len -= to[len..].as_ptr().addr() % CACHE_LINE;
        }
        streamer.copy(&block.line_and_block()[begin..begin + len], &mut to[..len]);
        done += len;
        carry = end - begin - len;
        block
            .line_and_block()
            .copy_within(begin + len..end, CACHE_LINE - carry);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Element, check, check_standard, sparse};

    #[test]
    fn every_alignment() {
        fn aligned<A: Element>(shift: usize) {
            check::<A>(&[900, 7], &[7, 1], &[0, 1], shift);
            check::<A>(&[900, 7], &[7, 1], &[1, 0], shift);
            check::<A>(&[6000], &[1], &[1], shift);
            check::<A>(&[6000], &[1], &[0], shift);
            check::<A>(&[2, 9000], &[9000, 1], &[0, 1], shift);
            check::<A>(&[20, 300], &[300, 1], &[1, 0], shift);
            check::<A>(&[3, 50, 40], &[2000, 40, 1], &[0, 1, 50], shift);
            check::<A>(&[200, 100], &[100, 1], &[1, 200], shift);
        }
        // Every byte of a cache line that an element may begin at.
        (0..64).for_each(aligned::<u8>);
        for shift in (0..64).step_by(5) {
            aligned::<[u8; 3]>(shift);
            aligned::<(u8, u16)>(shift % 32);
        }
        (0..32).step_by(sparse(3)).for_each(aligned::<u16>);
        (0..16).for_each(aligned::<f32>);
        (0..16).step_by(sparse(3)).for_each(aligned::<[f32; 3]>);
        (0..8).for_each(aligned::<f64>);
        (0..4).for_each(aligned::<u128>);
    }

    #[test]
    fn rows_around_the_longest_built_one() {
        for (shape, from) in [
            (&[64, 1023][..], &[2048, 1][..]),
            (&[64, 1024], &[2048, 1]),
            (&[64, 1024], &[4096, 2]),
            (&[4, 256], &[600, 1]),
            (&[4, 255], &[600, 1]),
            (&[1000, 341], &[1, 0]),
            (&[100, 3], &[1, 0]),
            (&[100_000, 3], &[1, 0]),
        ] {
            check_standard::<f32>(shape, from);
            let gap = [shape[1] as isize + 5, 1];
            check::<f32>(shape, &gap, from, 3);
        }
    }
}
