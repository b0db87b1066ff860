//! Runs a request.

use crate::arguments::{Request, Rule};
use crate::command_line::{Failure, Report};
use crate::npy::MAXIMUM_RANK;
use crate::npy_file::{display, read, short};
use crate::npy_header::WriteElement;
use crate::tensor::{ElementType, byte_count, with_array};
use crate::whole_file::is_dash;
use crate::write::write;
use ndarray::{ArrayD, ArrayViewD, IxDyn};
use ndarray_broadcast::prelude::*;
use std::fmt::Debug;
use std::path::Path;

/// How many elements of a view are printed: of a row, and rows.
const SHOWN: (usize, usize) = (8, 6);

pub fn run(request: &Request) -> Result<(), Failure> {
    let input = read(&request.input, request.maximum)?;
    // Each plan with its input and the path of its output.
    let applied = match &request.rule {
        Rule::To(rule) => vec![(
            rule.plan(input.shape())?,
            (&request.input, input, &request.out),
        )],
        Rule::With { other, rule, out } => {
            let (name, other) = (other, read(other, request.maximum)?);
            let (a, b) = BroadcastPlan::pair(IxDyn(input.shape()), other.shape(), rule)?;
            vec![
                (a, (&request.input, input, &request.out)),
                (b, (name, other, out)),
            ]
        }
    };
    let mut report = Report {
        on_stderr: (applied.iter()).any(|(_, (_, _, out))| out.as_deref().is_some_and(is_dash)),
    };
    for (plan, (name, tensor, out)) in applied {
        with_array!(&tensor, array => {
            let view = plan.view(array)?;
            report.print(&describe((&short(name), tensor.element_type()), array, &plan, &view))?;
            if let Some(path) = out {
                let bytes = write_owned(path, &view, request.maximum)?;
                report.print(&format!("wrote   {}: {bytes} bytes and a header\n", display(path)))?;
            }
        });
    }
    Ok(())
}

/// Writes a copy of a view and returns its number of element bytes.
fn write_owned<T: WriteElement>(
    path: &Path,
    view: &ArrayViewD<'_, T>,
    maximum: usize,
) -> Result<usize, Failure> {
    let bytes = byte_count(view.shape(), T::SIZE, maximum)
        .map_err(|problem| Failure::Data(format!("{problem}; --max-bytes sets another")))?;
    write(path, &view.materialize()?)?;
    Ok(bytes)
}

fn describe<T: WriteElement>(
    (name, element_type): (&str, ElementType),
    array: &ArrayD<T>,
    plan: &BroadcastPlan,
    view: &ArrayViewD<'_, T>,
) -> String {
    let bytes = |len: usize| len as u128 * T::SIZE as u128;
    let of = |shape: &[usize], strides: &[isize]| {
        format!("{element_type} {}, strides {}", list(shape), list(strides))
    };
    format!(
        "input   {name}: {}\n{plan}\nview    {}\n\
         bytes   {} not copied: the view reads them out of the input's {}\n{}",
        of(array.shape(), array.strides()),
        of(view.shape(), view.strides()),
        bytes(view.len()),
        bytes(array.len()),
        rows(view),
    )
}

/// The first elements of the first rows of a view. A row is along the last axis.
fn rows<T: Debug>(view: &ArrayViewD<'_, T>) -> String {
    if view.is_empty() {
        return "values  none\n".into();
    }
    let (shown, shown_rows) = SHOWN;
    let size = view.shape().last().map_or(1, |&size| size);
    let mut text = String::new();
    for (number, row) in view.rows().into_iter().take(shown_rows).enumerate() {
        text += if number == 0 { "values " } else { "       " };
        for element in row.iter().take(shown) {
            text += &format!(" {element:?}");
        }
        text += if size > shown { " ..\n" } else { "\n" };
    }
    if view.len() / size > shown_rows {
        text += "        ..\n";
    }
    text
}

/// `[2, 3]`. Only the first entries of a long list.
fn list<T: Debug>(values: &[T]) -> String {
    if values.len() <= MAXIMUM_RANK {
        return format!("{values:?}");
    }
    let first = format!("{:?}", &values[..MAXIMUM_RANK]);
    format!(
        "{}, ... {} axes]",
        first.trim_end_matches(']'),
        values.len()
    )
}
