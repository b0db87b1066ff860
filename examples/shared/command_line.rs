//! What every example does with its arguments, its report and its exit code.

use lexopt::{Parser, ValueExt};
use ndarray::ShapeError;
use ndarray_broadcast::BroadcastError;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

/// Why the program ends before its work is done.
#[derive(Debug)]
pub enum Failure {
    /// The arguments are wrong.
    Usage(String),
    /// A file, a shape or the memory does not allow it.
    Data(String),
    /// Whoever read the result has stopped, and knows.
    Closed,
}

impl Failure {
    /// What went wrong with a file, or with `standard output`.
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

/// 0 if it is done, 1 if a file or a shape does not allow it (stderr says why), 2 if the arguments are wrong.
pub fn exit(done: Result<(), Failure>, usage: &str) -> ExitCode {
    let (code, message) = match done {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Usage(problem)) => (2, format!("{problem}\n\n{usage}")),
        Err(Failure::Data(problem)) => (1, problem),
        Err(Failure::Closed) => return ExitCode::from(1),
    };
    // Nobody reads any longer if this fails, and so nobody is to be told.
    let _ = writeln!(io::stderr(), "error: {message}");
    ExitCode::from(code)
}

/// Where the user is told what is done.
#[derive(Debug, Default)]
pub struct Report {
    /// Data goes to standard output, and so this goes to standard error.
    pub beside_data: bool,
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

pub fn once<T>(name: &str, place: &mut Option<T>, value: T) -> Result<(), Failure> {
    match place.replace(value) {
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
    (text.trim().parse()).map_err(|_| {
        Failure::usage(format!(
            "{name}: {text:?} is no integer of 64 bits that it takes"
        ))
    })
}
