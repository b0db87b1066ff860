//! `[N]` to `[N, n]` for small `n` and elements of at most sixteen bytes: each register of output
//! is one shuffle of sixteen source bytes.
//!
//! Streaming through a block is slower here. The stores that build the block wait behind the
//! streamed ones, so source lines are fetched while nothing is written. From registers both
//! overlap: 10 ms instead of 18 for 256 MiB of `[N]` to `[N, 3]`, `f32`, on one core, where a fill
//! takes 9.5.

use super::super::strategy::{can_expand, period};
use super::operands::Plane;
use crate::engine::machine::{MOST_SHUFFLES, REGISTER, Shuffle, Streamer, copy_shuffled};
use crate::engine::tuning::CACHE_LINE;
use std::ops::Range;

/// Writes most rows of a plane for which [`can_expand`] holds: those that whole patterns of
/// registers cover and whose source bytes can be read sixteen at a time. Returns the rows that are
/// done, which may be none. Positions of other rows may also be written; they are still to do.
///
/// With a streamer the stores go past the cache and begin at a line.
pub(super) fn expand(plane: &mut Plane, streamer: Option<&Streamer>) -> Range<usize> {
    let (rows, columns) = (plane.rows(), plane.columns());
    let size = plane.size();
    if !can_expand(rows, columns, size) {
        return 0..0;
    }
    let row_bytes = columns.size * size;
    let head = match streamer {
        Some(_) => plane.out().as_ptr().align_offset(CACHE_LINE),
        None => 0,
    };
    if head >= rows.size * row_bytes {
        return 0..0;
    }
    // The pattern begins anew after as many registers as end where a row ends.
    let period = period(row_bytes);
    let mut shuffles = [Shuffle::NONE; MOST_SHUFFLES];
    let shuffles = &mut shuffles[..period];
    // The source byte of an output byte.
    let source_byte = |byte: usize| byte / row_bytes * size + byte % row_bytes % size;
    for (register, shuffle) in shuffles.iter_mut().enumerate() {
        let begin = head + register * REGISTER;
        let of_output = begin..begin + REGISTER;
        shuffle.offset = of_output.clone().map(source_byte).min().unwrap_or(0);
        for (byte, index) in of_output.zip(&mut shuffle.indices) {
            // Sixteen bytes of output come from at most sixteen of the source. Within a row they
            // come from one element, which is no longer; with each further row the source moves on
            // by less than the output.
            *index = (source_byte(byte) - shuffle.offset) as u8;
            debug_assert!(usize::from(*index) < REGISTER);
        }
    }
    let step = period * REGISTER / row_bytes * size;
    let (out, source) = plane.expansion();
    let done = copy_shuffled(shuffles, source, step, &mut out[head..], streamer);
    let (begin, end) = (head.div_ceil(row_bytes), (head + done) / row_bytes);
    begin..end.max(begin)
}

/// Copies an `[N]` to `[N, n]`, past the cache as far as shuffles do it, the other rows by `copy`.
pub(super) fn stream_expanded(mut plane: Plane, copy: fn(Plane), streamer: &Streamer) {
    let rows = plane.rows().size;
    let done = expand(&mut plane, Some(streamer));
    copy(plane.some_rows(0..done.start));
    copy(plane.some_rows(done.end..rows));
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, standard};

    /// `[N] -> [N, n]` for elements of every size that fits a register, `n` until rows are too long
    /// for it.
    #[test]
    fn short_rows_of_elements_of_every_size() {
        fn expand<const SIZE: usize>() {
            for n in 1..=64 / SIZE + 2 {
                for shift in [0, 1, 3] {
                    let rows = 3000 / (n * SIZE) + 5;
                    check::<[u8; SIZE]>(&[rows, n], &[n as isize, 1], &[1, 0], shift);
                    // A source that is cut: its end is not the end of memory.
                    let to = standard(&[2, rows, n]);
                    check::<[u8; SIZE]>(&[2, rows, n], &to, &[rows as isize + 1, 1, 0], shift);
                }
            }
        }
        expand::<1>();
        expand::<2>();
        expand::<3>();
        expand::<4>();
        expand::<5>();
        expand::<6>();
        expand::<7>();
        expand::<8>();
        expand::<9>();
        expand::<10>();
        expand::<11>();
        expand::<12>();
        expand::<13>();
        expand::<14>();
        expand::<15>();
        expand::<16>();
        expand::<17>();
    }
}
