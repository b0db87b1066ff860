//! One transformer block, and its gradient. B sequences of T tokens, M features of a token; H heads
//! of keys and values, G query heads for each, D features of a head; F hidden features.
//!
//! ```text
//! n_1  = layer_norm(x, scale_1, shift_1)       [B, T, M]
//! x_2  = x + attention(n_1, keep)              [B, T, M]
//! n_2  = layer_norm(x_2, scale_2, shift_2)     [B, T, M]
//! out  = x_2 + mlp(n_2)                        [B, T, M]
//! loss = mean of (out - target)^2 over the tokens that are kept, and M
//! ```

use crate::attention::{Attended, Attention};
use crate::command_line::Failure;
use crate::layer_norm::{LayerNorm, Normalised};
use crate::mlp::{Gated, Mlp};
use ndarray::{Array2, Array3, ArrayViewD, Axis};
use ndarray_broadcast::prelude::*;

/// The parameters; also the gradient of the loss with respect to them, which has the same shapes.
#[derive(Clone, Debug)]
pub struct Block {
    pub norm_1: LayerNorm,
    pub attention: Attention,
    pub norm_2: LayerNorm,
    pub mlp: Mlp,
}

/// The results of the forward pass.
#[derive(Debug)]
pub struct Forward {
    pub out: Array3<f64>,
    normalised_1: Normalised,
    n_1: Array3<f64>,
    attended: Attended,
    normalised_2: Normalised,
    n_2: Array3<f64>,
    gated: Gated,
}

impl Block {
    pub fn forward(&self, x: &Array3<f64>, keep: &Array2<bool>) -> Result<Forward, Failure> {
        let (n_1, normalised_1) = self.norm_1.forward(x)?;
        let (mut x_2, attended) = self.attention.forward(&n_1, keep)?;
        x_2 += x;
        let (n_2, normalised_2) = self.norm_2.forward(&x_2)?;
        let (mut out, gated) = self.mlp.forward(&n_2)?;
        out += &x_2;
        Ok(Forward {
            out,
            normalised_1,
            n_1,
            attended,
            normalised_2,
            n_2,
            gated,
        })
    }

    /// The gradients of `x` and of the parameters, of the gradient of `out`.
    pub fn backward(
        &self,
        saved: &Forward,
        d_out: Array3<f64>,
    ) -> Result<(Array3<f64>, Block), Failure> {
        // Each residual passes its gradient on; the layer's is added.
        let mut dx = d_out;
        let (d_n_2, mlp) = self.mlp.backward(&saved.gated, &saved.n_2, &dx)?;
        let norm_2 = (self.norm_2).backward(&saved.normalised_2, &d_n_2, &mut dx)?;
        let (d_n_1, attention) = (self.attention).backward(&saved.attended, &saved.n_1, &dx)?;
        let norm_1 = (self.norm_1).backward(&saved.normalised_1, &d_n_1, &mut dx)?;
        let gradient = Block {
            norm_1,
            attention,
            norm_2,
            mlp,
        };
        Ok((dx, gradient))
    }

    /// The parameters by name.
    pub fn parameters(&self) -> [(&'static str, ArrayViewD<'_, f64>); 11] {
        [
            ("scale_1", self.norm_1.scale.view().into_dyn()),
            ("shift_1", self.norm_1.shift.view().into_dyn()),
            ("w_q", self.attention.w_q.view().into_dyn()),
            ("w_k", self.attention.w_k.view().into_dyn()),
            ("w_v", self.attention.w_v.view().into_dyn()),
            ("w_o", self.attention.w_o.view().into_dyn()),
            ("scale_2", self.norm_2.scale.view().into_dyn()),
            ("shift_2", self.norm_2.shift.view().into_dyn()),
            ("w_gate", self.mlp.w_gate.view().into_dyn()),
            ("w_up", self.mlp.w_up.view().into_dyn()),
            ("w_down", self.mlp.w_down.view().into_dyn()),
        ]
    }
}

/// The loss, and its gradient with respect to `out`.
pub fn loss(
    out: &Array3<f64>,
    target: &Array3<f64>,
    keep: &Array2<bool>,
) -> Result<(f64, Array3<f64>), BroadcastError> {
    let kept = keep.iter().filter(|keep| **keep).count();
    let terms = (kept * out.len_of(Axis(2))) as f64;
    let keep = keep.view().insert_axis(Axis(2)); // [B, T, 1]
    let sum = zip((out, target, &keep)).reduce(
        &BroadcastPlan::numpy((), out.raw_dim())?,
        Sum,
        |(out, target, keep)| {
            if keep { (out - target).powi(2) } else { 0. }
        },
    )?;
    let d_out = zip((out, target, keep)).map_collect(|(out, target, keep)| match keep {
        true => 2. * (out - target) / terms,
        false => 0.,
    })?;
    Ok((sum.into_scalar() / terms, d_out))
}
