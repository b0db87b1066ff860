//! A tile: consecutive elements of a view in C order.

use crate::command_line::Failure;
use ndarray::{ArrayViewD, Axis, Slice};
use std::ops::Range;

/// Calls `take` with consecutive boxes of `view` that together are a range of positions in C order.
/// There are at most two boxes for each axis.
pub fn for_each_box<T>(
    view: ArrayViewD<'_, T>,
    range: Range<usize>,
    take: &mut dyn FnMut(ArrayViewD<'_, T>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if range.is_empty() {
        return Ok(());
    }
    if range == (0..view.len()) {
        return take(view);
    }
    // The view has an axis: all ranges of a scalar are handled above.
    let row_len: usize = view.shape()[1..].iter().product();
    let mut at = range.start;
    while at < range.end {
        let row = at / row_len;
        let (start, rows) = (row * row_len, (range.end - at) / row_len);
        if at == start && rows > 0 {
            take(view.slice_axis(Axis(0), Slice::from(row..row + rows)))?;
            at += rows * row_len;
        } else {
            let end = range.end.min(start + row_len);
            for_each_box(view.index_axis(Axis(0), row), at - start..end - start, take)?;
            at = end;
        }
    }
    Ok(())
}
