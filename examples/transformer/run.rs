//! Runs a request.

use crate::arguments::Request;
use crate::case::Case;
use crate::command_line::{Failure, Report};
use crate::compare::{Compared, compare};
use std::path::Path;

const FOLDERS: [&str; 2] = [
    concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/transformer/data/grouped_query"
    ),
    concat!(env!("CARGO_MANIFEST_DIR"), "/transformer/data/multi_query"),
];

pub fn run(request: &Request) -> Result<(), Failure> {
    let mut report = Report::default();
    match &request.data {
        Some(folder) => check(&mut report, folder),
        None => FOLDERS
            .iter()
            .try_for_each(|folder| check(&mut report, Path::new(folder))),
    }
}

/// Compares one case with torch, and prints a line for each tensor.
fn check(report: &mut Report, folder: &Path) -> Result<(), Failure> {
    let case = Case::read(folder)?;
    let compared = compare(&case)?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    report.print(&format!("{name}: {}\n", case.sizes))?;
    report.print("tensor      shape            largest difference   tolerance\n")?;
    for Compared {
        name,
        shape,
        difference,
        tolerance,
    } in &compared
    {
        let shape = format!("{shape:?}");
        report.print(&format!(
            "{name:<11} {shape:<16} {difference:>18.1e} {tolerance:>11.1e}\n"
        ))?;
    }
    report.print("\n")?;
    // A NaN in the tolerance makes the comparison false.
    let within = |one: &&Compared| one.difference <= one.tolerance;
    match compared.iter().find(|one| !within(one)) {
        None => Ok(()),
        Some(one) => Err(Failure::Data(format!(
            "{}: {} differs from torch by {:.1e}, which is more than {:.1e}",
            folder.display(),
            one.name,
            one.difference,
            one.tolerance
        ))),
    }
}
