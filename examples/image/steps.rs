//! Operations on a picture `[H, W, 3]`: they broadcast arrays of smaller rank to it. Values are 0
//! (black) to 1.

use crate::command_line::Failure;
use ndarray::{Array1, Array2, Array3, Array5, Axis, array, s};
use ndarray_broadcast::prelude::*;

/// The mean and deviation of a normalised channel. With these, most values lie between 0 and 1.
const MEAN: f32 = 0.5;
const DEVIATION: f32 = 0.2;

/// The fraction of the light in a corner.
const CORNER: f32 = 0.25;

/// Half of the gap between two tiles, in pixels, and the level of its grey.
const MARGIN: usize = 3;
const GREY: u8 = 40;

/// The mean and the standard deviation of each channel, `[3]` and `[3]`.
pub fn mean_and_deviation(
    image: &Array3<f32>,
) -> Result<(Array1<f32>, Array1<f32>), BroadcastError> {
    let (height, width, channels) = image.dim();
    let pixels = (height * width) as f32;
    // [3] -> [H, W, 3]. The gradient of this plan is the sum over H and W.
    let plan = BroadcastPlan::explicit(channels, image.raw_dim(), &[2])?;
    let mean = plan.gradient(image)? / pixels;
    let squares = zip((image, plan.view(&mean)?)).map_collect(|(x, m)| (x - m).powi(2))?;
    let deviation = (plan.gradient(&squares)? / pixels).sqrt();
    Ok((mean, deviation))
}

/// Gives every channel the same mean and deviation, which removes a colour cast.
pub fn normalise(image: &Array3<f32>) -> Result<Array3<f32>, BroadcastError> {
    let (mean, deviation) = mean_and_deviation(image)?;
    // [3] -> [H, W, 3]: channel c feeds axis 2.
    let mean = mean.broadcast_explicit(image.raw_dim(), &[2])?;
    let deviation = deviation.broadcast_explicit(image.raw_dim(), &[2])?;
    zip((image, mean, deviation)).map_collect(|(x, m, d)| {
        // The deviation of a constant channel is only rounding.
        MEAN + DEVIATION * (x - m) / d.max(1e-3)
    })
}

/// The light of each pixel, `[H, W]`: 1 in the centre, decreasing towards the corners.
pub fn vignette(height: usize, width: usize) -> Result<Array2<f32>, BroadcastError> {
    // The square of each pixel's distance from the centre line; 1 at the edge.
    let squares = |size: usize| {
        Array1::from_shape_fn(size, |i| ((2 * i + 1) as f32 / size as f32 - 1.).powi(2))
    };
    let (y, x) = (squares(height).insert_axis(Axis(1)), squares(width)); // [H, 1] and [W]
    zip((&y, &x)).map_collect(|(y, x)| 1. - (1. - CORNER) * ((y + x) / 2.).powi(2))
}

/// Multiplies every pixel by its light, in place.
pub fn darken(image: &mut Array3<f32>, light: &Array2<f32>) -> Result<(), BroadcastError> {
    // [H, W] -> [H, W, 3], without a copy. NumPy's rule would align W with the channels.
    let light = light.broadcast_explicit(image.raw_dim(), &[0, 1])?;
    zip(light).update(image, |x, light| *x *= light)
}

/// Arranges variants of a picture, at most `longest` pixels a side: a row for each exposure, a
/// column for each tint, margins between them.
pub fn contact_sheet(image: &Array3<f32>, longest: usize) -> Result<Array3<u8>, Failure> {
    let exposures = array![0.65, 1., 1.35_f32]; // [R]
    let tints = array![
        [1., 1., 1.],
        [1.15, 1., 0.75],
        [0.8, 1., 1.2],
        [1., 0.85, 1.1]
    ]; // [C, 3]
    let tile = shrink(image, longest)?; // [H, W, 3]
    let (rows, columns) = (exposures.len(), tints.nrows());
    let (height, width, _) = tile.dim();

    // One gain for each exposure, tint and channel: [R] and [C, 3] -> [R, C, 1, 1, 3].
    let shape = (rows, columns, 1, 1, 3);
    let gains = zip(broadcast_pair(
        &exposures.broadcast_explicit(shape, &[0])?,
        &tints.broadcast_explicit(shape, &[1, 4])?,
        ElementwiseRule::None,
    )?)
    .map_collect(|(exposure, tint)| exposure * tint)?;

    // [H, W, 3] with [R, C, 1, 1, 3] is a batch [R, C, H, W, 3]. It is written to the sheet
    // directly. The sheet's axes are R, H with margins, C, W with margins, 3. `tiles` is a view
    // without the margins, permuted to the batch's axes.
    let (with_margin_h, with_margin_w) = (height + 2 * MARGIN, width + 2 * MARGIN);
    let mut sheet = Array5::from_elem((rows, with_margin_h, columns, with_margin_w, 3), GREY);
    let inside = s![.., MARGIN..MARGIN + height, .., MARGIN..MARGIN + width, ..];
    let mut tiles = sheet.slice_mut(inside).permuted_axes([0, 2, 1, 3, 4]);
    zip((&tile, &gains)).map_assign_into(&mut tiles, |(x, gain)| level(x * gain))?;
    Ok(sheet.into_shape_with_order((rows * with_margin_h, columns * with_margin_w, 3))?)
}

/// Shrinks a picture to at most `longest` pixels a side. Each pixel is the mean of a block.
fn shrink(image: &Array3<f32>, longest: usize) -> Result<Array3<f32>, Failure> {
    let (height, width, _) = image.dim();
    let step = height.max(width).div_ceil(longest);
    let (step_h, step_w) = (step.min(height), step.min(width));
    let (h, w) = (height / step_h, width / step_w);
    // [h * step, w * step, 3] as [h, step, w, step, 3]. The remainder on the right and at the
    // bottom is dropped.
    let blocks = (image.slice(s![..h * step_h, ..w * step_w, ..]))
        .materialize()?
        .into_shape_with_order((h, step_h, w, step_w, 3))?;
    // Enlarging broadcasts [h, w, 3] to blocks. The gradient of this plan sums each block.
    let enlarge = BroadcastPlan::explicit((h, w, 3), blocks.raw_dim(), &[0, 2, 4])?;
    Ok(enlarge.gradient(&blocks)? / (step_h * step_w) as f32)
}

/// Rounds a value to one of the 256 levels of a PNG.
pub fn level(value: f32) -> u8 {
    (value.clamp(0., 1.) * 255.).round() as u8
}
