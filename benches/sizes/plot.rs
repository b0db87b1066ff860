//! Plots the lines, for the README.

use crate::Line;
use plotters::coord::combinators::BindKeyPoints;
use plotters::prelude::*;
use std::error::Error;
use std::fs;
use std::path::Path;

/// Narrow, so that text stays readable on a phone; a wide page shows both plots side by side.
const SIZE: (u32, u32) = (440, 368 + LEGEND_HEIGHT);
/// One line for each entry: two columns would be wider than the plot.
const LEGEND_HEIGHT: u32 = 14 + STYLES.len() as u32 * LEGEND_LINE;
const LEGEND_LINE: u32 = 24;

const LIMIT: RGBColor = RGBColor(150, 150, 150);
const OURS: RGBColor = RGBColor(0, 90, 180);
const NDARRAY: RGBColor = RGBColor(205, 85, 0);
const GRID: RGBColor = RGBColor(225, 225, 225);
const TEXT: RGBColor = RGBColor(40, 40, 40);

/// The kinds of output with their captions. Each has its own plot, named by its kind.
const PANELS: [(&str, &str); 2] = [
    ("into", "materialize_into: existing memory"),
    ("fresh", "materialize: new memory"),
];

/// The programs and patterns, in the order of the legend.
const STYLES: [(&str, &str, RGBColor, &str); 5] = [
    (
        "this crate",
        "channel",
        OURS,
        "this crate, [C] onto [N, C, H, W]",
    ),
    ("this crate", "rows3", OURS, "this crate, [3] onto [N, 3]"),
    (
        "ndarray",
        "channel",
        NDARRAY,
        "ndarray, [C] onto [N, C, H, W]",
    ),
    ("ndarray", "rows3", NDARRAY, "ndarray, [3] onto [N, 3]"),
    ("limit", "channel", LIMIT, "limit: a fill of as many bytes"),
];

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Writes an SVG for each kind of output.
pub fn write(lines: &[Line]) -> Result<()> {
    for panel in PANELS {
        let mut svg = String::new();
        draw(panel, lines, &mut svg)?;
        let path = format!("plots/{}.svg", panel.0);
        fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(&path), &svg)?;
        println!("\n{path}: {} bytes", svg.len());
    }
    Ok(())
}

fn draw(panel: (&str, &str), lines: &[Line], svg: &mut String) -> Result<()> {
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    // A white background, as pages may be dark.
    root.fill(&WHITE)?;
    let (area, legend) = root.split_vertically(SIZE.1 - LEGEND_HEIGHT);
    draw_panel(&area, panel, lines)?;
    draw_legend(&legend)?;
    root.present()?;
    Ok(())
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn draw_panel(area: &Area<'_>, (way, caption): (&str, &str), lines: &[Line]) -> Result<()> {
    let sizes: Vec<f64> = (0..5).map(|i| 64.0 * 64_f64.powi(i)).collect();
    let speeds = (lines.iter()).flat_map(|line| line.points.iter().map(|point| point.1));
    let (low, high) = speeds.fold((1_f64, 1_f64), |(low, high), speed| {
        (low.min(speed), high.max(speed))
    });
    // The given digits, times every power of ten in range.
    let marks = |digits: &[f64]| -> Vec<f64> {
        let all =
            (-3..6).flat_map(|power| digits.iter().map(move |digit| digit * 10_f64.powi(power)));
        all.filter(|mark| (low / 1.2..high * 1.2).contains(mark))
            .collect()
    };
    let mut chart = ChartBuilder::on(area)
        .caption(caption, ("sans-serif", 17, &TEXT))
        .margin(8)
        .margin_right(18)
        .x_label_area_size(42)
        .y_label_area_size(52)
        .build_cartesian_2d(
            (64_f64..(1_u64 << 30) as f64)
                .log_scale()
                .with_key_points(sizes),
            (low / 1.2..high * 1.2)
                .log_scale()
                .with_key_points(marks(&[1.0]))
                .with_light_points(marks(&[2.0, 5.0])),
        )?;
    chart
        .configure_mesh()
        .bold_line_style(RGBColor(185, 185, 185))
        .light_line_style(GRID)
        .label_style(("sans-serif", 14, &TEXT))
        .axis_desc_style(("sans-serif", 14, &TEXT))
        .x_desc("bytes of the output")
        .y_desc("GB/s (more is better)")
        .x_label_formatter(&|&bytes| short(bytes))
        .y_label_formatter(&|speed| format!("{speed}"))
        .draw()?;
    // Draw the limit first and the crate's lines last, on top.
    for (who, pattern, colour, _) in STYLES.iter().rev() {
        let is_its = |line: &&Line| (line.way, line.who, line.pattern) == (way, *who, *pattern);
        let line = lines.iter().find(is_its);
        let points = line.map_or(&[][..], |line| &line.points).iter();
        let points = points.map(|&(bytes, speed)| (bytes as f64, speed));
        let style = stroke(*colour, who);
        let series = LineSeries::new(points, style.filled());
        chart.draw_series(series.point_size(point_size(pattern)))?;
    }
    Ok(())
}

fn stroke(colour: RGBColor, who: &str) -> ShapeStyle {
    colour.stroke_width(if who == "limit" { 5 } else { 2 })
}

/// Both patterns of a program have the same colour; one of them has points.
fn point_size(pattern: &str) -> u32 {
    if pattern == "rows3" { 3 } else { 0 }
}

fn draw_legend(area: &Area<'_>) -> Result<()> {
    for (i, (who, pattern, colour, words)) in STYLES.iter().enumerate() {
        let (x, y) = (8, 14 + i as i32 * LEGEND_LINE as i32);
        let style = stroke(*colour, who);
        area.draw(&PathElement::new([(x, y), (x + 36, y)], style))?;
        let point = Circle::new((x + 18, y), point_size(pattern), style.filled());
        area.draw(&point)?;
        let font = ("sans-serif", 14).into_font().color(&TEXT);
        area.draw(&Text::new(*words, (x + 46, y - 8), font))?;
    }
    Ok(())
}

/// `64 B`, `4 KiB`.
fn short(bytes: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB"];
    let unit = (bytes.log2() / 10.0) as usize;
    format!(
        "{} {}",
        bytes / 1024_f64.powi(unit as i32),
        units[unit.min(3)]
    )
}
