//! Starts programs that were built for the target, also where another program must run them.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// A command that runs `program`, by the runner that cargo was told to use, if any:
/// `CARGO_TARGET_<TRIPLE>_RUNNER`.
pub fn command(program: &Path) -> Command {
    let words = prefixed(program);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// The words of such a command.
pub fn prefixed(program: &Path) -> Vec<OsString> {
    let runner = std::env::vars()
        .find(|(name, _)| name.starts_with("CARGO_TARGET_") && name.ends_with("_RUNNER"));
    let runner = runner.map_or(String::new(), |(_, words)| words);
    let words = runner.split_whitespace().map(OsString::from);
    words.chain([program.into()]).collect()
}
