//! Runs a copy: small ones with plain stores on this thread, others by their strategy, in chunks.

#![forbid(unsafe_code)]

use super::super::axes::elements;
use super::super::strategy::{Settings, Strategy, periods_in_chunk};
use super::blocks::stream_blocks;
use super::expand::stream_expanded;
use super::fill::fill;
use super::operands::{Block, Operands};
use super::repeat::{copy_repeated, copy_repeated_pieces};
use super::transpose::copy_transposed;
use crate::engine::chunks::Chunks;
use crate::engine::threads::PARALLEL_FROM;

/// Copies all positions. `fresh` memory has been allocated for this copy.
pub(super) fn copy(mut operands: Operands, fresh: bool) {
    if operands.bytes() < PARALLEL_FROM {
        fill(operands.all());
    } else {
        let settings = Settings::for_bytes(operands.bytes(), fresh);
        copy_large(operands, settings);
    }
}

/// [`copy`] for what is worth a choice of strategy.
pub(super) fn copy_large(mut operands: Operands, settings: Settings) {
    let size = operands.kernels().size;
    let streamed = settings.streamed && Block::fits(size);
    let strategy = Strategy::choose(operands.axes(), size, streamed);
    if let Strategy::Transpose(place) = strategy {
        operands.move_axis(place, operands.axes().len() - 2);
        return copy_transposed(
            operands,
            Settings {
                streamed,
                ..settings
            },
        );
    }
    let chunks = match strategy {
        Strategy::RepeatPieces(place) => {
            // Whole periods, so that none is built twice.
            let period = elements(&operands.axes()[place + 1..]) * size;
            let chunk_bytes = period * periods_in_chunk(operands.bytes(), period);
            Chunks::new(elements(operands.axes()), size, 0, chunk_bytes)
        }
        _ => operands.chunks(settings.chunk_bytes),
    };
    operands.for_each_chunk(chunks, streamed, |region, streamer| {
        match (strategy, streamer) {
            (Strategy::Repeat(place), _) => {
                region.for_each_inner(place, |region| copy_repeated(region, streamer));
            }
            (Strategy::RepeatPieces(place), _) => {
                region.for_each_inner(place, |region| copy_repeated_pieces(region, streamer));
            }
            (Strategy::StreamBlocks(place), Some(streamer)) => {
                region.for_each_inner(place, |region| stream_blocks(region, streamer));
            }
            (Strategy::StreamExpanded, Some(streamer)) => {
                let copy = region.kernels().copy;
                region.for_each_plane(|plane| stream_expanded(plane, copy, streamer));
            }
            (Strategy::StreamRows, Some(streamer)) => region.for_each_plane(|plane| {
                plane.for_each_row(|to, from| streamer.copy(from, to));
            }),
            _ => fill(region),
        }
    });
}
