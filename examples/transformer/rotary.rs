//! Rotary position embedding. In each head the features j and j + D / 2 are a pair. The pair of
//! token t is rotated by the angle `t * BASE^(-2 j / D)`.
//!
//! Source: J. Su et al., *RoFormer*, <https://arxiv.org/abs/2104.09864>. Its pairs are neighbours;
//! these are the halves of a head, as in the models of Hugging Face `transformers`.

use ndarray::{Array1, Array3, Array4, Axis};
use ndarray_broadcast::prelude::*;

const BASE: f64 = 10000.;

/// The cosines and sines of all angles, `[T, 1, D / 2]`: they broadcast over sequences and heads.
#[derive(Debug)]
pub struct Rotary {
    cos: Array3<f64>,
    sin: Array3<f64>,
}

impl Rotary {
    pub fn new(tokens: usize, features: usize) -> Result<Self, BroadcastError> {
        let half = features / 2;
        let token = Array3::from_shape_fn((tokens, 1, 1), |(t, ..)| t as f64);
        let frequency = Array1::from_shape_fn(half, |j| BASE.powf(-(j as f64) / half as f64));
        let (cos, sin) = zip((&token, &frequency)).map_collect_two(|(token, frequency)| {
            let angle = token * frequency;
            (angle.cos(), angle.sin())
        })?;
        Ok(Rotary { cos, sin })
    }

    pub fn forward(&self, x: &Array4<f64>) -> Result<Array4<f64>, BroadcastError> {
        self.rotate(x, 1.)
    }

    /// The transpose of a rotation is its inverse.
    pub fn backward(&self, dy: &Array4<f64>) -> Result<Array4<f64>, BroadcastError> {
        self.rotate(dy, -1.)
    }

    /// Rotates the pairs of `[B, T, heads, D]` in one pass.
    fn rotate(&self, x: &Array4<f64>, turn: f64) -> Result<Array4<f64>, BroadcastError> {
        let half = self.cos.len_of(Axis(2));
        let mut y = Array4::zeros(x.raw_dim());
        let (x1, x2) = x.view().split_at(Axis(3), half);
        let (mut y1, mut y2) = y.view_mut().split_at(Axis(3), half);
        zip((x1, x2, &self.cos, &self.sin)).map_assign_into_two(
            &mut y1,
            &mut y2,
            |(x1, x2, cos, sin)| (x1 * cos - turn * x2 * sin, turn * x1 * sin + x2 * cos),
        )?;
        Ok(y)
    }
}
