//! Runs an example as a process, with arguments, files, standard streams and an exit code.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::process::command;

/// An example program, by name.
pub struct Example(pub &'static str);

impl Example {
    /// The executable. `cargo test` builds the examples before it runs the tests. It places them
    /// next to the folder of the tests, each with a list of its sources.
    pub fn path(&self) -> PathBuf {
        let test = std::env::current_exe().unwrap();
        let folder = test.parent().unwrap().parent().unwrap().join("examples");
        let path = folder.join(format!("{}{}", self.0, std::env::consts::EXE_SUFFIX));
        let modified = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified());
        let built = modified(&path);
        let sources = fs::read_to_string(folder.join(format!("{}.d", self.0)));
        assert!(
            built.is_ok_and(|built| {
                sources.is_ok_and(|sources| {
                    // `EXAMPLE: SOURCE SOURCE ...`; a backslash escapes a space in a name.
                    let (_, sources) = sources.split_once(": ").unwrap();
                    let sources = sources.trim().replace("\\ ", "\0");
                    let mut sources = sources.split(' ').map(|name| name.replace('\0', " "));
                    sources.all(|source| modified(Path::new(&source)).is_ok_and(|at| at <= built))
                })
            }),
            "{} is missing or older than its sources: run `cargo test` or \
             `cargo build --example {}`",
            path.display(),
            self.0,
        );
        path
    }

    pub fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = command(&self.path());
        command.args(arguments).stdin(Stdio::null());
        command
    }

    pub fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Run {
        Run::new(self.command(arguments).output().unwrap())
    }

    pub fn run_with_input<S: AsRef<OsStr>>(&self, arguments: &[S], input: &[u8]) -> Run {
        let mut command = self.command(arguments);
        let command = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // The example may close its input before it has read everything.
        let _ = child.stdin.take().unwrap().write_all(input);
        Run::new(child.wait_with_output().unwrap())
    }

    /// Creates an empty folder for one test.
    pub fn folder(&self, test: &str) -> Folder {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{test}", self.0));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    /// Outside of a cargo project, the example needs `--out` and creates nothing without it.
    pub fn requires_out_elsewhere(&self) {
        let folder = self.folder("elsewhere");
        let mut command = self.command::<&str>(&[]);
        let run = Run::new(command.current_dir(folder.path("")).output().unwrap());
        run.failed(2, "--out is missing");
        folder.holds(&[]);
    }
}

/// How a run of an example ended.
pub struct Run {
    pub code: i32,
    pub out: Vec<u8>,
    pub err: String,
}

impl Run {
    pub fn new(output: Output) -> Self {
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(!err.contains("panicked"), "{err}");
        let code = output.status.code();
        let code = code.unwrap_or_else(|| panic!("killed: {}: {err}", output.status));
        Run {
            code,
            out: output.stdout,
            err,
        }
    }

    pub fn out(&self) -> &str {
        std::str::from_utf8(&self.out).unwrap()
    }

    /// Asserts exit code 0 and an empty standard error.
    #[track_caller]
    pub fn done(self) -> Self {
        assert_eq!((self.code, &self.err[..]), (0, ""));
        self
    }

    /// Asserts this exit code and a single error message that contains `problem`.
    #[track_caller]
    pub fn failed(&self, code: i32, problem: &str) {
        assert_eq!(self.code, code, "{}", self.err);
        let message = self.err.strip_prefix("error: ").expect(&self.err);
        assert!(
            message.contains(problem),
            "{problem:?} is not in {message:?}"
        );
        assert!(!message.contains("\nerror: "), "{message}");
    }
}

pub struct Folder(PathBuf);

impl Folder {
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> String {
        fs::write(self.0.join(name), bytes).unwrap();
        self.path(name)
    }

    #[track_caller]
    pub fn holds(&self, names: &[&str]) {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut found: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        found.sort();
        assert_eq!(found, names);
    }
}
