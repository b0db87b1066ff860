//! The gated MLP.
//!
//! ```text
//! hidden = silu(x . w_gate) * (x . w_up)   [B, T, F]; silu(a) = a / (1 + exp(-a))
//! y      = hidden . w_down                 [B, T, M]
//! ```

use crate::command_line::Failure;
use crate::products::{project, project_backward};
use ndarray::{Array2, Array3};
use ndarray_broadcast::prelude::*;

/// The parameters; also their gradient.
#[derive(Clone, Debug)]
pub struct Mlp {
    pub w_gate: Array2<f64>, // [M, F]
    pub w_up: Array2<f64>,   // [M, F]
    pub w_down: Array2<f64>, // [F, M]
}

/// What the backward pass needs.
#[derive(Debug)]
pub struct Gated {
    gate: Array3<f64>,   // [B, T, F], x . w_gate
    up: Array3<f64>,     // [B, T, F], x . w_up
    hidden: Array3<f64>, // [B, T, F]
}

impl Mlp {
    pub fn forward(&self, x: &Array3<f64>) -> Result<(Array3<f64>, Gated), Failure> {
        let gate = project(x, &self.w_gate)?;
        let up = project(x, &self.w_up)?;
        let hidden = zip((&gate, &up)).map_collect(|(gate, up)| gate * sigmoid(gate) * up)?;
        let y = project(&hidden, &self.w_down)?;
        Ok((y, Gated { gate, up, hidden }))
    }

    /// The gradients of `x` and of the parameters.
    pub fn backward(
        &self,
        Gated { gate, up, hidden }: &Gated,
        x: &Array3<f64>,
        dy: &Array3<f64>,
    ) -> Result<(Array3<f64>, Mlp), Failure> {
        let mut d_hidden = Array3::zeros(hidden.raw_dim());
        let w_down = project_backward(hidden, &self.w_down, dy, &mut d_hidden)?;
        let (d_gate, d_up) = zip((&d_hidden, gate, up)).map_collect_two(|(d, gate, up)| {
            let s = sigmoid(gate);
            (d * up * s * (1. + gate * (1. - s)), d * gate * s)
        })?;
        let mut dx = Array3::zeros(x.raw_dim());
        let gradient = Mlp {
            w_gate: project_backward(x, &self.w_gate, &d_gate, &mut dx)?,
            w_up: project_backward(x, &self.w_up, &d_up, &mut dx)?,
            w_down,
        };
        Ok((dx, gradient))
    }
}

fn sigmoid(x: f64) -> f64 {
    1. / (1. + (-x).exp())
}
