//! Why the program ends before its work is done.

use std::io;

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
}
