//! Broadcasts before and after a model that ONNX Runtime runs.
//!
//! ```text
//! ORT_DYLIB_PATH=.../libonnxruntime.so.1.31.1 cargo run
//! ```
//!
//! Before the model: a bias for each channel is added to images, directly into the memory of the
//! model's input. After the model: its output, one mean for each channel, is read where ONNX Runtime
//! has written it, and subtracted from the images.
//!
//! Exit code 0 on success, 1 if ONNX Runtime is not found or fails (stderr says why).

use ndarray::{Array4, ArrayView, ArrayViewD, ArrayViewMut, Ix2, array};
use ndarray_broadcast::prelude::*;
use ort::memory::Allocator;
use ort::session::Session;
use ort::value::Tensor;
use std::error::Error;
use std::panic;
use std::process::ExitCode;

const MODEL: &[u8] = include_bytes!("../model.onnx");

fn main() -> ExitCode {
    match load().and_then(|()| run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Loads ONNX Runtime. `ort` panics if there is no library, or an old one: here that is an error.
fn load() -> Result<(), Box<dyn Error>> {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let loaded = panic::catch_unwind(|| {
        ort::api();
    });
    panic::set_hook(hook);
    loaded.map_err(|payload| {
        let why = match payload.downcast::<String>() {
            Ok(text) => *text,
            Err(_) => "it is no library of ONNX Runtime".into(),
        };
        let version = ort::MINOR_VERSION;
        format!(
            "ONNX Runtime cannot be loaded: {why}. The environment variable ORT_DYLIB_PATH must \
             name its library, of version 1.{version} or later."
        )
        .into()
    })
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut session = Session::builder()?.commit_from_memory(MODEL)?;
    let mut images = Array4::from_shape_fn((2, 3, 4, 5), |(n, c, h, w)| (n + c + h + w) as f32);
    let bias = array![0.5, 1., 1.5];

    // Before the model: [N, C, H, W] + [C], into the input.
    let shape = images.raw_dim();
    let mut input = Tensor::<f32>::new(&Allocator::default(), images.shape())?;
    let (_, memory) = input.extract_tensor_mut();
    let mut memory = ArrayViewMut::from_shape(shape, memory)?;
    let channel = ElementwiseRule::channel(1);
    zip(broadcast_pair(&images, &bias, channel)?).map_assign_into(&mut memory, |(x, b)| x + b)?;

    let outputs = session.run(ort::inputs!["x" => input])?;

    // After the model: [N, C] to [N, C, H, W], not copied.
    let (sizes, means) = outputs["y"].try_extract_tensor::<f32>()?;
    let sizes: Vec<usize> = sizes.iter().map(|&size| size as usize).collect();
    let means: ArrayViewD<'_, f32> = ArrayView::from_shape(sizes, means)?;
    let means = means.into_dimensionality::<Ix2>()?;
    let wide = means.broadcast_explicit(shape, &[0, 1])?;
    zip(&wide).update(&mut images, |x, mean| *x -= mean)?;

    // The mean of each channel is now -bias.
    for image in images.outer_iter() {
        for (channel, bias) in image.outer_iter().zip(&bias) {
            assert!((channel.sum() / 20. + bias).abs() < 1e-5);
        }
    }
    println!("the input was written and the output was read in ONNX Runtime's memory");
    Ok(())
}
