//! Causal attention with grouped queries: each of the H heads of keys and values serves a group of
//! G query heads.
//!
//! ```text
//! q = rotary(x . w_q)                            [B, T, H, G, D]
//! k = rotary(x . w_k)                            [B, T, H, D] -> [B, H, G, T, D]
//! v = x . w_v                                    [B, T, H, D] -> [B, H, G, T, D]
//! weights = softmax(mask(q . k / sqrt(D)))       [B, H, G, T, T]
//! y = (weights . v) . w_o                        [B, T, M]
//! ```

use crate::command_line::Failure;
use crate::products::{per_head, project, project_backward};
use crate::rotary::Rotary;
use crate::softmax::{masked_softmax, softmax_backward};
use ndarray::{Array2, Array3, Array4, Array5, ArrayView5, Ix4, Ix5};
use ndarray_broadcast::prelude::*;

/// The parameters; also their gradient.
#[derive(Clone, Debug)]
pub struct Attention {
    pub w_q: Array4<f64>, // [M, H, G, D]
    pub w_k: Array3<f64>, // [M, H, D]
    pub w_v: Array3<f64>, // [M, H, D]
    pub w_o: Array4<f64>, // [H, G, D, M]
}

/// What the backward pass needs.
#[derive(Debug)]
pub struct Attended {
    rotary: Rotary,
    /// `[B, T, H, D] -> [B, H, G, T, D]`: the tokens of each head, repeated for its group.
    groups: BroadcastPlan<Ix4, Ix5>,
    q: Array5<f64>,       // [B, T, H, G, D]
    k: Array4<f64>,       // [B, T, H, D]
    v: Array4<f64>,       // [B, T, H, D]
    weights: Array5<f64>, // [B, H, G, T, T]
    heads: Array3<f64>,   // [B, T, H * G * D], weights . v
}

/// `[B, T, H, G, D]` as `[B, H, G, T, D]`.
const BY_HEAD: [usize; 5] = [0, 2, 3, 1, 4];

impl Attention {
    pub fn forward(
        &self,
        x: &Array3<f64>,
        keep: &Array2<bool>,
    ) -> Result<(Array3<f64>, Attended), Failure> {
        let (b, t, _) = x.dim();
        let (_, h, g, d) = self.w_q.dim();
        let rotary = Rotary::new(t, d)?;
        let q = project(x, &self.w_q)?.into_shape_with_order((b, t, h * g, d))?;
        let q = rotary.forward(&q)?.into_shape_with_order((b, t, h, g, d))?;
        let k = project(x, &self.w_k)?.into_shape_with_order((b, t, h, d))?;
        let k = rotary.forward(&k)?;
        let v = project(x, &self.w_v)?.into_shape_with_order((b, t, h, d))?;

        // Input axes B, T, H, D feed these output axes. G is new: it has stride 0 in the views.
        let groups = BroadcastPlan::in_dim_permuting(k.raw_dim(), (b, h, g, t, d), &[0, 3, 1, 4])?;
        let mut weights = Array5::zeros((b, h, g, t, t));
        per_head(
            q.view().permuted_axes(BY_HEAD),
            transposed(groups.view(&k)?),
            weights.view_mut(),
        );
        masked_softmax(&mut weights, keep, score_scale(d))?;
        let mut heads = Array5::zeros(q.raw_dim());
        per_head(
            weights.view(),
            groups.view(&v)?,
            heads.view_mut().permuted_axes(BY_HEAD),
        );
        let heads = heads.into_shape_with_order((b, t, h * g * d))?;
        let y = project(&heads, &self.w_o)?;
        let saved = Attended {
            rotary,
            groups,
            q,
            k,
            v,
            weights,
            heads,
        };
        Ok((y, saved))
    }

    /// The gradients of `x` and of the parameters.
    pub fn backward(
        &self,
        saved: &Attended,
        x: &Array3<f64>,
        dy: &Array3<f64>,
    ) -> Result<(Array3<f64>, Attention), Failure> {
        let Attended {
            groups, q, k, v, ..
        } = saved;
        let (b, t, h, g, d) = q.dim();
        let mut d_heads = Array3::zeros(saved.heads.raw_dim());
        let w_o = project_backward(&saved.heads, &self.w_o, dy, &mut d_heads)?;
        let d_heads = d_heads.into_shape_with_order(q.raw_dim())?;
        let d_heads = d_heads.view().permuted_axes(BY_HEAD);

        // v and k are broadcast to [B, H, G, T, D]. So their gradients are sums over G.
        let mut d_group = Array5::zeros((b, h, g, t, d));
        per_head(
            transposed(saved.weights.view()),
            d_heads,
            d_group.view_mut(),
        );
        let dv = groups.gradient(&d_group)?;
        let mut d_scores = Array5::zeros(saved.weights.raw_dim());
        per_head(d_heads, transposed(groups.view(v)?), d_scores.view_mut());
        softmax_backward(&saved.weights, &mut d_scores, score_scale(d))?;
        per_head(
            transposed(d_scores.view()),
            q.view().permuted_axes(BY_HEAD),
            d_group.view_mut(),
        );
        let dk = groups.gradient(&d_group)?;
        let mut dq = Array5::zeros(q.raw_dim());
        per_head(
            d_scores.view(),
            groups.view(k)?,
            dq.view_mut().permuted_axes(BY_HEAD),
        );

        let dq = dq.into_shape_with_order((b, t, h * g, d))?;
        let dq = flat(saved.rotary.backward(&dq)?)?;
        let dk = flat(saved.rotary.backward(&dk)?)?;
        let mut dx = Array3::zeros(x.raw_dim());
        let gradient = Attention {
            w_q: project_backward(x, &self.w_q, &dq, &mut dx)?,
            w_k: project_backward(x, &self.w_k, &dk, &mut dx)?,
            w_v: project_backward(x, &self.w_v, &flat(dv)?, &mut dx)?,
            w_o,
        };
        Ok((dx, gradient))
    }
}

/// Scores of standard normal q and k have deviation 1.
fn score_scale(features: usize) -> f64 {
    1. / (features as f64).sqrt()
}

/// The last two axes exchanged.
fn transposed(view: ArrayView5<'_, f64>) -> ArrayView5<'_, f64> {
    view.permuted_axes([0, 1, 2, 4, 3])
}

/// `[B, T, heads, D] -> [B, T, heads * D]`.
fn flat(array: Array4<f64>) -> Result<Array3<f64>, Failure> {
    let (b, t, heads, d) = array.dim();
    Ok(array.into_shape_with_order((b, t, heads * d))?)
}
