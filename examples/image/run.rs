//! Runs a request.

use crate::arguments::Request;
use crate::command_line::{Failure, Report};
use crate::steps::{contact_sheet, darken, level, mean_and_deviation, normalise, vignette};
use crate::{draw, files};
use ndarray::Array3;
use ndarray_broadcast::prelude::*;
use std::fs;
use std::path::Path;

pub fn run(request: &Request) -> Result<(), Failure> {
    let image = match &request.input {
        Some(path) => files::read(path)?,
        None => draw::dusk()?,
    };
    let out = &request.out;
    fs::create_dir_all(out).map_err(|error| Failure::io(&out.display().to_string(), &error))?;
    let mut report = Report::default();
    let (height, width, _) = image.dim();

    show(&mut report, out, "input.png", &image.mapv(level))?;

    let plan = BroadcastPlan::explicit(3, image.raw_dim(), &[2])?;
    report.print(&format!(
        "\nThe mean and the deviation of each channel, {plan}\n"
    ))?;
    let mut image = normalise(&image)?;
    show(&mut report, out, "normalised.png", &image.mapv(level))?;

    let plan = BroadcastPlan::explicit((height, width), image.raw_dim(), &[0, 1])?;
    report.print(&format!("\nThe light that each pixel gets, {plan}\n"))?;
    darken(&mut image, &vignette(height, width)?)?;
    show(&mut report, out, "vignette.png", &image.mapv(level))?;

    let sheet = contact_sheet(&image, request.tile)?;
    report.print("\nThree exposures of four tints, [3, 4, 1, 1, 3] with a small [H, W, 3]\n")?;
    show(&mut report, out, "sheet.png", &sheet)
}

/// Writes a picture, and prints the mean and the deviation of each channel.
fn show(report: &mut Report, out: &Path, name: &str, levels: &Array3<u8>) -> Result<(), Failure> {
    let path = out.join(name);
    files::write(&path, levels)?;
    let (mean, deviation) = mean_and_deviation(&levels.mapv(f32::from))?;
    report.print(&format!(
        "wrote {}: {:?}, mean {mean:.1}, deviation {deviation:.1}\n",
        path.display(),
        levels.shape(),
    ))
}
