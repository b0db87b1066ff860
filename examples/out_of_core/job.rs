//! The job: its description, and the division of its output into tiles.

use crate::arguments::Request;
use crate::command_line::Failure;
use crate::npy_header::WriteElement;
use crate::rule::RuleTo;
use crate::tensor::{ElementType, byte_count};
use ndarray::ArrayD;
use ndarray_broadcast::BroadcastPlan;
use ndarray_broadcast::distributed::{self, Tile};
use std::ops::Range;

/// The default size of a tile.
const TILE_BYTES: usize = 64 << 20;

/// The largest number of tiles. Each takes one byte of the progress file.
const MOST_TILES: usize = 1 << 20;

/// How the output is cut into tiles.
#[derive(Debug, Clone, Copy)]
pub struct Tiles<'p> {
    plan: &'p BroadcastPlan,
    element_size: usize,
    /// Of a tile, at most.
    bytes: usize,
    /// Elements of the output.
    pub len: usize,
    pub count: usize,
}

impl<'p> Tiles<'p> {
    pub fn new(
        plan: &'p BroadcastPlan,
        element_size: usize,
        request: &Request,
    ) -> Result<Self, Failure> {
        let all = byte_count(plan.output_shape(), element_size, isize::MAX as usize)
            .map_err(Failure::Data)?;
        let mut tiles = Tiles {
            plan,
            element_size,
            bytes: request.tile_bytes.unwrap_or(TILE_BYTES),
            len: all / element_size,
            count: 0,
        };
        while request.tile_bytes.is_none() && tiles.iter().len() > MOST_TILES {
            tiles.bytes *= 2;
        }
        tiles.count = tiles.iter().len();
        let (count, bytes) = (tiles.count, tiles.bytes);
        if count > MOST_TILES {
            return Err(Failure::usage(format!(
                "--tile-bytes {bytes}: that is {count} tiles, and there are {MOST_TILES} at most"
            )));
        }
        match request.tile {
            Some(tile) if tile >= count => Err(Failure::usage(match count {
                0 => format!("--tile {tile}: an empty output has no tiles"),
                _ => format!("--tile {tile}: the last of {count} tiles is {}", count - 1),
            })),
            _ => Ok(tiles),
        }
    }

    /// The tiles, in the order of the file.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Tile> + use<'p> {
        distributed::Tiles::new(self.plan, self.bytes, self.element_size)
    }

    /// The elements of a tile, as positions in C order.
    pub fn range(&self, tile: &Tile) -> Range<usize> {
        let output = tile.output();
        let axes = output.ranges().zip(self.plan.output_shape());
        let start = axes.fold(0, |at, (range, &size)| at * size + range.start);
        start..start + output.shape().iter().product::<usize>()
    }
}

/// The description of a job, in lines: everything that determines the elements and the tiles.
pub fn name<T: WriteElement>(
    rule: &RuleTo,
    (element_type, input): (ElementType, &ArrayD<T>),
    plan: &BroadcastPlan,
    tiles: Tiles<'_>,
) -> String {
    let mode = match rule {
        RuleTo::Mode(mode, _) => mode.to_string(),
        RuleTo::Prepend(_) => "prepend".into(),
    };
    format!(
        "ndarray-broadcast out_of_core, version 1\n\
         input {element_type} {:?}, FNV-1a {:016x}\nmode {mode}\noutput {:?}\ntiles {} of {} bytes\n\n",
        input.shape(),
        fnv(input),
        plan.output_shape(),
        tiles.count,
        tiles.bytes,
    )
}

/// The 64-bit FNV-1a hash of the elements as written. It does not depend on the machine or on the
/// input's memory order.
fn fnv<T: WriteElement>(array: &ArrayD<T>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut bytes = Vec::new();
    for &element in array {
        bytes.clear();
        element.push(&mut bytes);
        for &byte in &bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}
