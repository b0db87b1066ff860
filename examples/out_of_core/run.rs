//! Runs a request.

use crate::arguments::Request;
use crate::command_line::{Failure, Report};
use crate::job::{self, Tiles};
use crate::npy_file::{display, read, short};
use crate::npy_header::{WriteElement, header};
use crate::out_file::OutFile;
use crate::progress::{Progress, cannot_continue, progress_path};
use crate::tensor::{ElementType, with_array};
use indicatif::{ProgressBar, ProgressStyle};
use ndarray::{ArrayD, ArrayViewD};
use ndarray_broadcast::BroadcastPlan;
use ndarray_broadcast::distributed::Tile;
use std::fs;
use std::io::{ErrorKind, IsTerminal};
use std::path::Path;
use std::time::Instant;

/// How many tiles that are marked as done are checked, at most.
const CHECKED: usize = 1024;

pub fn run(request: &Request) -> Result<(), Failure> {
    let input = read(&request.input, request.maximum)?;
    let plan = request.rule.plan(input.shape())?;
    let element_type = input.element_type();
    with_array!(&input, array => run_typed(request, (element_type, array), &plan))
}

fn run_typed<T: WriteElement>(
    request: &Request,
    (element_type, input): (ElementType, &ArrayD<T>),
    plan: &BroadcastPlan,
) -> Result<(), Failure> {
    let view = plan.view(input)?;
    let tiles = Tiles::new(plan, T::SIZE, request)?;
    let header = header(&request.out, T::DESCR, view.shape())?;
    let name = job::name(&request.rule, (element_type, input), plan, tiles);

    let (mut out, mut progress) = open(request, header, &name, (tiles, T::SIZE))?;
    let marks = progress.marks()?;
    check_done(request, &view, (tiles, &marks), &mut out)?;
    let done = marks.iter().filter(|&&done| done).count();
    let mut report = Report::default();
    report.print(&format!(
        "input   {}: {element_type} {:?}\n{plan}\n\
         output  {}: {} bytes and a header, {}, {done} of them done\n",
        short(&request.input),
        input.shape(),
        display(&request.out),
        tiles.len * T::SIZE,
        count(tiles.count),
    ))?;

    let wanted = |tile: usize| request.tile.is_none_or(|wanted| wanted == tile);
    let to_do = || {
        let tiles = tiles.iter().enumerate();
        tiles.filter(|&(number, _)| wanted(number) && !marks[number])
    };
    let bytes_of = |tile: &Tile| (tiles.range(tile).len() * T::SIZE) as u64;
    let bar = progress_bar(to_do().map(|(_, tile)| bytes_of(&tile)).sum());
    let (start, mut bytes, mut written) = (Instant::now(), 0, 0);
    for (number, tile) in to_do() {
        // Another process may have written it meanwhile.
        if !progress.is_done(number)? {
            let of_input = tile.input().of(input)?;
            out.write(&tile.plan().view(&of_input)?, tiles.range(&tile).start)?;
            progress.mark(number)?;
            bytes += bytes_of(&tile);
            written += 1;
        }
        bar.inc(bytes_of(&tile));
    }
    bar.finish_and_clear();
    let took = start.elapsed().as_secs_f64();

    let missing = progress.marks()?.iter().filter(|&&done| !done).count();
    if missing == 0 {
        out.finish()?;
    }
    let how = if out.mapped {
        "mapped"
    } else {
        "from a buffer"
    };
    let wrote = match written {
        0 => "nothing".into(),
        _ => format!(
            "{}, {bytes} bytes, {how}, in {took:.3} s: {:.2} GB/s",
            count(written),
            bytes as f64 / took / 1e9
        ),
    };
    let state = match missing {
        0 => "complete".into(),
        _ => format!("{} missing", count(missing)),
    };
    report.print(&format!("wrote   {wrote}\nstate   {state}\n"))
}

