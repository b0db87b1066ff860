//! Plots the losses.

use plotters::prelude::*;

const SIZE: (u32, u32) = (720, 420);
const FONT: &str = "sans-serif";
const TRAIN: RGBColor = RGBColor(31, 119, 180);
const TEST: RGBColor = RGBColor(214, 39, 40);

/// An SVG of the training loss and the test loss at the start of each epoch.
pub fn svg(title: &str, losses: &[(f64, f64)]) -> Result<String, String> {
    let mut picture = String::new();
    draw(&mut picture, title, losses).map_err(|error| error.to_string())?;
    Ok(picture)
}

fn draw(
    picture: &mut String,
    title: &str,
    losses: &[(f64, f64)],
) -> Result<(), Box<dyn std::error::Error>> {
    let area = SVGBackend::with_string(picture, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let highest = (losses.iter()).fold(0_f64, |highest, (train, test)| {
        highest.max(*train).max(*test)
    });
    let mut chart = ChartBuilder::on(&area)
        .caption(title, (FONT, 20))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(56)
        .build_cartesian_2d(0..losses.len().max(2) - 1, 0_f64..1.05 * highest.max(1e-6))?;
    chart
        .configure_mesh()
        .x_desc("epoch")
        .y_desc("cross-entropy")
        .light_line_style(WHITE)
        .label_style((FONT, 14))
        .axis_desc_style((FONT, 16))
        .draw()?;
    let train = losses.iter().map(|at| at.0).collect::<Vec<_>>();
    let test = losses.iter().map(|at| at.1).collect::<Vec<_>>();
    for (name, colour, line) in [("test", TEST, test), ("train", TRAIN, train)] {
        let line = line.into_iter().enumerate();
        chart
            .draw_series(LineSeries::new(line, colour.stroke_width(2)))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 22, y)], colour.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE)
        .border_style(BLACK.mix(0.3))
        .label_font((FONT, 15))
        .draw()?;
    area.present()?;
    Ok(())
}
