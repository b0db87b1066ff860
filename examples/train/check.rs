//! Compares gradients with finite differences.

use crate::network::Network;
use ndarray::{Array1, Array2};
use ndarray_broadcast::prelude::*;

/// The step to either side: the cube root of the epsilon of `f64`. There the truncation error of
/// the central difference is about its rounding error.
const STEP: f64 = 6e-6;
/// How many entries of a parameter are checked, evenly spaced. Each costs two forward passes.
const ENTRIES: usize = 64;
/// The smallest scale of a relative error. A smaller gradient is below the rounding of the loss.
const SMALLEST: f64 = 1e-4;

/// The comparison of one parameter's gradient.
#[derive(Debug)]
pub struct Compared {
    pub name: &'static str,
    pub shape: Vec<usize>,
    /// The largest distance from `(loss(p + STEP) - loss(p - STEP)) / (2 STEP)`, relative to the
    /// largest entry.
    pub error: f64,
}

/// Compares the gradient of each parameter.
pub fn compare(
    network: &Network,
    x: &Array2<f64>,
    classes: &Array1<usize>,
) -> Result<Vec<Compared>, BroadcastError> {
    let (_, gradient) = network.gradient(x, classes)?;
    let mut moved = network.clone();
    let mut compared = Vec::new();
    for (which, (name, d)) in gradient.parameters().into_iter().enumerate() {
        let (mut farthest, mut largest) = (0_f64, SMALLEST);
        let every = d.len().div_ceil(ENTRIES).max(1);
        for (position, &exact) in d.iter().enumerate().step_by(every) {
            // The loss with this entry moved by `offset`.
            let mut loss_at = |offset: f64| {
                move_entry(&mut moved, which, position, offset);
                let loss = moved.loss(x, classes);
                move_entry(&mut moved, which, position, -offset);
                loss
            };
            let difference = (loss_at(STEP)? - loss_at(-STEP)?) / (2. * STEP);
            let error = (exact - difference).abs();
            // `max` would ignore a NaN.
            farthest = if error.is_nan() {
                f64::INFINITY
            } else {
                farthest.max(error)
            };
            largest = largest.max(exact.abs());
        }
        compared.push(Compared {
            name,
            shape: d.shape().to_vec(),
            error: farthest / largest,
        });
    }
    Ok(compared)
}

fn move_entry(network: &mut Network, which: usize, position: usize, offset: f64) {
    if let Some(entry) = network.parameters_mut()[which].1.iter_mut().nth(position) {
        *entry += offset;
    }
}
