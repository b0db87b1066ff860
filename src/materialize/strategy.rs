//! Which strategy a large copy takes. It follows from the axes, the size of an element and the
//! number of bytes. Each strategy is right for every layout that it accepts; the choice decides the
//! speed.

use super::axes::{Axis, positions};
use crate::engine::machine::{CAN_STREAM, MOST_SHUFFLES, REGISTER, can_shuffle};
use crate::engine::nest::LoopNest;
use crate::engine::threads::{PARALLEL_FROM, max_threads};
use crate::engine::tuning::copies::{
    MANY_REPEATS, SHORT_PERIOD, SHORT_REPEAT, SHORT_ROW, TRANSPOSED_FROM, stream_copies_from,
};
use crate::engine::tuning::{
    CHUNK_BYTES, CHUNKS_OF_A_THREAD, FIRST_LEVEL_CACHE, PAGE, SECOND_LEVEL_CACHE,
};

/// How the memory is treated; tests choose their own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) streamed: bool,
    pub(super) chunk_bytes: usize,
}

impl Settings {
    /// For a copy to memory that exists, or to `fresh` memory, which has not been touched since it
    /// was allocated. None if there are so few bytes that this thread copies them by plain stores.
    pub(super) fn of(bytes: usize, fresh: bool) -> Option<Self> {
        if bytes < PARALLEL_FROM {
            return None;
        }
        // A power of two, so that chunks begin at pages.
        let chunk_bytes = (bytes / (CHUNKS_OF_A_THREAD * max_threads()))
            .clamp(*CHUNK_BYTES.start(), *CHUNK_BYTES.end())
            .next_power_of_two();
        Some(Settings {
            streamed: CAN_STREAM && !fresh && bytes >= stream_copies_from(),
            chunk_bytes,
        })
    }
}

/// A copy strategy. Those that name an axis by its place are for the axes from there on, which are
/// dense in output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strategy {
    /// Plain stores in the order of the positions.
    Fill,
    /// Built in a block, streamed from there.
    StreamBlocks(usize),
    /// `[N]` to `[N, n]`, streamed from registers.
    StreamExpanded,
    /// Long rows, streamed from the source.
    StreamRows,
    /// The axis replicates what is inside it, which is short: built once, repeated.
    Repeat(usize),
    /// The same with a period that is longer than a block: built and repeated in pieces.
    RepeatPieces(usize),
    /// The last two axes are a transposed matrix.
    Transpose,
}

impl Strategy {
    /// Chooses for elements of `size` bytes. Moves the axes of a transposed matrix to the end.
    pub(super) fn choose(nest: &mut LoopNest<2>, size: usize, streamed: bool) -> Self {
        let axes = nest.axes();
        let Some(inner) = axes.last() else {
            return Strategy::Fill;
        };
        let (dense, repeat) = dense_and_repeated(axes, size, streamed);
        if let Some(repeat) = repeat {
            return repeat;
        }
        if let [.., rows, columns] = axes {
            if streamed && can_expand(*rows, *columns, size) {
                return Strategy::StreamExpanded;
            }
        }
        let shortest = (axes.iter().enumerate())
            .filter(|(_, axis)| axis.strides[1] != 0)
            .min_by_key(|(_, axis)| axis.strides[1].unsigned_abs());
        if let Some((place, axis)) = shortest {
            // 2 or 3 rows are slow in squares: see `TRANSPOSED_FROM`. But if their elements
            // alternate in the source without gaps, as the channels of pixels do, `separate` copies
            // them without squares.
            if inner.strides[0] == 1
                && inner.strides[1] != 0
                && axis.strides[1] != inner.strides[1]
                && inner.size >= TRANSPOSED_FROM[1]
                && (axis.size >= TRANSPOSED_FROM[0] || inner.strides[1] == axis.size as isize)
            {
                let last_but_one = axes.len() - 2;
                nest.move_axis(place, last_but_one);
                return Strategy::Transpose;
            }
        }
        if !streamed || positions(&axes[dense..]) * size < PAGE {
            Strategy::Fill
        } else if inner.strides[1] == 1 && inner.size * size >= PAGE {
            Strategy::StreamRows
        } else {
            Strategy::StreamBlocks(dense)
        }
    }
}

