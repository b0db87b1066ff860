//! Reads and writes PNG files. Sizes are checked before anything of that size is allocated.

use crate::command_line::Failure;
use crate::read_bytes::read_bytes;
use crate::whole_file::write_whole;
use ndarray::{Array3, Axis};
use ndarray_broadcast::prelude::*;
use std::io::{Cursor, Write};
use std::path::Path;

/// The largest picture to read. A file of a few KiB can decompress to GiB.
const MAXIMUM_PIXELS: u64 = 1 << 24;
/// The longest file to read.
const MAXIMUM_BYTES: u64 = 1 << 28;

/// Reads a picture from a file, or from standard input if the path is `-`, as `[H, W, 3]`.
pub fn read(path: &Path) -> Result<Array3<f32>, Failure> {
    let in_file = |problem: String| Failure::Data(format!("{}: {problem}", path.display()));
    let bytes = read_bytes(path, MAXIMUM_BYTES)?;
    Ok(to_rgb(&decode(&bytes).map_err(in_file)?)?)
}

/// Decodes a PNG to `[H, W, C]`: grey, grey and alpha, RGB, or RGB and alpha.
fn decode(bytes: &[u8]) -> Result<Array3<u8>, String> {
    let broken = |error: png::DecodingError| format!("this is no PNG, or a broken one: {error}");
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let (width, height) = decoder.read_header_info().map_err(broken)?.size();
    if u64::from(width) * u64::from(height) > MAXIMUM_PIXELS {
        return Err(format!(
            "{width} x {height} pixels are more than {MAXIMUM_PIXELS}, \
             which is the limit of this example"
        ));
    }
    let mut reader = decoder.read_info().map_err(broken)?;
    let mut levels = vec![0; reader.output_buffer_size().ok_or("it is too large")?];
    let frame = reader.next_frame(&mut levels).map_err(broken)?;
    levels.truncate(frame.buffer_size());
    let shape = (
        frame.height as usize,
        frame.width as usize,
        frame.color_type.samples(),
    );
    Array3::from_shape_vec(shape, levels).map_err(|error| error.to_string())
}

/// Converts levels `[H, W, C]` to values `[H, W, 3]`. Grey becomes three channels. Transparency
/// becomes white.
fn to_rgb(levels: &Array3<u8>) -> Result<Array3<f32>, BroadcastError> {
    let (height, width, channels) = levels.dim();
    // [H, W, 1 or 3] and [H, W, 1], or [H, W, 0] if there is no alpha.
    let opaque = channels % 2 == 1;
    let (colour, alpha) =
        (levels.view()).split_at(Axis(2), if opaque { channels } else { channels - 1 });
    let values = match opaque {
        true => colour.mapv(|colour| f32::from(colour) / 255.),
        false => zip((&colour, &alpha)).map_collect(|(colour, alpha)| {
            let alpha = f32::from(alpha) / 255.;
            f32::from(colour) / 255. * alpha + (1. - alpha)
        })?,
    };
    // [H, W, 1] -> [H, W, 3]
    values.broadcast_numpy((height, width, 3))?.materialize()
}

/// Writes levels `[H, W, 3]` as PNG.
pub fn write(path: &Path, levels: &Array3<u8>) -> Result<(), Failure> {
    let bytes =
        encode(levels).map_err(|error| Failure::Data(format!("{}: {error}", path.display())))?;
    write_whole(path, |to| to.write_all(&bytes))
}

fn encode(levels: &Array3<u8>) -> Result<Vec<u8>, png::EncodingError> {
    let (height, width, _) = levels.dim();
    let size = |size| u32::try_from(size).map_err(|_| png::EncodingError::LimitsExceeded);
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, size(width)?, size(height)?);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header()?;
    let mut stream = writer.stream_writer()?;
    match levels.as_slice() {
        Some(levels) => stream.write_all(levels)?,
        None => stream.write_all(&levels.iter().copied().collect::<Vec<_>>())?,
    }
    stream.finish()?;
    writer.finish()?;
    Ok(bytes)
}
