//! Layer norm with a scale and a shift.
//!
//! ```text
//! z = (x - mean) / sqrt(variance + EPSILON)   mean and variance over M
//! y = z * scale + shift                       [M] -> [B, T, M]
//! ```

use ndarray::{Array1, Array3, Ix3};
use ndarray_broadcast::prelude::*;

const EPSILON: f64 = 1e-5;

/// The parameters; also their gradient.
#[derive(Clone, Debug)]
pub struct LayerNorm {
    pub scale: Array1<f64>, // [M]
    pub shift: Array1<f64>, // [M]
}

/// What the backward pass needs.
#[derive(Debug)]
pub struct Normalised {
    z: Array3<f64>,       // [B, T, M]
    inverse: Array3<f64>, // [B, T, 1], 1 / deviation
}

impl LayerNorm {
    pub fn forward(&self, x: &Array3<f64>) -> Result<(Array3<f64>, Normalised), BroadcastError> {
        let tokens = per_token(x)?;
        let mean = tokens.reduce(x, Mean)?;
        let variance = zip((x, &mean)).reduce(&tokens, Mean, |(x, mean)| (x - mean).powi(2))?;
        let inverse = variance.mapv(|variance| 1. / (variance + EPSILON).sqrt());
        // Two results of one pass over [B, T, M], [B, T, 1] and [M].
        let (y, z) = zip((x, &mean, &inverse, &self.scale, &self.shift)).map_collect_two(
            |(x, mean, inverse, scale, shift)| {
                let z = (x - mean) * inverse;
                (z * scale + shift, z)
            },
        )?;
        Ok((y, Normalised { z, inverse }))
    }

    /// The gradient of the parameters. That of `x` is added to `dx`.
    pub fn backward(
        &self,
        Normalised { z, inverse }: &Normalised,
        dy: &Array3<f64>,
        dx: &mut Array3<f64>,
    ) -> Result<LayerNorm, BroadcastError> {
        // [M] -> [B, T, M]
        let features = BroadcastPlan::numpy(self.scale.raw_dim(), dy.raw_dim())?;
        let shift = features.gradient(dy)?;
        let scale = zip((dy, z)).reduce(&features, Sum, |(dy, z)| dy * z)?;

        // The means of dz = dy * scale and of dz * z, [B, T, 1]. Neither product is stored.
        let tokens = per_token(dy)?;
        let mean = zip((dy, &self.scale)).reduce(&tokens, Mean, |(dy, scale)| dy * scale)?;
        let mean_z =
            zip((dy, &self.scale, z)).reduce(&tokens, Mean, |(dy, scale, z)| dy * scale * z)?;
        zip((dy, &self.scale, z, inverse, &mean, &mean_z)).update(
            dx,
            |dx, (dy, scale, z, inverse, mean, mean_z)| {
                *dx += inverse * (dy * scale - mean - z * mean_z)
            },
        )?;
        Ok(LayerNorm { scale, shift })
    }
}

/// `[B, T, 1] -> [B, T, M]`.
fn per_token(x: &Array3<f64>) -> Result<BroadcastPlan<Ix3, Ix3>, BroadcastError> {
    let (batch, tokens, _) = x.dim();
    BroadcastPlan::numpy((batch, tokens, 1), x.raw_dim())
}