/// The place from which on the axes are dense in output, or that of the replicated axis with the
/// best repetition and the strategy for it: the first one outwards that repeats often, otherwise
/// the one that repeats most.
fn dense_and_repeated(axes: &[Axis], size: usize, streamed: bool) -> (usize, Option<Strategy>) {
    let (mut dense, mut dense_len) = (axes.len(), 1);
    let mut best: Option<(Strategy, usize)> = None;
    for (place, axis) in axes.iter().enumerate().rev() {
        if axis.strides[0].unsigned_abs() != dense_len {
            break;
        }
        let inside = dense_len * size;
        (dense, dense_len) = (place, dense_len * axis.size);
        // A long row is repeated from the source as well as from a copy of it.
        let row = matches!(&axes[place + 1..], [row] if row.strides[1] == 1) && inside >= PAGE;
        let outer = place.checked_sub(1).map(|outer| axes[outer].strides[0]);
        let continues = outer.is_some_and(|stride| stride.unsigned_abs() == dense_len);
        let long = match streamed && continues {
            true => FIRST_LEVEL_CACHE,
            false => PAGE,
        };
        if axis.strides[1] == 0 && !row && dense_len * size >= long {
            let (strategy, times) = if inside <= SHORT_PERIOD {
                (Strategy::Repeat(place), axis.size)
            } else if inside <= SECOND_LEVEL_CACHE {
                let most = periods_in_chunk(positions(axes) * size, inside);
                (Strategy::RepeatPieces(place), axis.size.min(most))
            } else {
                break;
            };
            if best.is_none_or(|(_, fewer)| fewer <= times) {
                best = Some((strategy, times));
            }
        }
        if best.is_some_and(|(_, times)| streamed || times >= MANY_REPEATS) {
            break;
        }
    }
    (dense, best.map(|(strategy, _)| strategy))
}

/// How many periods of `period` bytes a chunk holds, where each chunk builds its own: several even
/// if that leaves few chunks, and so many that building one is a small part of the work.
pub(super) fn periods_in_chunk(bytes: usize, period: usize) -> usize {
    // Four chunks for each thread: fewer than elsewhere, as each builds its own periods.
    let share = bytes / (4 * max_threads());
    (share / period).clamp(4, (2 * CHUNK_BYTES.end() / period).max(MANY_REPEATS))
}

/// How many registers of output hold a number of whole rows of `row_bytes` bytes.
pub(super) fn period(row_bytes: usize) -> usize {
    row_bytes >> row_bytes.trailing_zeros().min(REGISTER.ilog2())
}

/// Whether the plane is an `[N]` to `[N, n]` of elements of `size` bytes that is expanded by
/// shuffles: short rows whose pattern fits into registers.
pub(super) fn can_expand(rows: Axis, columns: Axis, size: usize) -> bool {
    let n = columns.size;
    rows.strides == [n as isize, 1]
        && columns.strides == [1, 0]
        && (1..=REGISTER).contains(&size)
        && (2..=SHORT_ROW.end() / size).contains(&n)
        && period(n * size) <= MOST_SHUFFLES
        && rows.size * n * size >= SHORT_REPEAT
        && can_shuffle()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tuning::HUGE_PAGE;

    #[test]
    fn chunks_are_equal_parts_of_a_threads_share_within_bounds() {
        let parts = CHUNKS_OF_A_THREAD * max_threads();
        for (share, chunk_bytes) in [
            (0_usize, 128 << 10),
            (128 << 10, 128 << 10),
            ((128 << 10) + 1, 256 << 10),
            (200_000, 256 << 10),
            (1 << 20, 1 << 20),
            ((1 << 20) + 1, HUGE_PAGE),
            (HUGE_PAGE, HUGE_PAGE),
            (1 << 30, HUGE_PAGE),
        ] {
            let bytes = share.saturating_mul(parts).max(PARALLEL_FROM);
            let settings = Settings::of(bytes, true).unwrap();
            assert_eq!(settings.chunk_bytes, chunk_bytes, "{share}");
        }
        assert!(Settings::of(PARALLEL_FROM - 1, true).is_none());
    }

    #[test]
    fn only_existing_memory_beyond_the_border_is_streamed() {
        let border = stream_copies_from();
        for (bytes, fresh, streamed) in [
            (border - 1, false, false),
            (border, false, CAN_STREAM),
            (isize::MAX as usize, false, CAN_STREAM),
            (isize::MAX as usize, true, false),
        ] {
            let settings = Settings::of(bytes, fresh).unwrap();
            assert_eq!(settings.streamed, streamed, "{bytes} {fresh}");
        }
    }

    #[test]
    fn chunks_of_periods_hold_four_or_more() {
        let four_each = 4 * max_threads();
        for (share, period, periods) in [
            (0_usize, 1 << 10, 4),
            (3 << 10, 1 << 10, 4),
            (5 << 10, 1 << 10, 5),
            (10_000, 1000, 10),
            (1 << 30, 64 << 10, 64),
            (1 << 30, 1 << 20, 16),
            (1 << 30, 8 << 20, 16),
            (5 << 20, 1 << 20, 5),
        ] {
            let found = periods_in_chunk(share.saturating_mul(four_each), period);
            assert_eq!(found, periods, "{share} {period}");
        }
    }
}
