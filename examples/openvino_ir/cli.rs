//! Parses the arguments, compares the models, returns an exit code.

use crate::compare::{Report, compare};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

macro_rules! usage {
    () => {
        "\
usage: openvino_ir [MODEL.xml ...]
       openvino_ir --help"
    };
}

const USAGE: &str = usage!();

const HELP: &str = concat!(
    "\
Runs OpenVINO models with broadcasting layers, and compares the output with OpenVINO's.

",
    usage!(),
    "

  MODEL.xml         a model in OpenVINO's IR, with these files beside NAME.xml; default: all models
                    in tests/data/ir
      NAME.bin          the constants
      NAME.in0.npy      the first input; NAME.in1.npy is the second, and so on
      NAME.out.npy      the output that OpenVINO gave

Layers: Broadcast of every operation set; Add, Subtract, Multiply, Divide, Maximum and Minimum under
auto_broadcast none, numpy and pdpd.

Exit code 0 if every output equals OpenVINO's, 1 if one differs or a file is wrong, 2 if the
arguments are wrong.
"
);

/// Every output equals OpenVINO's.
pub const EQUAL: u8 = 0;
/// An output differs, or a file is wrong.
pub const DIFFERENT: u8 = 1;
/// The arguments are wrong.
pub const MISUSED: u8 = 2;

/// Runs the models that the arguments name, or those in the repository.
pub fn run(arguments: &[OsString], out: &mut impl Write, err: &mut impl Write) -> u8 {
    // If an output stream is closed, nobody can be told.
    try_run(arguments, out, err).unwrap_or(DIFFERENT)
}

fn try_run(arguments: &[OsString], out: &mut impl Write, err: &mut impl Write) -> io::Result<u8> {
    if arguments.iter().any(|a| a == "--help" || a == "-h") {
        out.write_all(HELP.as_bytes())?;
        return Ok(EQUAL);
    }
    let mut options = arguments
        .iter()
        .filter(|a| a.as_encoded_bytes().starts_with(b"-"));
    if let Some(unknown) = options.next() {
        writeln!(err, "error: unknown option {unknown:?}\n\n{USAGE}")?;
        return Ok(MISUSED);
    }
    let models = match arguments.is_empty() {
        false => Ok(arguments.iter().map(PathBuf::from).collect()),
        true => models_in(Path::new(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../tests/data/ir"
        ))),
    };
    let models: Vec<PathBuf> = match models {
        Ok(models) => models,
        Err(problem) => {
            writeln!(err, "{problem}")?;
            return Ok(DIFFERENT);
        }
    };
    let mut equal = 0;
    for model in &models {
        match compare(model) {
            Ok(report) => {
                equal += 1;
                write_row(out, model, &report)?;
            }
            Err(problem) => writeln!(err, "{problem}")?,
        }
    }
    writeln!(
        out,
        "{equal} of {} models give OpenVINO's output",
        models.len()
    )?;
    Ok(if equal == models.len() {
        EQUAL
    } else {
        DIFFERENT
    })
}

fn write_row(out: &mut impl Write, model: &Path, report: &Report) -> io::Result<()> {
    let name = model.file_stem().unwrap_or_default().to_string_lossy();
    let inputs: Vec<_> = (report.input_shapes.iter())
        .map(|shape| format!("{shape:?}"))
        .collect();
    writeln!(
        out,
        "{name:<31} {:<4} {:>21} -> {:<16} {}",
        report.element_type.to_string(),
        inputs.join(" "),
        format!("{:?}", report.output_shape),
        report.layers.join(", "),
    )
}

/// The models in a folder, sorted by name.
pub fn models_in(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let in_folder = |problem: &dyn std::fmt::Display| format!("{}: {problem}", folder.display());
    let mut models = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| in_folder(&error))? {
        let path = entry.map_err(|error| in_folder(&error))?.path();
        if path.extension().is_some_and(|extension| extension == "xml") {
            models.push(path);
        }
    }
    models.sort();
    match models.is_empty() {
        true => Err(in_folder(&"no models in this folder")),
        false => Ok(models),
    }
}
