//! The folder beside an output: the job's description, and a file for each item that is done.
//!
//! A file appears when it is complete, after what it stands for has been written. So an item that
//! has one is done, also after a crash; one that is done and has none is done again. Each file has
//! one writer at a time or the same content, so any number of processes may share the folder.

use crate::command_line::Failure;
use crate::team::Team;
use crate::whole_file::write_whole;
use crate::whole_folder::create_whole;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

const TITLE: &str = "ndarray-broadcast distributed, version 1";

#[derive(Debug)]
pub struct Job {
    folder: PathBuf,
    pub items: usize,
}

/// What a job needs to be opened.
#[derive(Debug)]
pub struct Description {
    /// Everything that determines the output and the items, in lines.
    pub lines: Vec<String>,
    pub items: usize,
    pub restart: bool,
}

pub fn display(path: &Path) -> String {
    path.display().to_string()
}

fn failed(path: &Path) -> impl Fn(io::Error) -> Failure + '_ {
    move |error| Failure::io(&display(path), &error)
}

impl Job {
    /// Opens the job of an output, or begins it.
    pub fn open(out: &Path, description: &Description, team: &Team) -> Result<Self, Failure> {
        let mut folder = out.as_os_str().to_owned();
        folder.push(".job");
        let job = Job {
            folder: folder.into(),
            items: description.items,
        };
        if description.restart {
            if team.index() == 0 {
                remove_store(out)?;
                remove_job(&job.folder)?;
            }
            team.wait();
        }
        let mut text = format!("{TITLE}\n{}\n", description.lines.join("\n"));
        text.push_str(&format!("items {}\n", description.items));
        // OUT is tested first: workers that start together create it after the folder.
        let out_exists = out.exists();
        if !job.folder.exists() {
            if out_exists {
                return Err(Failure::Data(format!(
                    "{}: it exists, and no job of this program is beside it; --restart begins \
                     again",
                    display(out)
                )));
            }
            // Another worker may do so at the same time: both use the same folder.
            create_whole(&job.folder, "job", |folder| {
                let file = folder.join("job");
                fs::write(&file, &text).map_err(failed(&file))
            })?;
        }
        let file = job.folder.join("job");
        let found = fs::read_to_string(&file).map_err(failed(&file))?;
        match difference(&found, &text) {
            None => Ok(job),
            Some(problem) => Err(Failure::Data(format!(
                "{}: {problem}; --restart begins again",
                display(&job.folder)
            ))),
        }
    }

    pub fn path(&self, item: usize) -> PathBuf {
        self.folder.join(format!("item-{item:06}"))
    }

    /// What was said of an item when it was done; `None` if it is not.
    pub fn done(&self, item: usize) -> Result<Option<Vec<u8>>, Failure> {
        let path = self.path(item);
        match fs::read(&path) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&path)(error)),
        }
    }

    /// Says that an item is done.
    pub fn mark(&self, item: usize, content: &[u8]) -> Result<(), Failure> {
        write_whole(&self.path(item), |file| file.write_all(content))
    }

    /// How many items are not done.
    pub fn missing(&self) -> usize {
        (0..self.items)
            .filter(|&item| !self.path(item).exists())
            .count()
    }
}

fn remove_job(folder: &Path) -> Result<(), Failure> {
    match folder.join("job").exists() {
        true => fs::remove_dir_all(folder).map_err(failed(folder)),
        false if folder.exists() => Err(Failure::Data(format!(
            "{}: this is no job of this program",
            display(folder)
        ))),
        false => Ok(()),
    }
}

pub fn remove_store(path: &Path) -> Result<(), Failure> {
    match path.join("zarr.json").exists() {
        true => fs::remove_dir_all(path).map_err(failed(path)),
        false if path.exists() => Err(Failure::Data(format!(
            "{}: this is no Zarr store",
            display(path)
        ))),
        false => Ok(()),
    }
}

/// What differs between the description that was found and the one of this job.
fn difference(found: &str, wanted: &str) -> Option<String> {
    if found == wanted {
        return None;
    }
    let mut lines = found.lines();
    if lines.next() != Some(TITLE) {
        return Some("this is no job of this program".into());
    }
    let (found, wanted) = (lines.zip(wanted.lines().skip(1)))
        .find(|(a, b)| a != b)
        .unwrap_or(("an end", "more"));
    Some(
        match (found.starts_with("input"), found.split(" content ").next()) {
            // Only what follows differs.
            (true, Some(start)) if wanted.starts_with(start) => {
                format!("the store has changed since the job began: {start}")
            }
            _ => format!("this is another job: it has {found:?}, and this one {wanted:?}"),
        },
    )
}
