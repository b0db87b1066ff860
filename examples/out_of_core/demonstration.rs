//! A demonstration: broadcasts a bias for each of 64 channels to images. It writes one tile, then
//! the others, then checks the file.

use crate::arguments::{Command, parse};
use crate::command_line::{Failure, Report};
use crate::npy_header::{WriteElement, header};
use crate::run::{self, index};
use crate::whole_file::write_whole;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

const CHANNELS: usize = 64;
const SHAPE: [usize; 4] = [4, CHANNELS, 256, 256];

/// How many elements are read back, and their distance: a prime, so that they hit all rows and
/// columns.
const CHECKED: usize = 4096;
const STEP: usize = 4093;

pub fn run() -> Result<(), Failure> {
    let name = format!("ndarray-broadcast-out_of_core-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    let in_folder = |error| Failure::io(&folder.display().to_string(), &error);
    fs::create_dir(&folder).map_err(in_folder)?;
    let done = demonstrate(&folder);
    fs::remove_dir_all(&folder).map_err(in_folder).and(done)
}

fn bias(channel: usize) -> f32 {
    channel as f32 / 4.0
}

fn demonstrate(folder: &Path) -> Result<(), Failure> {
    let (input, out) = (folder.join("bias.npy"), folder.join("big.npy"));
    let mut bytes = header(&input, f32::DESCR, &[CHANNELS])?;
    (0..CHANNELS).for_each(|channel| bias(channel).push(&mut bytes));
    write_whole(&input, |file| file.write_all(&bytes))?;

    let mut report = Report::default();
    let [n, c, h, w] = SHAPE;
    let line = format!(
        "bias.npy --mode explicit --shape {n},{c},{h},{w} --axes 1 --out big.npy \
         --tile-bytes 4194304"
    );
    for (what, more) in [
        ("One tile.", " --tile 5"),
        ("The other tiles, as after an interruption.", ""),
        ("All tiles are done.", ""),
    ] {
        report.print(&format!("{what}\n$ out_of_core {line}{more}\n"))?;
        run_line(folder, &format!("{line}{more}"))?;
        report.print("\n")?;
    }
    check(&out)?;
    report.print(&format!(
        "{CHECKED} elements read back from the file: each is its channel's.\n"
    ))
}

fn run_line(folder: &Path, line: &str) -> Result<(), Failure> {
    let words = line.split(' ').map(|word| match word.ends_with(".npy") {
        true => folder.join(word).into_os_string(),
        false => word.into(),
    });
    match parse(lexopt::Parser::from_args(words))? {
        Command::Broadcast(request) => run::run(&request),
        Command::Help | Command::Demonstration => Ok(()),
    }
}

fn check(out: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::io("big.npy", &error);
    let header = header(out, f32::DESCR, &SHAPE)?;
    let mut file = File::open(out).map_err(failed)?;
    let mut found = vec![0; header.len()];
    file.read_exact(&mut found).map_err(failed)?;
    if found != header {
        return Err(Failure::data(
            "big.npy: its header is not that of its shape",
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
                "big.npy: element {at:?} is {element}, and its channel's bias {}",
                bias(at[1])
            )));
        }
    }
    Ok(())
}
