//! The job: its description, and the division of its output into tiles.

use crate::arguments::Request;
use crate::command_line::Failure;
use crate::npy_header::WriteElement;
use crate::rule::RuleTo;
use crate::tensor::{ElementType, byte_count};
use ndarray::{ArrayD, ArrayViewD};
use std::ops::Range;

/// The default size of a tile.
const TILE_BYTES: usize = 64 << 20;

/// The largest number of tiles. Each takes one byte of the progress file.
const MOST_TILES: usize = 1 << 20;

/// The number of elements of the output, and of its tiles.
#[derive(Debug, Clone, Copy)]
pub struct Tiles {
    pub len: usize,
    pub count: usize,
}

impl Tiles {
    pub fn new(
        view_shape: &[usize],
        element_size: usize,
        request: &Request,
    ) -> Result<Self, Failure> {
        let bytes =
            byte_count(view_shape, element_size, isize::MAX as usize).map_err(Failure::Data)?;
        let count = match request.tiles {
            None => bytes.div_ceil(TILE_BYTES).clamp(1, MOST_TILES),
            Some(count) if count > MOST_TILES => {
                return Err(Failure::usage(format!(
                    "--tiles {count}: there are {MOST_TILES} at most"
                )));
            }
            Some(count) => count,
        };
        match request.tile {
            Some(tile) if tile >= count => Err(Failure::usage(format!(
                "--tile {tile}: the last of {count} tiles is {}",
                count - 1
            ))),
            _ => Ok(Tiles {
                len: bytes / element_size,
                count,
            }),
        }
    }

    /// The elements of a tile, as positions in C order.
    pub fn range(self, tile: usize) -> Range<usize> {
        let start = |tile: usize| (tile as u128 * self.len as u128 / self.count as u128) as usize;
        start(tile)..start(tile + 1)
    }
}

/// The description of a job, in lines: everything that determines the elements and the tiles.
pub fn name<T: WriteElement>(
    rule: &RuleTo,
    (element_type, input): (ElementType, &ArrayD<T>),
    view: &ArrayViewD<'_, T>,
    tiles: Tiles,
) -> String {
    let mode = match rule {
        RuleTo::Mode(mode, _) => mode.to_string(),
        RuleTo::Prepend(_) => "prepend".into(),
    };
    format!(
        "ndarray-broadcast out_of_core, version 1\n\
         input {element_type} {:?}, FNV-1a {:016x}\nmode {mode}\noutput {:?}\ntiles {}\n\n",
        input.shape(),
        fnv(input),
        view.shape(),
        tiles.count,
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
