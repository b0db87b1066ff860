//! Every rule once, on inputs of the models in `tests/data/ir`.

use crate::arguments::{Command, parse};
use crate::command_line::{Failure, Report};
use std::path::Path;

const REPOSITORY: &str = env!("CARGO_MANIFEST_DIR");

const STEPS: &[(&str, &str)] = &[
    (
        "A column, replicated along axes 0 and 2.",
        "tests/data/ir/v1_numpy.in0.npy --mode numpy --shape 2,3,4",
    ),
    (
        "Channels to images. The 1 in the shape replicates too.",
        "tests/data/ir/v3_bidirectional.in0.npy --mode bidirectional --shape 1,1,50,50",
    ),
    (
        "A bias for each channel: axis 0 feeds axis 1.",
        "tests/data/ir/v1_explicit.in0.npy --mode explicit --shape 1,16,5,5 --axes 1",
    ),
    (
        "An image to a batch with the channels last.",
        "tests/data/ir/v1_explicit_hw.in0.npy --mode in_dim --shape 2,4,5,3 --axes 1,2",
    ),
    (
        "The same image, transposed.",
        "tests/data/ir/v1_explicit_hw.in0.npy --mode in_dim_permuting --shape 5,2,4 --axes 2,0",
    ),
    (
        "A list of the new axes instead of the input's axes.",
        "tests/data/ir/chain.in0.npy --mode broadcast_axes --shape 2,3,4 --axes 0,2",
    ),
    (
        "The input's first axis is axis 1.",
        "tests/data/ir/add_pdpd_axis1.in1.npy --mode pdpd --shape 2,3,4,5 --axis 1",
    ),
    (
        "-1 keeps an axis's size.",
        "tests/data/ir/v3_bidirectional_short.in0.npy --mode expand --shape -1,-1,-1,6",
    ),
    (
        "Prepended axes.",
        "tests/data/ir/mul_none.in0.npy --mode prepend --shape 4",
    ),
    (
        "Two arrays to their common shape.",
        "tests/data/ir/add_numpy.in0.npy --with tests/data/ir/add_numpy.in1.npy --mode numpy",
    ),
    (
        "Two arrays of different ranks, aligned by dimensions.",
        "tests/data/ir/mul_none.in0.npy --with tests/data/ir/chain.in1.npy --mode xla --axes 0",
    ),
    (
        "A scalar as 1.6 * 10^9 elements, without a copy.",
        "tests/data/ir/v3_numpy_scalar.in0.npy --shape 40000,40000",
    ),
];

const MISMATCH: (&str, &str) = (
    "A mismatch, drawn.",
    "tests/data/ir/mul_none.in0.npy --mode numpy --shape 4,2,4",
);

pub fn run() -> Result<(), Failure> {
    let mut report = Report::default();
    for (what, line) in STEPS {
        report.print(&format!("{what}\n$ broadcast {line}\n"))?;
        run_step(line)?;
        report.print("\n")?;
    }
    let (what, line) = MISMATCH;
    report.print(&format!("{what}\n$ broadcast {line}\n"))?;
    match run_step(line) {
        Err(Failure::Data(problem)) => report.print(&format!("error: {problem}\n")),
        other => other,
    }
}

fn run_step(line: &str) -> Result<(), Failure> {
    let words = line.split(' ').map(|word| match word.ends_with(".npy") {
        true => Path::new(REPOSITORY).join(word).into_os_string(),
        false => word.into(),
    });
    match parse(lexopt::Parser::from_args(words))? {
        Command::Broadcast(request) => crate::run::run(&request),
        Command::Help | Command::Tour => Ok(()),
    }
}