fn count(tiles: usize) -> String {
    match tiles {
        1 => "1 tile".into(),
        _ => format!("{tiles} tiles"),
    }
}

/// Opens the output and the progress file of the job, or creates them.
fn open(
    request: &Request,
    header: Vec<u8>,
    name: &str,
    (tiles, element_size): (Tiles<'_>, usize),
) -> Result<(OutFile, Progress), Failure> {
    let (path, progress_file) = (&request.out, progress_path(&request.out));
    for written in [path, &progress_file] {
        if is_same(&request.input, written) {
            return Err(Failure::usage(format!(
                "{}: INPUT would be overwritten",
                display(written)
            )));
        }
        // A device or a pipe cannot be mapped, and must not be replaced.
        if written.exists() && !written.is_file() {
            return Err(Failure::Data(format!(
                "{}: this is no plain file",
                display(written)
            )));
        }
    }
    if request.restart {
        remove(&progress_file)?;
        remove(path)?;
    }
    // The output is looked for first: processes that start together create it after the progress.
    let exists = path.exists();
    let (mut progress, new) = match Progress::open(&progress_file, name, tiles.count)? {
        Some(progress) => (progress, false),
        None if exists => {
            let problem = "it exists, and there is no progress of this job beside it";
            return Err(cannot_continue(path, problem));
        }
        None => (Progress::create(&progress_file, name, tiles.count)?, true),
    };
    let begun = progress.marks()?.contains(&true);
    let bytes = tiles.len * element_size;
    match OutFile::open(path, header, bytes, (begun, request.map)) {
        Ok(out) => Ok((out, progress)),
        Err(failure) => {
            if new {
                let _ = fs::remove_file(&progress_file);
            }
            Err(failure)
        }
    }
}

fn is_same(input: &Path, other: &Path) -> bool {
    match (fs::canonicalize(input), fs::canonicalize(other)) {
        (Ok(input), Ok(other)) => input == other,
        _ => false,
    }
}

fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Failure::io(&display(path), &error))
        }
        _ => Ok(()),
    }
}

/// Checks that tiles marked as done are in the file, by three elements of each.
fn check_done<T: WriteElement>(
    request: &Request,
    view: &ArrayViewD<'_, T>,
    (tiles, marks): (Tiles<'_>, &[bool]),
    out: &mut OutFile,
) -> Result<(), Failure> {
    let done = marks.iter().filter(|&&done| done).count();
    let wanted = |tile: usize| request.tile.is_none_or(|wanted| wanted == tile);
    let done = (tiles.iter().enumerate().filter(|&(tile, _)| marks[tile]))
        .step_by(match request.tile {
            Some(_) => 1,
            None => done.div_ceil(CHECKED).max(1),
        })
        .filter(|&(tile, _)| wanted(tile));
    for (tile, of_output) in done {
        let range = tiles.range(&of_output);
        for number in [range.start, range.start + range.len() / 2, range.end - 1] {
            let mut wanted = Vec::with_capacity(T::SIZE);
            view[&index(view.shape(), number)[..]].push(&mut wanted);
            if out.element::<T>(number)? != wanted {
                let problem = format!("tile {tile} is marked as done, and element {number} is not");
                return Err(cannot_continue(&request.out, &problem));
            }
        }
    }
    Ok(())
}

/// The index of the element at a position in C order.
pub fn index(shape: &[usize], mut number: usize) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (at, &size) in index.iter_mut().zip(shape).rev() {
        *at = number % size;
        number /= size;
    }
    index
}

/// A progress bar on standard error, if that is a terminal.
fn progress_bar(bytes: u64) -> ProgressBar {
    let template = "{wide_bar} {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec} {eta}";
    match ProgressStyle::with_template(template) {
        Ok(style) if std::io::stderr().is_terminal() => ProgressBar::new(bytes).with_style(style),
        _ => ProgressBar::hidden(),
    }
}
