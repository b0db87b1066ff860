//! Most rules, on small arrays.

use crate::arguments::{Command, parse};
use crate::command_line::{Failure, Report};
use std::path::Path;

const REPOSITORY: &str = env!("CARGO_MANIFEST_DIR");

/// The folder of the inputs, from the folder of the repository.
const DATA: &str = "examples/broadcast/data/";

const BEGINNING: &str = "\
The inputs: row.npy is 1 2 3, column.npy the same as a column, matrix.npy 1 2 3 above 4 5 6,
pair.npy 10 20, scalar.npy 0.5. The commands can be pasted into a shell in the repository's folder.
";

/// Each with the arguments of its command. Files are in `DATA`.
const STEPS: &[(&str, &str)] = &[
    (
        "A column, replicated along axes 0 and 2.",
        "column.npy --mode numpy --shape 2,3,4",
    ),
    (
        "A row, three times. The 1 in the shape replicates too.",
        "row.npy --mode bidirectional --shape 3,1",
    ),
    (
        "A bias for each channel: axis 0 feeds axis 1.",
        "row.npy --mode explicit --shape 1,3,2,4 --axes 1",
    ),
    (
        "An image to a batch with the channels last.",
        "matrix.npy --mode in_dim --shape 2,2,3,4 --axes 1,2",
    ),
    (
        "The same image, transposed.",
        "matrix.npy --mode in_dim_permuting --shape 3,2,2 --axes 2,0",
    ),
    (
        "A list of the new axes instead of the input's axes.",
        "row.npy --mode broadcast_axes --shape 2,3,4 --axes 0,2",
    ),
    (
        "The input's first axis is axis 1.",
        "matrix.npy --mode pdpd --shape 2,2,3,4 --axis 1",
    ),
    (
        "-1 keeps an axis's size.",
        "column.npy --mode expand --shape -1,4",
    ),
    ("Prepended axes.", "matrix.npy --mode prepend --shape 2"),
    (
        "Two arrays to their common shape.",
        "column.npy --with row.npy --mode numpy",
    ),
    (
        "Two arrays of different ranks, aligned by dimensions.",
        "matrix.npy --with pair.npy --mode xla --axes 0",
    ),
    (
        "A scalar as 1.6 * 10^9 elements, without a copy.",
        "scalar.npy --mode numpy --shape 40000,40000",
    ),
];

const MISMATCH: (&str, &str) = (
    "A mismatch, drawn.",
    "matrix.npy --mode numpy --shape 4,2,4",
);

pub fn run() -> Result<(), Failure> {
    let mut report = Report::default();
    report.print(BEGINNING)?;
    for (what, line) in STEPS {
        report.print(&beginning_of(what, line))?;
        run_step(line)?;
    }
    let (what, line) = MISMATCH;
    report.print(&beginning_of(what, line))?;
    match run_step(line) {
        Err(Failure::Data(problem)) => report.print(&format!("error: {problem}\n")),
        other => other,
    }
}

/// The words of a step, and the command for a shell.
fn beginning_of(what: &str, line: &str) -> String {
    let words: Vec<String> = (line.split(' '))
        .map(|word| match word.ends_with(".npy") {
            true => format!("{DATA}{word}"),
            false => word.into(),
        })
        .collect();
    format!(
        "\n{what}\n    cargo run --release --example broadcast -- \\\n        {}\n",
        words.join(" ")
    )
}

fn run_step(line: &str) -> Result<(), Failure> {
    let data = Path::new(REPOSITORY).join(DATA);
    let words = line.split(' ').map(|word| match word.ends_with(".npy") {
        true => data.join(word).into_os_string(),
        false => word.into(),
    });
    match parse(lexopt::Parser::from_args(words))? {
        Command::Broadcast(request) => crate::run::run(&request),
        Command::Help | Command::Tour => Ok(()),
    }
}
