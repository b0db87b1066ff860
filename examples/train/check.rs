//! Gradients against finite differences.

use crate::network::Network;
use ndarray::{Array1, Array2};
use ndarray_broadcast::prelude::*;

/// How far a parameter is moved to either side: the cube root of what an `f64` resolves, where the error of the difference
/// is about as small as that of its rounding.
const STEP: f64 = 6e-6;
/// So many entries of a parameter are checked, evenly spread: each costs two passes.
const ENTRIES: usize = 64;
/// A gradient that is smaller everywhere is lost in the rounding of the loss, and counts as this large.
const SMALLEST: f64 = 1e-4;

/// The gradient of one parameter, compared.
#[derive(Debug)]
pub struct Compared {
    pub name: &'static str,
    pub shape: Vec<usize>,
    /// How far it is from `(loss(p + STEP) - loss(p - STEP)) / (2 STEP)` at most, relative to its largest entry.
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
            // The loss with this one entry moved.
            let mut loss_at = |offset: f64| {
                move_entry(&mut moved, which, position, offset);
                let loss = moved.loss(x, classes);
                move_entry(&mut moved, which, position, -offset);
                loss
            };
            let difference = (loss_at(STEP)? - loss_at(-STEP)?) / (2. * STEP);
            let error = (exact - difference).abs();
            // A NaN is no small error.
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
