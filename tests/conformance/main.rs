//! Runs every case of `tests/data/conformance`, the recorded answers of OpenVINO, nGraph, XLA, JAX,
//! onnxruntime, PaddlePaddle, torch and NumPy. The environment variable `BROADCAST_CASES` selects
//! another folder. A case expects a shape and data, or an error.
//!
//! An unknown file, rule, argument, operation, element type or key is a failure. A case is skipped
//! only if its file flags it as `not_applicable` or `superseded`. The line of a file has the
//! reasons, each with its number of cases. The test accepts the arguments of `cargo test`; a filter
//! selects files.

mod answer;
mod case;
mod element;
mod fields;
mod gradients;
mod many;
mod pair;
mod partial;
mod ranks;
mod single;

use case::Verdict;
use fields::Fields;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The folder that is run unless `BROADCAST_CASES` names another.
const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/conformance");

/// A deeper nesting of folders is treated as a cycle of links.
const DEPTH: usize = 16;

#[derive(Default)]
struct Count {
    passed: usize,
    failed: usize,
    skipped: usize,
    /// The skipped cases by reason.
    reasons: BTreeMap<String, usize>,
}

impl Count {
    fn add(&mut self, other: &Count) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        for (reason, cases) in &other.reasons {
            *self.reasons.entry(reason.clone()).or_default() += cases;
        }
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Count {
            passed,
            failed,
            skipped,
            reasons,
        } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")?;
        let reasons: Vec<_> = (reasons.iter())
            .map(|(reason, cases)| format!("{cases} {reason}"))
            .collect();
        match &reasons[..] {
            [] => Ok(()),
            reasons => write!(f, " ({})", reasons.join("; ")),
        }
    }
}

/// The arguments that `cargo test` passes to a test without its harness.
#[derive(Default)]
struct Arguments {
    filters: Vec<String>,
    skip: Vec<String>,
    exact: bool,
    list: bool,
    only_ignored: bool,
}

impl Arguments {
    fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut parsed = Arguments::default();
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let (name, mut inline) = match argument.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
                _ => (&argument[..], None),
            };
            let mut value = || {
                (inline.take().or_else(|| arguments.next())).ok_or(format!("{name} needs a value"))
            };
            match name {
                "--exact" => parsed.exact = true,
                "--list" => parsed.list = true,
                "--ignored" => parsed.only_ignored = true,
                "--skip" => parsed.skip.push(value()?),
                "--test-threads" | "--color" | "--format" | "--logfile" | "--shuffle-seed"
                | "-Z" => {
                    value()?;
                }
                "-q"
                | "--quiet"
                | "--nocapture"
                | "--no-capture"
                | "--show-output"
                | "--include-ignored"
                | "--test"
                | "--bench"
                | "--report-time"
                | "--shuffle"
                | "--force-run-in-process"
                | "--exclude-should-panic"
                | "--ensure-time" => {}
                _ if name.starts_with('-') => return Err(format!("unknown argument {argument}")),
                _ => parsed.filters.push(argument),
            }
        }
        Ok(parsed)
    }

    fn choose(&self, name: &str) -> bool {
        let fits = |filter: &String| match self.exact {
            true => name == filter,
            false => name.contains(&filter[..]),
        };
        let chosen = self.filters.is_empty() || self.filters.iter().any(fits);
        chosen && !self.skip.iter().any(fits) && !self.only_ignored
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    };
    let root = std::env::var_os("BROADCAST_CASES").map_or(PathBuf::from(CASES), PathBuf::from);
    let mut problems = Vec::new();
    let mut files = Vec::new();
    collect(&root, &root, 0, &mut files, &mut problems);
    if files.is_empty() && problems.is_empty() {
        problems.push(format!("{}: no cases in this folder", root.display()));
    }
    files.sort();
    files.retain(|(name, _)| arguments.choose(name));

    if arguments.list {
        for (name, _) in &files {
            println!("{name}: test");
        }
        for problem in &problems {
            eprintln!("{problem}");
        }
        return match &problems[..] {
            [] => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        };
    }

    let mut total = Count::default();
    // A panic fails its case, and its message is printed with the failure.
    std::panic::set_hook(Box::new(|_| {}));
    for (name, path) in &files {
        let (count, failures) = run_file(path);
        println!("{name}: {count}");
        for failure in failures {
            println!("FAILED {name}: {failure}");
        }
        total.add(&count);
    }
    for problem in &problems {
        println!("FAILED {problem}");
        total.failed += 1;
    }
    println!("{total}");
    match total.failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Collects all files below a folder, except `README.md`. Their names are relative to the root.
fn collect(
    root: &Path,
    folder: &Path,
    depth: usize,
    files: &mut Vec<(String, PathBuf)>,
    problems: &mut Vec<String>,
) {
    let mut problem = |error: &dyn std::fmt::Display| {
        problems.push(format!("{}: {error}", folder.display()));
    };
    if depth > DEPTH {
        return problem(&"folders are nested too deep");
    }
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return problem(&error),
    };
    let mut paths = Vec::new();
    for entry in entries {
        match entry {
            Ok(entry) => paths.push(entry.path()),
            Err(error) => problem(&error),
        }
    }
    for path in paths {
        if path.is_dir() {
            collect(root, &path, depth + 1, files, problems);
        } else if path.file_name().is_none_or(|name| name != "README.md") {
            let name = path.strip_prefix(root).unwrap_or(&path);
            files.push((name.to_string_lossy().replace('\\', "/"), path));
        }
    }
}

fn run_file(path: &Path) -> (Count, Vec<String>) {
    let mut count = Count::default();
    let mut failures = Vec::new();
    let cases = match read(path) {
        Ok(cases) => cases,
        Err(problem) => {
            count.failed = 1;
            return (count, vec![problem]);
        }
    };
    let mut ids = HashSet::new();
    for (position, value) in cases.into_iter().enumerate() {
        let id = match value.get("id") {
            Some(Value::String(id)) => id.clone(),
            _ => format!("case {position}"),
        };
        let verdict = match ids.insert(id.clone()) {
            true => catch_unwind(AssertUnwindSafe(|| case::run(value)))
                .unwrap_or_else(|panic| Verdict::Failed(format!("panicked: {}", message(&*panic)))),
            false => Verdict::Failed("an earlier case has the same id".into()),
        };
        match verdict {
            Verdict::Passed => count.passed += 1,
            Verdict::Skipped(why) => {
                count.skipped += 1;
                *count.reasons.entry(why).or_default() += 1;
            }
            Verdict::Failed(why) => {
                count.failed += 1;
                failures.push(format!("{id}: {why}"));
            }
        }
    }
    (count, failures)
}

/// The cases of a file, which must have the documented format and at least one case.
fn read(path: &Path) -> Result<Vec<Value>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let value = serde_json::from_str(&text).map_err(|error| format!("not JSON: {error}"))?;
    let mut fields = Fields::new("the file", value)?;
    fields.ignore(&["rule", "file", "set", "peer"]);
    let count = fields.take("count");
    let cases = match fields.need("cases")? {
        Value::Array(cases) => cases,
        _ => return Err("the file's cases are not a list".into()),
    };
    fields.finish()?;
    if cases.is_empty() {
        return Err("no cases in this file".into());
    }
    match count {
        Some(count) if count.as_u64() != Some(cases.len() as u64) => Err(format!(
            "the file says it has {count} cases and has {}",
            cases.len()
        )),
        _ => Ok(cases),
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "no message",
    }
}
