//! Arguments, reports and exit codes, shared by all examples.

use lexopt::{Parser, ValueExt};
use ndarray::ShapeError;
use ndarray_broadcast::BroadcastError;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

/// Why the program stops early.
#[derive(Debug)]
pub enum Failure {
    /// The arguments are wrong.
    Usage(String),
    /// A file or a shape is wrong, or memory is insufficient.
    Data(String),
    /// The reader of standard output has closed it. No message is needed.
    Closed,
}

impl Failure {
    /// An I/O error on a file, or on `standard output`.
    pub fn io(name: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::Data(format!("{name}: {error}")),
        }
    }

    pub fn usage(problem: impl ToString) -> Self {
        Failure::Usage(problem.to_string())
    }

    pub fn data(problem: impl ToString) -> Self {
        Failure::Data(problem.to_string())
    }
}

impl From<BroadcastError> for Failure {
    fn from(error: BroadcastError) -> Self {
        Failure::data(error)
    }
}

impl From<ShapeError> for Failure {
    fn from(error: ShapeError) -> Self {
        Failure::data(error)
    }
}

/// Exit code 0 on success, 1 if a file or a shape is wrong (stderr says why), 2 if the arguments
/// are wrong.
pub fn exit(done: Result<(), Failure>, usage: &str) -> ExitCode {
    let (code, message) = match done {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Usage(problem)) => (2, format!("{problem}\n\n{usage}")),
        Err(Failure::Data(problem)) => (1, problem),
        Err(Failure::Closed) => return ExitCode::from(1),
    };
    // If stderr is closed, nobody can be told.
    let _ = writeln!(io::stderr(), "error: {message}");
    ExitCode::from(code)
}

/// Prints what the program does.
#[derive(Debug, Default)]
pub struct Report {
    /// Whether the report goes to standard error, because data goes to standard output.
    pub on_stderr: bool,
}

impl Report {
    /// Prints `text`. A closed reader is not an error: the work continues.
    pub fn print(&mut self, text: &str) -> Result<(), Failure> {
        let printed = match self.on_stderr {
            true => io::stderr().write_all(text.as_bytes()),
            false => io::stdout()
                .write_all(text.as_bytes())
                .and_then(|()| io::stdout().flush()),
        };
        match printed.map_err(|error| Failure::io("standard output", &error)) {
            Err(Failure::Data(problem)) if !self.on_stderr => Err(Failure::Data(problem)),
            _ => Ok(()),
        }
    }
}

/// Stores the value of an option that may be given once only.
pub fn once<T>(name: &str, slot: &mut Option<T>, value: T) -> Result<(), Failure> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(Failure::usage(format!("{name} is given twice"))),
    }
}

pub fn text(parser: &mut Parser) -> Result<String, Failure> {
    parser
        .value()
        .and_then(|value| value.string())
        .map_err(Failure::usage)
}

pub fn file(name: &str, parser: &mut Parser) -> Result<PathBuf, Failure> {
    let path = parser.value().map_err(Failure::usage)?;
    match path.is_empty() {
        true => Err(Failure::usage(format!("{name} has an empty name"))),
        false => Ok(path.into()),
    }
}

pub fn number<T: FromStr>(name: &str, text: &str) -> Result<T, Failure> {
    (text.trim().parse())
        .map_err(|_| Failure::usage(format!("{name}: {text:?} is no integer in its range")))
}
