//! Runs a request.

use crate::arguments::Request;
use crate::check::{self, Compared};
use crate::command_line::{Failure, Report};
use crate::network::Network;
use crate::plot;
use crate::random::Random;
use crate::table::{Rows, Table};
use crate::whole_file::{is_dash, write_whole};
use ndarray::{Array2, s};
use std::fmt::Write;
use std::fs;
use std::path::Path;

const WINES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/train/wine.csv");

/// How many rows the gradient check uses.
const CHECKED_ROWS: usize = 64;
/// The tolerance of the gradient check. Rounding causes about 1e-9, a missing term about 1.
const LARGEST_ERROR: f64 = 1e-6;
/// The loss at which training has diverged. An untrained network's is about the logarithm of the
/// number of classes.
const LARGEST_LOSS: f64 = 1e9;
/// How many lines of progress are printed.
const LINES: usize = 10;
/// The most classes that are printed as a table.
const SHOWN_CLASSES: usize = 10;

pub fn run(request: &Request) -> Result<(), Failure> {
    let mut report = Report {
        on_stderr: is_dash(&request.out),
    };
    let path = request.data.as_deref().unwrap_or(Path::new(WINES));
    let table = Table::read(path)?;
    table.check_size(request.hidden)?;
    let (features, classes) = (table.features.len(), table.names.len());
    let mut random = Random::new(request.seed);
    let (train, test) = table.split(&mut random)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let title = format!(
        "{name}: {features} features, {} hidden units, {classes} classes",
        request.hidden
    );
    report.print(&format!(
        "{title}; {} rows to train, {} to test\n",
        train.classes.len(),
        test.classes.len(),
    ))?;

    let mut network = Network::new(features, request.hidden, classes, &mut random);
    check_gradients(&mut report, &network, &train)?;
    let losses = descend(&mut report, &mut network, request, (&train, &test))?;
    report.print(&confusion(&network, &test, &table.names)?)?;

    let out = &request.out;
    if request.create_folder {
        create_folder_of(out)?;
    }
    let picture = plot::svg(&title, &losses).map_err(Failure::Data)?;
    write_whole(out, |to| to.write_all(picture.as_bytes()))?;
    match is_dash(out) {
        true => Ok(()),
        false => report.print(&format!("\nwrote {}\n", out.display())),
    }
}

fn create_folder_of(file: &Path) -> Result<(), Failure> {
    match file.parent() {
        Some(folder) => fs::create_dir_all(folder)
            .map_err(|error| Failure::io(&folder.display().to_string(), &error)),
        None => Ok(()),
    }
}

fn check_gradients(report: &mut Report, network: &Network, rows: &Rows) -> Result<(), Failure> {
    let some = ..rows.classes.len().min(CHECKED_ROWS);
    let x = rows.x.slice(s![some, ..]).to_owned();
    let classes = rows.classes.slice(s![some]).to_owned();
    report.print("\ngradient of      shape         largest error against finite differences\n")?;
    let mut largest = 0_f64;
    for Compared { name, shape, error } in check::compare(network, &x, &classes)? {
        let shape = format!("{shape:?}");
        report.print(&format!("{name:<16} {shape:<13} {error:.1e}\n"))?;
        largest = largest.max(error);
    }
    match largest <= LARGEST_ERROR {
        true => Ok(()),
        false => Err(Failure::Data(format!(
            "a gradient differs from finite differences by {largest:.1e}"
        ))),
    }
}

/// Trains, and returns both losses before each epoch and after the last.
fn descend(
    report: &mut Report,
    network: &mut Network,
    request: &Request,
    (train, test): (&Rows, &Rows),
) -> Result<Vec<(f64, f64)>, Failure> {
    report.print("\nepoch   train loss   test loss   test accuracy\n")?;
    let every = request.epochs.div_ceil(LINES);
    let mut losses = Vec::new();
    for epoch in 0..=request.epochs {
        let (loss, gradient) = network.gradient(&train.x, &train.classes)?;
        let test_loss = network.loss(&test.x, &test.classes)?;
        // A NaN in either loss makes the comparison false.
        let within = loss + test_loss < LARGEST_LOSS;
        if !within {
            return Err(Failure::Data(format!(
                "the loss is {loss} and {test_loss} at epoch {epoch}; a smaller --rate may help"
            )));
        }
        losses.push((loss, test_loss));
        if epoch % every == 0 || epoch == request.epochs {
            let right = (network.predict(&test.x)?.iter().zip(&test.classes))
                .filter(|(found, class)| found == class)
                .count();
            let of = test.classes.len();
            report.print(&format!(
                "{epoch:>5} {loss:>12.4} {test_loss:>11.4} {right:>9} of {of}\n"
            ))?;
        }
        if epoch < request.epochs {
            network.step(&gradient, request.rate)?;
        }
    }
    Ok(losses)
}

/// The confusion matrix: for each class, how many rows are predicted as each class.
fn confusion(network: &Network, rows: &Rows, names: &[String]) -> Result<String, Failure> {
    let mut counts = Array2::<usize>::zeros((names.len(), names.len()));
    for (&class, &found) in rows.classes.iter().zip(&network.predict(&rows.x)?) {
        counts[[class, found]] += 1;
    }
    let mut text = String::from("\n");
    if names.len() <= SHOWN_CLASSES {
        let longest = names.iter().map(|name| name.chars().count()).max();
        let width = longest.unwrap_or(0).clamp(4, 12);
        let mut line = |first: &str, cells: Vec<String>| {
            let cells = cells.iter().map(|cell| format!(" {cell:>width$.width$}"));
            let cells: String = cells.collect();
            let _ = writeln!(text, "{first:<17.17}{cells}");
        };
        line("true \\ predicted", names.to_vec());
        for (name, counts) in names.iter().zip(counts.rows()) {
            line(name, counts.iter().map(usize::to_string).collect());
        }
    }
    let (right, all) = (counts.diag().sum(), rows.classes.len());
    let percent = 100. * right as f64 / all as f64;
    let _ = writeln!(text, "\ntest accuracy {right} of {all} ({percent:.1} %)");
    Ok(text)
}
