//! The order in which the elements of a tile are walked: along its rows, across short rows, or in
//! squares.

use super::nest::{LoopNest, Tile};
use super::tuning::{LONG_ROW, SQUARE};

/// The axis along which an input has its shortest stride, if it is another one than the innermost.
/// The two are best walked in squares, so that each cache line of the input is used while it is in
/// the cache.
pub(crate) fn crossed_axis<const N: usize>(nest: &LoopNest<N>) -> Option<usize> {
    let (inner, outer) = nest.axes().split_last()?;
    if inner.size < SQUARE {
        return None;
    }
    (1..N).find_map(|operand| {
        let along = inner.strides[operand].unsigned_abs();
        let nearest = (outer.iter().enumerate())
            .map(|(axis, outer)| (outer.strides[operand].unsigned_abs(), axis))
            .filter(|&(stride, _)| stride != 0 && stride < along)
            .min();
        nearest.map(|(_, axis)| axis)
    })
}

/// Moves the [`crossed_axis`], if there is one, next to the innermost. Returns whether there is.
///
/// With `packs` a short axis is moved inside the innermost, so that every chunk of work has all of
/// it, as the channels of a pixel.
pub(crate) fn cross<const N: usize>(nest: &mut LoopNest<N>, packs: bool) -> bool {
    let crossed = crossed_axis(nest);
    if let Some(axis) = crossed {
        let short = packs && nest.axes()[axis].size < LONG_ROW;
        nest.move_axis(axis, nest.axes().len() - 1 - usize::from(!short));
    }
    crossed.is_some()
}

/// Calls `f` with tiles that together are `tile`, in the order that is fastest to walk row by row:
/// squares, or, where rows are too short to be worth a loop each, columns as rows.
pub(crate) fn in_best_order<const N: usize>(
    tile: Tile<N>,
    squares: bool,
    f: &mut dyn FnMut(Tile<N>),
) {
    let (rows, columns) = (tile.rows.size, tile.columns.size);
    if squares {
        for row in (0..rows).step_by(SQUARE) {
            for column in (0..columns).step_by(SQUARE) {
                let (height, width) = (SQUARE.min(rows - row), SQUARE.min(columns - column));
                f(tile.part([row, column], height, width));
            }
        }
    } else if columns < LONG_ROW && columns < rows {
        for row in (0..rows).step_by(8 * SQUARE) {
            let part = tile.part([row, 0], (8 * SQUARE).min(rows - row), columns);
            f(part.swapped());
        }
    } else {
        f(tile);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::nest::LoopAxis;
    use std::cell::RefCell;

    #[test]
    fn every_element_of_a_tile_is_walked_once_in_any_order() {
        let sizes = [
            1,
            2,
            LONG_ROW - 1,
            LONG_ROW,
            SQUARE,
            SQUARE + 1,
            (8 * SQUARE) + 44,
        ];
        for rows in sizes {
            for columns in sizes {
                for squares in [false, true] {
                    let tile = Tile {
                        offsets: [7],
                        rows: LoopAxis {
                            size: rows,
                            strides: [1000],
                        },
                        columns: LoopAxis {
                            size: columns,
                            strides: [1],
                        },
                    };
                    let walked = RefCell::new(vec![]);
                    in_best_order(tile, squares, &mut |part| {
                        for row in 0..part.rows.size {
                            for column in 0..part.columns.size {
                                walked.borrow_mut().push(part.offsets_at(row, column)[0]);
                            }
                        }
                    });
                    let mut walked = walked.into_inner();
                    walked.sort_unstable();
                    let expected = (0..rows as isize).flat_map(|row| {
                        (0..columns as isize).map(move |column| 7 + 1000 * row + column)
                    });
                    assert!(
                        walked.into_iter().eq(expected),
                        "{rows} {columns} {squares}"
                    );
                }
            }
        }
    }

    #[test]
    fn crossing_keeps_the_set_of_elements() {
        for (shape, out, input) in [
            (&[64, 32][..], &[32, 1][..], &[1, 64][..]),
            (&[64, 31], &[31, 1], &[1, 64]),
            (&[64, 33], &[33, 1], &[-1, 64]),
            (&[64, 33], &[33, 1], &[0, 5]),
            (&[40, 50, 64], &[3200, 64, 1], &[1, 9000, 40]),
            (&[40, 50, 64], &[3200, 64, 1], &[3, 1, 200]),
            (&[], &[], &[]),
        ] {
            let mut nest = LoopNest::of(shape, [out, input]);
            let elements = |nest: &LoopNest<2>| {
                let mut elements = vec![];
                nest.for_each_tile(0..nest.len(), |tile| {
                    for row in 0..tile.rows.size {
                        for column in 0..tile.columns.size {
                            elements.push(tile.offsets_at(row, column));
                        }
                    }
                });
                elements.sort_unstable();
                elements
            };
            let before = elements(&nest);
            for packs in [false, true] {
                cross(&mut nest, packs);
                assert_eq!(elements(&nest), before, "{shape:?} {input:?}");
            }
        }
    }
}
