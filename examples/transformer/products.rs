//! Matrix products. The broadcasts around them are in the other files.

use ndarray::linalg::general_mat_mul;
use ndarray::{
    Array, Array3, ArrayView2, ArrayView5, ArrayViewMut5, Dimension, ShapeError, indices, s,
};

/// `x . w`, `[B, T, M] . [M, ..] -> [B, T, ..]`, where `..` becomes one axis. M may be the first
/// axes of `w` together.
pub fn project<D: Dimension>(
    x: &Array3<f64>,
    w: &Array<f64, D>,
) -> Result<Array3<f64>, ShapeError> {
    let (batch, tokens, inner) = x.dim();
    let w = matrix(w, inner)?;
    let y = rows(x)?.dot(&w);
    y.into_shape_with_order((batch, tokens, w.ncols()))
}

/// The gradient of `w` in `y = project(x, w)`. That of `x` is added to `dx`.
pub fn project_backward<D: Dimension>(
    x: &Array3<f64>,
    w: &Array<f64, D>,
    dy: &Array3<f64>,
    dx: &mut Array3<f64>,
) -> Result<Array<f64, D>, ShapeError> {
    let (batch, tokens, inner) = x.dim();
    let dy = rows(dy)?;
    let mut dx = dx
        .view_mut()
        .into_shape_with_order((batch * tokens, inner))?;
    general_mat_mul(1., &dy, &matrix(w, inner)?.t(), 1., &mut dx);
    rows(x)?.t().dot(&dy).into_shape_with_order(w.raw_dim())
}

/// The matrix product of each head: `[B, H, G, I, J] . [B, H, G, J, K] -> [B, H, G, I, K]`.
pub fn per_head(a: ArrayView5<'_, f64>, b: ArrayView5<'_, f64>, mut out: ArrayViewMut5<'_, f64>) {
    let (batch, heads, groups, ..) = out.dim();
    for (n, h, g) in indices((batch, heads, groups)) {
        let head = s![n, h, g, .., ..];
        let mut out = out.slice_mut(head);
        general_mat_mul(1., &a.slice(head), &b.slice(head), 0., &mut out);
    }
}

/// `[B, T, M] -> [B * T, M]`.
fn rows(x: &Array3<f64>) -> Result<ArrayView2<'_, f64>, ShapeError> {
    let (batch, tokens, inner) = x.dim();
    x.view().into_shape_with_order((batch * tokens, inner))
}

/// `[M, ..]` as a matrix of `inner` = M rows.
fn matrix<D: Dimension>(
    w: &Array<f64, D>,
    inner: usize,
) -> Result<ArrayView2<'_, f64>, ShapeError> {
    w.view().into_shape_with_order((inner, w.len() / inner))
}
