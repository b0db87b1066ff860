//! A picture to begin with: hills at dusk, layer on layer.

use ndarray::{Array1, Array2, Array3, ArrayView1, Axis};
use ndarray_broadcast::prelude::*;

const HEIGHT: usize = 240;
const WIDTH: usize = 360;

/// Colour and height of each range of hills, the farthest first, and how its ridge swings.
const HILLS: [([f32; 3], f32, [f32; 3]); 4] = [
    ([0.71, 0.47, 0.40], 0.56, [0.030, 5., 0.4]),
    ([0.55, 0.36, 0.34], 0.65, [0.045, 3.7, 2.1]),
    ([0.40, 0.27, 0.29], 0.76, [0.050, 4.6, 4.4]),
    ([0.27, 0.20, 0.23], 0.90, [0.060, 2.9, 0.9]),
];

/// `[H, W, 3]`, the light orange and the contrast weak.
pub fn dusk() -> Result<Array3<f32>, BroadcastError> {
    // The centre of every pixel, where the picture's height is 1: [H, 1] and [W].
    let centre = |i: usize| (i as f32 + 0.5) / HEIGHT as f32;
    let y = Array1::from_shape_fn(HEIGHT, centre).insert_axis(Axis(1));
    let x = Array1::from_shape_fn(WIDTH, centre);
    let each = |f: fn(f32, f32) -> f32| y.zip_map(&x, ElementwiseRule::Numpy, |&y, &x| f(y, x));

    let mut image = Array3::zeros((HEIGHT, WIDTH, 3));
    lay(&mut image, &each(|_, _| 1.)?, [0.62, 0.50, 0.52])?;
    lay(&mut image, &each(|y, _| y / 0.6)?, [0.93, 0.66, 0.44])?;
    let sun = |y: f32, x: f32| (y - 0.42).hypot(x - 1.02);
    let glow = y.zip_map(&x, ElementwiseRule::Numpy, |&y, &x| {
        0.6 * (-5. * sun(y, x)).exp()
    })?;
    lay(&mut image, &glow, [1., 0.86, 0.62])?;
    let disc = y.zip_map(&x, ElementwiseRule::Numpy, |&y, &x| {
        inside(0.085 - sun(y, x))
    })?;
    lay(&mut image, &disc, [1., 0.93, 0.76])?;
    for (colour, height, [swing, frequency, phase]) in HILLS {
        let ridge = x.mapv(|x| {
            let at = frequency * x + phase;
            height + swing * (at.sin() + 0.35 * (2.7 * at).sin() + 0.12 * (7.3 * at).cos())
        });
        // [H, 1] with [W]
        let hill = y.zip_map(&ridge, ElementwiseRule::Numpy, |y, ridge| inside(y - ridge))?;
        lay(&mut image, &hill, colour)?;
    }
    // The haze that a normalisation takes away again.
    lay(&mut image, &each(|_, _| 0.35)?, [0.86, 0.62, 0.45])?;
    Ok(image)
}

/// How much of a pixel is covered, by how far inside the edge it is: the edge is a pixel wide.
fn inside(distance: f32) -> f32 {
    (distance * HEIGHT as f32 + 0.5).clamp(0., 1.)
}

/// Lays a colour `[3]` on the picture `[H, W, 3]`, as much of it as `cover` `[H, W]` says.
fn lay(
    image: &mut Array3<f32>,
    cover: &Array2<f32>,
    colour: [f32; 3],
) -> Result<(), BroadcastError> {
    let cover = cover.broadcast_explicit(image.raw_dim(), &[0, 1])?;
    let colour = ArrayView1::from(&colour);
    let colour = colour.broadcast_explicit(image.raw_dim(), &[2])?;
    image.zip_map3_inplace(&cover, &colour, |pixel, &cover, colour| {
        *pixel += cover.clamp(0., 1.) * (colour - *pixel);
    })
}
