//! Regions that are dense in output and whose outermost axis replicates what is inside it: built
//! once, repeated.

use super::super::axes::positions;
use super::blocks::stream_blocks;
use super::fill::{fill, fill_repeated};
use super::operands::{Block, Region};
use super::rows;
use crate::engine::machine::Streamer;
use crate::engine::tuning::copies::SHORT_PERIOD;
use crate::engine::tuning::{BLOCK, CACHE_LINE};

/// Copies a region whose period has at most [`SHORT_PERIOD`] bytes.
pub(super) fn copy_repeated(region: Region, streamer: Option<&Streamer>) {
    match streamer {
        Some(streamer) => stream_repeated(region, streamer),
        None => fill_repeated(region),
    }
}

/// [`copy_repeated`], from a block that holds several periods.
fn stream_repeated(mut region: Region, streamer: &Streamer) {
    let (range, size) = (region.range(), region.kernels().size);
    let period = positions(&region.axes()[1..]);
    debug_assert!(period * size <= SHORT_PERIOD);
    let mut block = Block::NEW;
    let filled = range.len().min(BLOCK / size / period * period);
    let built = &mut block.block()[..filled * size];
    // The range may begin in the middle of a period: what follows any position is periodic, too.
    let first = range.start..range.start + period.min(filled);
    fill(region.built_in(first.clone(), built));
    rows::repeat(built, first.len() * size);
    let period = period * size;
    let mut out = region.out();
    let mut phase = 0;
    while !out.is_empty() {
        let mut len = out.len().min(built.len() - phase);
        if len < out.len() {
            // Ends where a line ends. `phase` is less than a period, so more than a line is left of
            // the block.
            len -= out[len..].as_ptr().addr() % CACHE_LINE;
        }
        let (to, rest) = out.split_at_mut(len);
        streamer.copy(&built[phase..phase + len], to);
        out = rest;
        phase = (phase + len) % period;
    }
}

/// Copies a region whose period is longer than the block: each piece of a period is built and
/// copied to all its places at once.
pub(super) fn copy_repeated_pieces(mut region: Region, streamer: Option<&Streamer>) {
    let (range, size) = (region.range(), region.kernels().size);
    let period = positions(&region.axes()[1..]);
    let (first, end) = (range.start.div_ceil(period), range.end / period);
    if end < first + 2 {
        return copy_once(region, streamer);
    }
    copy_once(region.part(range.start..first * period), streamer);
    let mut block = Block::NEW;
    let step = (BLOCK / size).max(1);
    for begin in (0..period).step_by(step) {
        let len = step.min(period - begin);
        let piece = first * period + begin..first * period + begin + len;
        if let Some(streamer) = streamer {
            let built = &mut block.block()[..len * size];
            fill(region.built_in(piece.clone(), built));
            for copy in 0..end - first {
                let to = piece.start + copy * period..piece.end + copy * period;
                streamer.copy(built, region.part(to).out());
            }
        } else {
            fill(region.part(piece.clone()));
            let mut whole = region.part(first * period..end * period);
            let (built, others) = whole.out().split_at_mut(period * size);
            for other in others.chunks_exact_mut(period * size) {
                let piece = begin * size..(begin + len) * size;
                other[piece.clone()].copy_from_slice(&built[piece]);
            }
        }
    }
    copy_once(region.part(end * period..range.end), streamer);
}

fn copy_once(region: Region, streamer: Option<&Streamer>) {
    match streamer {
        Some(streamer) => stream_blocks(region, streamer),
        None => fill(region),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, check_standard, standard};
    use super::*;

    #[test]
    fn a_period_around_the_block() {
        for period in [
            // What is repeated at a time with plain stores.
            2047,
            2048,
            2049,
            BLOCK / 2 - 1,
            BLOCK / 2,
            BLOCK / 2 + 1,
            BLOCK,
            BLOCK + 1,
            3 * BLOCK,
        ] {
            // Of bytes in a row, then reversed, which must be made before it is repeated; then
            // transposed.
            check::<u8>(&[5, period], &[period as isize, 1], &[0, 1], 3);
            check::<u8>(&[5, period], &[period as isize, 1], &[0, -1], 3);
            let columns = period / 64;
            let to = standard(&[5, 64, columns]);
            check::<u8>(&[5, 64, columns], &to, &[0, 1, 64], 5);
        }
    }

    #[test]
    fn repeated_values_and_rows_around_each_threshold() {
        for (shape, from) in [
            (&[1023][..], &[0][..]),
            (&[1024], &[0]),
            (&[1 << 20], &[0]),
            (&[64, 1023], &[0, 1]),
            (&[64, 1024], &[0, 1]),
            (&[200, 1023], &[1, 0]),
            (&[200, 1024], &[1, 0]),
            (&[50, 8191], &[1, 0]),
            (&[50, 8192], &[1, 0]),
            (&[64, 2048], &[0, -1]),
            (&[64, 2049], &[0, -1]),
        ] {
            check_standard::<f32>(shape, from);
        }
        for shape in [[3, 1 << 20], [3, (1 << 20) + 1]] {
            check_standard::<u8>(&shape, &[0, -1]);
        }
        check::<f32>(&[100, 2000], &[3000, 1], &[1, 0], 1);
        check::<f32>(&[100, 2000], &[3000, 1], &[6000, 3], 1);
        check::<f32>(&[100, 2000], &[3000, 1], &[6000, 1], 1);
        check::<f32>(&[100, 100], &[200, 1], &[0, 1], 1);
    }

    #[test]
    fn repeated_planes_and_repeats_inside_repeats() {
        for (shape, from) in [
            (&[8, 64, 100][..], &[0, 200, 1][..]),
            (&[8, 4, 1024], &[0, 2000, 1]),
            (&[4, 256, 1024], &[0, 2000, 1]),
            (&[4, 257, 1024], &[0, 2000, 1]),
            (&[64, 2, 4, 256], &[0, 512, 0, -1]),
            (&[64, 2, 16, 64], &[0, 128, 0, -1]),
            (&[4, 32, 4, 511], &[0, 1533, 0, -1]),
            (&[4, 32, 4, 2047], &[0, 6141, 0, -1]),
            (&[4, 32, 4, 2048], &[0, 6144, 0, -1]),
            (&[3, 32, 4, 512], &[0, 1536, 0, -1]),
            (&[40, 8, 8, 512], &[0, 1536, 0, -1]),
        ] {
            check_standard::<f32>(shape, from);
        }
    }
}
