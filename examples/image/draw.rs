//! Draws the default picture: hills at dusk, in layers.

use ndarray::{Array1, Array2, Array3, ArrayView1, Axis};
use ndarray_broadcast::prelude::*;

const HEIGHT: usize = 240;
const WIDTH: usize = 360;

/// The ranges of hills, the farthest first: colour, height, and the ridge's amplitude, frequency
/// and phase.
const HILLS: [([f32; 3], f32, [f32; 3]); 4] = [
    ([0.71, 0.47, 0.40], 0.56, [0.030, 5., 0.4]),
    ([0.55, 0.36, 0.34], 0.65, [0.045, 3.7, 2.1]),
    ([0.40, 0.27, 0.29], 0.76, [0.050, 4.6, 4.4]),
    ([0.27, 0.20, 0.23], 0.90, [0.060, 2.9, 0.9]),
];

/// Draws the picture, `[H, W, 3]`, with orange light and weak contrast.
pub fn dusk() -> Result<Array3<f32>, BroadcastError> {
    // The centre of every pixel, in units of the picture's height: [H, 1] and [W].
    let centre = |i: usize| (i as f32 + 0.5) / HEIGHT as f32;
    let y = Array1::from_shape_fn(HEIGHT, centre).insert_axis(Axis(1));
    let x = Array1::from_shape_fn(WIDTH, centre);
    let each = |f: fn(f32, f32) -> f32| zip((&y, &x)).map_collect(|(y, x)| f(y, x));

    let mut image = Array3::zeros((HEIGHT, WIDTH, 3));
    blend(&mut image, &each(|_, _| 1.)?, [0.62, 0.50, 0.52])?;
    blend(&mut image, &each(|y, _| y / 0.6)?, [0.93, 0.66, 0.44])?;
    let sun = |y: f32, x: f32| (y - 0.42).hypot(x - 1.02);
    let glow = zip((&y, &x)).map_collect(|(y, x)| 0.6 * (-5. * sun(y, x)).exp())?;
    blend(&mut image, &glow, [1., 0.86, 0.62])?;
    let disc = zip((&y, &x)).map_collect(|(y, x)| inside(0.085 - sun(y, x)))?;
    blend(&mut image, &disc, [1., 0.93, 0.76])?;
    for (colour, height, [swing, frequency, phase]) in HILLS {
        let ridge = x.mapv(|x| {
            let at = frequency * x + phase;
            height + swing * (at.sin() + 0.35 * (2.7 * at).sin() + 0.12 * (7.3 * at).cos())
        });
        // [H, 1] with [W]
        let hill = zip((&y, &ridge)).map_collect(|(y, ridge)| inside(y - ridge))?;
        blend(&mut image, &hill, colour)?;
    }
    // Haze, which the normalisation removes.
    blend(&mut image, &each(|_, _| 0.35)?, [0.86, 0.62, 0.45])?;
    Ok(image)
}

/// The coverage of a pixel at a distance inside an edge. The edge is one pixel wide.
fn inside(distance: f32) -> f32 {
    (distance * HEIGHT as f32 + 0.5).clamp(0., 1.)
}

/// Blends a colour `[3]` into the picture `[H, W, 3]`, with the opacity `cover` `[H, W]`.
fn blend(
    image: &mut Array3<f32>,
    cover: &Array2<f32>,
    colour: [f32; 3],
) -> Result<(), BroadcastError> {
    let cover = cover.broadcast_explicit(image.raw_dim(), &[0, 1])?;
    let colour = ArrayView1::from(&colour);
    zip((cover, colour)).update(image, |pixel, (cover, colour)| {
        *pixel += cover.clamp(0., 1.) * (colour - *pixel);
    })
}
