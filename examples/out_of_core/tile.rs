//! A tile: some elements of a view that follow each other in C order.

use crate::command_line::Failure;
use ndarray::{ArrayViewD, Axis, Slice};
use std::ops::Range;

/// Hands out the elements of a range, counted in C order, as views that follow each other: a range is a few boxes, at most two
/// for every axis.
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
    // There is an axis, as a scalar has no other range.
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
