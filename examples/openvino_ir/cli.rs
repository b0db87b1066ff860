//! Parses the arguments, runs or checks the models, returns an exit code.

use crate::compare::{Report, compare};
use crate::shapes::{Checked, Verdict, check};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

macro_rules! usage {
    () => {
        "\
usage: openvino_ir [--check] [MODEL.xml ...]
       openvino_ir --help"
    };
}

const USAGE: &str = usage!();

const HELP: &str = concat!(
    "\
Runs OpenVINO models with broadcasting layers, and compares the output with OpenVINO's. Checks the
shapes that any OpenVINO model declares.

",
    usage!(),
    "

  MODEL.xml         a model in OpenVINO's IR, version 10 or 11; default: all models in tests/data/ir
  --check           infer the output shape of each layer that broadcasts, and compare it with the
                    one in the file; the file NAME.bin is optional

Without --check, these files are beside NAME.xml:

  NAME.bin          the constants
  NAME.in0.npy      the first input; NAME.in1.npy is the second, and so on
  NAME.out.npy      the output that OpenVINO gave

A model runs if it has one result, and these layers only, on the types f16, f32, f64, boolean and
integers of 8 to 64 bits:

  Parameter, also of partly known shape; Const; Result
  Broadcast of every operation set
  Add, Subtract, Multiply, Divide (of floats), Maximum, Minimum, SquaredDifference, Equal, NotEqual,
  Greater, GreaterEqual, Less, LessEqual, LogicalAnd, LogicalOr, LogicalXor and Select, under
  auto_broadcast none, numpy and pdpd
  PReLU
  ReduceSum, ReduceProd, ReduceMax and ReduceMin; of floats ReduceMean, ReduceL1 and ReduceL2; of
  booleans ReduceLogicalAnd and ReduceLogicalOr
  Convert, ShapeOf, Squeeze, Unsqueeze, Reshape

The output must equal OpenVINO's. After a sum, mean, product or norm of floats, it may differ by 16
times the spacing of floats at the output's largest magnitude.

--check infers these layers, also in the bodies of If, Loop and TensorIterator, and passes over all
others: Broadcast, all elementwise layers of two operands, Select, PReLU, FakeQuantize, MatMul,
Reduce*. Its list has, for each kind, how many shapes are

  same              as inferred; sizes that the file leaves open are open here, too
  file knows less   a size is open in the file, and known here
  file knows more   a size is known in the file, and open here, as the value of an input is not known
  differ            no tensor has both shapes

Exit code 0 if every output equals OpenVINO's or, with --check, no shape differs; 1 if one differs
or a file is wrong, 2 if the arguments are wrong.
"
);

/// Every output equals OpenVINO's, or no shape differs.
pub const EQUAL: u8 = 0;
/// An output or a shape differs, or a file is wrong.
pub const DIFFERENT: u8 = 1;
/// The arguments are wrong.
pub const MISUSED: u8 = 2;

/// Runs or checks the models that the arguments name, or those in the repository.
pub fn run(arguments: &[OsString], out: &mut impl Write, err: &mut impl Write) -> u8 {
    // If an output stream is closed, nobody can be told.
    try_run(arguments, out, err).unwrap_or(DIFFERENT)
}

fn try_run(arguments: &[OsString], out: &mut impl Write, err: &mut impl Write) -> io::Result<u8> {
    if arguments.iter().any(|a| a == "--help" || a == "-h") {
        out.write_all(HELP.as_bytes())?;
        return Ok(EQUAL);
    }
    let (options, models): (Vec<_>, Vec<_>) =
        (arguments.iter()).partition(|a| a.as_encoded_bytes().starts_with(b"-"));
    if let Some(unknown) = options.iter().find(|option| **option != "--check") {
        writeln!(err, "error: unknown option {unknown:?}\n\n{USAGE}")?;
        return Ok(MISUSED);
    }
    let models = match models.is_empty() {
        false => Ok(models.iter().map(PathBuf::from).collect()),
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
    let (good, what) = match options.is_empty() {
        true => (run_all(&models, out, err)?, "give OpenVINO's output"),
        false => (
            check_all(&models, out, err)?,
            "declare the shapes that are inferred here",
        ),
    };
    writeln!(out, "{good} of {} models {what}", models.len())?;
    Ok(if good == models.len() {
        EQUAL
    } else {
        DIFFERENT
    })
}

/// Runs models. Returns how many give OpenVINO's output.
fn run_all(models: &[PathBuf], out: &mut impl Write, err: &mut impl Write) -> io::Result<usize> {
    let mut equal = 0;
    for model in models {
        match compare(model) {
            Ok(report) => {
                equal += 1;
                write_row(out, model, &report)?;
            }
            Err(problem) => writeln!(err, "{problem}")?,
        }
    }
    Ok(equal)
}

/// Checks models. Returns how many have no shape that differs.
fn check_all(models: &[PathBuf], out: &mut impl Write, err: &mut impl Write) -> io::Result<usize> {
    let mut good = 0;
    for model in models {
        match check(model) {
            Ok(checked) => {
                write_checked(out, model, &checked)?;
                for (verdict, remark) in &checked.remarks {
                    match verdict {
                        Verdict::Different => writeln!(err, "{}: {remark}", model.display())?,
                        _ => writeln!(out, "  {}: {remark}", label(*verdict))?,
                    }
                }
                good += usize::from(checked.count(Verdict::Different) == 0);
            }
            Err(problem) => writeln!(err, "{problem}")?,
        }
    }
    Ok(good)
}

fn label(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Same => "same",
        Verdict::FileWider => "file knows less",
        Verdict::FileNarrower => "file knows more",
        Verdict::Different => "differ",
    }
}

fn write_checked(out: &mut impl Write, model: &Path, checked: &Checked) -> io::Result<()> {
    let total: usize = Verdict::ALL
        .map(|verdict| checked.count(verdict))
        .iter()
        .sum();
    writeln!(
        out,
        "{}: IR {}, graphs: {}, layers: {}, checked: {total}",
        model.display(),
        checked.version,
        checked.graphs,
        checked.layers,
    )?;
    let row = |out: &mut dyn Write, name: &str, counts: [usize; Verdict::ALL.len()]| {
        let counts = (Verdict::ALL.iter().zip(counts))
            .filter(|(_, count)| *count > 0)
            .map(|(verdict, count)| format!("{count:>6} {}", label(*verdict)));
        writeln!(out, "  {name:<18}{}", counts.collect::<Vec<_>>().join(","))
    };
    for (kind, counts) in &checked.checked {
        row(out, kind, *counts)?;
    }
    row(
        out,
        "all of these",
        Verdict::ALL.map(|verdict| checked.count(verdict)),
    )?;
    let passed_over: Vec<String> = (checked.passed_over.iter())
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect();
    writeln!(out, "  passed over: {}", passed_over.join(", "))
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
