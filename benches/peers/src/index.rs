//! Indices of standard-layout arrays.

/// The offset of an index in a standard-layout array. On an axis of size 1, every index counts as
/// 0.
pub(crate) fn offset(shape: &[usize], index: &[usize]) -> usize {
    shape
        .iter()
        .zip(index)
        .fold(0, |at, (&n, &i)| at * n + if n == 1 { 0 } else { i })
}

/// The index at an offset.
pub(crate) fn unravel(shape: &[usize], mut flat: usize) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (at, &n) in index.iter_mut().zip(shape).rev() {
        *at = flat % n;
        flat /= n;
    }
    index
}
