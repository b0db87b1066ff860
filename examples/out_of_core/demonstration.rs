//! A demonstration: broadcasts a bias for each of 64 channels to images. It writes one tile, then
//! the others, then checks the file.

use crate::arguments::{Command, parse};
use crate::command_line::{Failure, Report};
use crate::npy_header::{WriteElement, header};
use crate::run::{self, index};
use crate::whole_file::write_whole;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

const CHANNELS: usize = 64;
const SHAPE: [usize; 4] = [4, CHANNELS, 256, 256];

/// How many elements are read back, and their distance: a prime, so that they hit all rows and
/// columns.
const CHECKED: usize = 4096;
const STEP: usize = 4093;

pub fn run(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder)
        .map_err(|error| Failure::io(&folder.display().to_string(), &error))?;
    let (input, out) = (folder.join("demo_bias.npy"), folder.join("demo_big.npy"));
    let mut bytes = header(&input, f32::DESCR, &[CHANNELS])?;
    (0..CHANNELS).for_each(|channel| bias(channel).push(&mut bytes));
    write_whole(&input, |file| file.write_all(&bytes))?;

    let mut report = Report::default();
    let shape = SHAPE.map(|size| size.to_string()).join(",");
    for (what, more) in [
        ("One tile of a new file.", &["--tile", "5", "--restart"][..]),
        ("The other tiles, as after an interruption.", &[]),
        ("All tiles are done.", &[]),
    ] {
        let rule = ["--mode", "explicit", "--shape", &shape, "--axes", "1"];
        let mut words = vec![input.as_os_str()];
        words.extend(rule.map(OsStr::new));
        words.extend([OsStr::new("--out"), out.as_os_str()]);
        words.extend(["--tile-bytes", "4194304"].map(OsStr::new));
        words.extend(more.iter().map(OsStr::new));
        let quoted: Vec<_> = words.iter().map(|word| quoted(word)).collect();
        // The input and the rule, the output and the tiles.
        let (first, second) = quoted.split_at(1 + rule.len());
        report.print(&format!(
            "{what}\n    cargo run --release --example out_of_core -- \\\n        {} \\\n        \
             {}\n",
            first.join(" "),
            second.join(" "),
        ))?;
        run_words(&words)?;
        report.print("\n")?;
    }
    check(&out)?;
    report.print(&format!(
        "{CHECKED} elements read back from {}: each is its channel's.\n",
        out.display()
    ))
}

fn bias(channel: usize) -> f32 {
    channel as f32 / 4.0
}

/// A word as it is written in a shell.
fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=,./:".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.into_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

fn run_words(words: &[&OsStr]) -> Result<(), Failure> {
    match parse(lexopt::Parser::from_args(words))? {
        Command::Broadcast(request) => run::run(&request),
        Command::Help | Command::Demonstration(_) => Ok(()),
    }
}

fn check(out: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::io("demo_big.npy", &error);
    let header = header(out, f32::DESCR, &SHAPE)?;
    let mut file = File::open(out).map_err(failed)?;
    let mut found = vec![0; header.len()];
    file.read_exact(&mut found).map_err(failed)?;
    if found != header {
        return Err(Failure::data(
            "demo_big.npy: its header is not that of its shape",
        ));
    }
    let len: usize = SHAPE.iter().product();
    for number in (0..CHECKED).map(|i| i * STEP % len) {
        let mut element = [0; size_of::<f32>()];
        let offset = header.len() + number * size_of::<f32>();
        (file.seek(SeekFrom::Start(offset as u64)))
            .and_then(|_| file.read_exact(&mut element))
            .map_err(failed)?;
        let (at, element) = (index(&SHAPE, number), f32::from_le_bytes(element));
        if element != bias(at[1]) {
            return Err(Failure::data(format!(
                "demo_big.npy: element {at:?} is {element}, and its channel's bias {}",
                bias(at[1])
            )));
        }
    }
    Ok(())
}
