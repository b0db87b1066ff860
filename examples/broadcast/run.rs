//! Doing what is asked for.

use crate::arguments::{Request, Rule};
use crate::failure::Failure;
use crate::npy;
use crate::tensor::{Tensor, byte_count, with_array};
use crate::write::write;
use ndarray::IxDyn;
use ndarray_broadcast::prelude::*;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

/// So many elements of a view are shown.
const SHOWN: usize = 8;

pub fn run(request: &Request) -> Result<(), Failure> {
    let outs: &[_] = match &request.rule {
        Rule::With { out, .. } => &[&request.out, out],
        _ => &[&request.out],
    };
    let mut report = Report {
        beside_data: outs.iter().any(|out| out.as_deref().is_some_and(is_dash)),
    };
    let input = read(&request.input, request.maximum)?;
    let refused = |error: BroadcastError| Failure::Data(error.to_string());
    let from = IxDyn(input.shape());
    match &request.rule {
        Rule::Mode(mode, shape) => {
            let plan = BroadcastPlan::with_mode(from, &shape[..], mode).map_err(refused)?;
            apply(
                &input,
                &plan,
                &request.input,
                request.out.as_deref(),
                request,
                &mut report,
            )
        }
        Rule::Prepend(sizes) => {
            let plan = BroadcastPlan::prepend(from, &sizes[..]).map_err(refused)?;
            apply(
                &input,
                &plan,
                &request.input,
                request.out.as_deref(),
                request,
                &mut report,
            )
        }
        Rule::With {
            other: path,
            rule,
            out,
        } => {
            let other = read(path, request.maximum)?;
            let (a, b) = BroadcastPlan::pair(from, other.shape(), rule).map_err(refused)?;
            apply(
                &input,
                &a,
                &request.input,
                request.out.as_deref(),
                request,
                &mut report,
            )?;
            apply(&other, &b, path, out.as_deref(), request, &mut report)
        }
    }
}

/// Reports what a plan makes of a tensor, and writes it.
fn apply(
    tensor: &Tensor,
    plan: &BroadcastPlan,
    name: &Path,
    out: Option<&Path>,
    request: &Request,
    report: &mut Report,
) -> Result<(), Failure> {
    let refused = |error: BroadcastError| Failure::Data(error.to_string());
    let element_type = tensor.element_type();
    let shape = plan.output_shape();
    with_array!(tensor, array => {
        let view = plan.view(array).map_err(refused)?;
        let bytes = |len: usize| len as u128 * element_type.size() as u128;
        report.print(&describe(
            [
                format!("{element_type} {:?}, strides {:?}", array.shape(), array.strides()),
                format!("{element_type} {shape:?}, strides {:?}", view.strides()),
            ],
            (short(name), plan),
            [bytes(array.len()), bytes(view.len())],
            view.iter().take(SHOWN + 1).map(|element| format!("{element:?}")).collect(),
        ))?;
        let Some(path) = out else {
            return Ok(());
        };
        let wanted = byte_count(shape, element_type.size(), request.maximum)
            .map_err(|problem| Failure::Data(format!("{problem}; --max-bytes sets another")))?;
        write(path, &view.materialize().map_err(refused)?)?;
        report.print(&format!("wrote   {}: {wanted} bytes and a header\n", display(path)))
    })
}

fn describe(
    [input, view]: [String; 2],
    (name, plan): (String, &BroadcastPlan),
    [held, shown]: [u128; 2],
    mut values: Vec<String>,
) -> String {
    let mut text = format!("input   {name}: {input}\n{plan}\nview    {view}\n");
    let _ = writeln!(
        text,
        "bytes   {shown} not copied: the view reads them out of the input's {held}"
    );
    if values.len() > SHOWN {
        values[SHOWN] = "..".into();
    }
    let _ = writeln!(
        text,
        "values  {}",
        if values.is_empty() {
            "none".into()
        } else {
            values.join(" ")
        }
    );
    text
}

fn read(path: &Path, maximum: usize) -> Result<Tensor, Failure> {
    let read = match is_dash(path) {
        true => npy::read(io::stdin().lock(), maximum),
        false => (File::open(path).map_err(|error| error.to_string()))
            .and_then(|file| npy::read(io::BufReader::new(file), maximum)),
    };
    read.map_err(|problem| Failure::Data(format!("{}: {problem}", display(path))))
}

pub fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Without the folder.
fn short(path: &Path) -> String {
    display(path.file_name().map_or(path, Path::new))
}

fn display(path: &Path) -> String {
    match is_dash(path) {
        true => "-".into(),
        false => path.display().to_string(),
    }
}

/// Where the user is told what is done.
#[derive(Debug, Default)]
pub struct Report {
    /// Data goes to standard output, and so this goes to standard error.
    beside_data: bool,
}

impl Report {
    /// A reader who has stopped reading misses nothing, and the work goes on.
    pub fn print(&mut self, text: &str) -> Result<(), Failure> {
        let printed = match self.beside_data {
            true => io::stderr().write_all(text.as_bytes()),
            false => io::stdout()
                .write_all(text.as_bytes())
                .and_then(|()| io::stdout().flush()),
        };
        match printed.map_err(|error| Failure::io("standard output", &error)) {
            Err(Failure::Data(problem)) if !self.beside_data => Err(Failure::Data(problem)),
            _ => Ok(()),
        }
    }
}
