//! Parses the command line.

use crate::command_line::{Failure, file, number, once, text};
use crate::rule::{RuleOptions, modes};
use crate::store::{Codec, Kind};
use lexopt::prelude::*;
use ndarray_broadcast::ElementwiseRule;
use std::path::PathBuf;

macro_rules! usage_lines {
    () => {
        "\
usage: distributed broadcast IN OUT --shape SIZES [--mode MODE] [--axes AXES] [--axis AXIS]
       distributed map A B OUT --op OP [--rule RULE]
       distributed gradient DY OUT --input SIZES [--times X] [--mode MODE] [--axes AXES]
                   [--axis AXIS] [--shard AXES] [--parts N] [--merge | --in-memory]
       distributed fill OUT --shape SIZES --type TYPE [--seed N]
       distributed compare A B
       distributed cost --shape SIZES --input SIZES [--mode MODE] [--axes AXES] [--workers N,N]
       distributed --help
 all:  [--chunks SIZES] [--codec zstd|none] [--max-bytes N] [--worker I/N] [--workers N] [--restart]"
    };
}

pub const USAGE: &str = usage_lines!();

pub const HELP: &str = concat!(
    "\
Broadcasts, maps and sums Zarr stores that are larger than memory.

",
    usage_lines!(),
    "

  broadcast         the broadcast of IN to SIZES
  map               A OP B, broadcast to their common shape; OP is add, sub, mul, div, max or min;
                    integers wrap around and are not divided; RULE is numpy (default), none,
                    pdpd(AXIS), paddle(AXIS) or xla(DIMENSIONS)
  gradient          DY summed to the shape of an array that was broadcast to DY's shape: of a bias,
                    of a mask; with --times, DY * X is
  fill              pseudo-random elements
  compare           whether two stores have the same elements, bit for bit
  cost              a table of the bytes that workers send for a gradient, by sharding

",
    modes!(),
    "  --shape SIZES     the target shape: 2,3,4 or '(2, 3, 4)'
  --input SIZES     the shape of the gradient
  --axes AXES       1,3; the same as --mode 'explicit(1, 3)'
  --axis AXIS       1; the same as --mode 'pdpd(1)'
  --times X         a store of DY's shape and type
  --shard AXES      the axes of DY along which its sums are cut into parts; default all
  --parts N         at least N parts, if there are as many blocks; default 64
  --merge           compute nothing: merge the parts that are done, which must be all
  --in-memory       read everything and make one call, to compare with
  --type TYPE       f32, f64, i32, i64 or u8
  --seed N          other elements; default 0
  --chunks SIZES    the shape of OUT's chunks; default 8 MiB
  --codec CODEC     how OUT's chunks are compressed; default zstd; each has a checksum
  --max-bytes N     the memory for a tile of the input and of the output together, in bytes or with
                    KiB, MiB or GiB; default 1GiB
  --worker I/N      do only the items of worker I of N, from 0 to N - 1, without MPI
  --workers N       refuse to start unless there are N workers
  --restart         begin again: remove OUT and OUT.job, which no other process may use

Under mpirun (feature mpi) the processes share the work. Otherwise one process does all of it, or as
many as are started with --worker I/N, in any order, on any scheduler: the last of them to end
completes OUT. OUT.job holds the description of the job and what is done. After an interruption of
any kind the same command, with any number of workers, does only what is missing. The job of other
arguments, or of an input that has changed since, is an error, and nothing is overwritten.

The bits of a gradient are those of one call on one machine, for any number of workers. Stores are
Zarr arrays of version 3 in a folder.

Exit code 0 on success, 1 if a store or a shape is wrong, 2 if the arguments are wrong.
"
);

#[derive(Debug)]
pub enum Command {
    Help,
    Fill(Fill),
    Broadcast(Broadcast),
    Map(Map),
    Gradient(Gradient),
    Compare(PathBuf, PathBuf),
    Cost(Cost),
}

/// What all commands have.
#[derive(Debug)]
pub struct Common {
    pub chunks: Option<Vec<usize>>,
    pub codec: Codec,
    pub max_bytes: usize,
    pub worker: Option<(usize, usize)>,
    pub workers: Option<usize>,
    pub restart: bool,
}

impl Common {
    pub fn threads(&self) -> usize {
        rayon::current_num_threads()
    }
}

#[derive(Debug)]
pub struct Fill {
    pub out: PathBuf,
    pub shape: Vec<usize>,
    pub kind: Kind,
    pub seed: u64,
}

#[derive(Debug)]
pub struct Broadcast {
    pub input: PathBuf,
    pub out: PathBuf,
    pub rule: RuleOptions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Max,
    Min,
}

#[derive(Debug)]
pub struct Map {
    pub inputs: [PathBuf; 2],
    pub out: PathBuf,
    pub op: Op,
    pub rule: ElementwiseRule,
}

#[derive(Debug)]
pub struct Gradient {
    pub dy: PathBuf,
    pub times: Option<PathBuf>,
    pub out: PathBuf,
    pub input: Vec<usize>,
    pub rule: RuleOptions,
    pub shard: Option<Vec<usize>>,
    pub parts: usize,
    pub merge: bool,
    pub in_memory: bool,
}

#[derive(Debug)]
pub struct Cost {
    pub shape: Vec<usize>,
    pub input: Vec<usize>,
    pub rule: RuleOptions,
    pub workers: Vec<usize>,
}

#[derive(Debug, Default)]
struct Options {
    command: Option<String>,
    files: Vec<PathBuf>,
    rule: RuleOptions,
    input: Option<Vec<usize>>,
    times: Option<PathBuf>,
    op: Option<Op>,
    pair_rule: Option<ElementwiseRule>,
    shard: Option<Vec<usize>>,
    parts: Option<usize>,
    merge: Option<()>,
    in_memory: Option<()>,
    kind: Option<Kind>,
    seed: Option<u64>,
    chunks: Option<Vec<usize>>,
    codec: Option<Codec>,
    max_bytes: Option<usize>,
    worker: Option<(usize, usize)>,
    workers: Option<Vec<usize>>,
    restart: Option<()>,
}

pub fn parse(mut parser: lexopt::Parser) -> Result<(Command, Common), Failure> {
    let mut o = Options::default();
    let mut help = false;
    while let Some(argument) = parser.next().map_err(Failure::usage)? {
        // Commands and files first: they borrow the parser.
        let argument = match argument {
            Value(word) if o.command.is_none() => {
                o.command = Some(word.string().map_err(Failure::usage)?);
                continue;
            }
            Value(path) => {
                o.files.push(path.into());
                continue;
            }
            Short(letter) => letter.to_string(),
            Long(name) => name.to_owned(),
        };
        let p = &mut parser;
        match &argument[..] {
            "h" | "help" => help = true,
            "mode" => o.rule.mode(p)?,
            "shape" => o.rule.shape(p)?,
            "axes" => o.rule.axes(p)?,
            "axis" => o.rule.axis(p)?,
            "input" => once("--input", &mut o.input, sizes("--input", p)?)?,
            "times" => once("--times", &mut o.times, file("--times", p)?)?,
            "op" => once("--op", &mut o.op, op(&text(p)?)?)?,
            "rule" => {
                let rule = text(p)?.parse().map_err(Failure::usage)?;
                once("--rule", &mut o.pair_rule, rule)?;
            }
            "shard" => once("--shard", &mut o.shard, sizes("--shard", p)?)?,
            "parts" => once("--parts", &mut o.parts, number("--parts", &text(p)?)?)?,
            "merge" => once("--merge", &mut o.merge, ())?,
            "in-memory" => once("--in-memory", &mut o.in_memory, ())?,
            "type" => once("--type", &mut o.kind, kind(&text(p)?)?)?,
            "seed" => once("--seed", &mut o.seed, number("--seed", &text(p)?)?)?,
            "chunks" => once("--chunks", &mut o.chunks, sizes("--chunks", p)?)?,
            "codec" => once("--codec", &mut o.codec, codec(&text(p)?)?)?,
            "max-bytes" => once("--max-bytes", &mut o.max_bytes, bytes(&text(p)?)?)?,
            "worker" => once("--worker", &mut o.worker, worker(&text(p)?)?)?,
            "workers" => once("--workers", &mut o.workers, sizes("--workers", p)?)?,
            "restart" => once("--restart", &mut o.restart, ())?,
            unknown => return Err(Failure::usage(format!("there is no option {unknown:?}"))),
        }
    }
    if help || o.command.is_none() {
        o.command = Some("help".into());
    }
    if o.chunks.as_ref().is_some_and(|chunks| chunks.contains(&0)) {
        return Err(Failure::usage("--chunks: a chunk has at least one element"));
    }
    if o.restart.is_some() && o.worker.is_some() {
        return Err(Failure::usage(
            "--restart with --worker: other workers may have begun; remove OUT and OUT.job first",
        ));
    }
    let is_cost = o.command.as_deref() == Some("cost");
    let common = Common {
        chunks: o.chunks.take(),
        codec: o.codec.unwrap_or(Codec::Zstd),
        max_bytes: o.max_bytes.unwrap_or(1 << 30),
        worker: o.worker,
        workers: match o.workers.as_deref() {
            Some(&[workers]) if !is_cost => Some(workers),
            Some(_) if !is_cost => return Err(Failure::usage("--workers is one number")),
            _ => None,
        },
        restart: o.restart.is_some(),
    };
    Ok((command(o)?, common))
}

fn missing(what: &str) -> Failure {
    Failure::usage(format!("{what} is missing"))
}

fn command(o: Options) -> Result<Command, Failure> {
    let name = o.command.unwrap_or_default();
    let wanted: &[&str] = match &name[..] {
        "help" => return Ok(Command::Help),
        "fill" => &["OUT"],
        "broadcast" => &["IN", "OUT"],
        "map" => &["A", "B", "OUT"],
        "gradient" => &["DY", "OUT"],
        "compare" => &["A", "B"],
        "cost" => &[],
        other => return Err(Failure::usage(format!("there is no command {other:?}"))),
    };
    if let Some(what) = wanted.get(o.files.len()) {
        return Err(missing(what));
    }
    if let Some(path) = o.files.get(wanted.len()) {
        return Err(Failure::usage(format!(
            "{}: one argument too many",
            path.display()
        )));
    }
    let mut files = o.files.into_iter();
    let mut next = || files.next().unwrap_or_default();
    let shape = || -> Result<Vec<usize>, Failure> {
        let shape = o.rule.shape.as_deref().ok_or_else(|| missing("--shape"))?;
        ndarray_broadcast::shape_from_integers(shape).map_err(Failure::usage)
    };
    Ok(match &name[..] {
        "fill" => Command::Fill(Fill {
            out: next(),
            shape: shape()?,
            kind: o.kind.ok_or_else(|| missing("--type"))?,
            seed: o.seed.unwrap_or(0),
        }),
        "broadcast" => Command::Broadcast(Broadcast {
            input: next(),
            out: next(),
            rule: o.rule,
        }),
        "map" => Command::Map(Map {
            inputs: [next(), next()],
            out: next(),
            op: o.op.ok_or_else(|| missing("--op"))?,
            rule: o.pair_rule.unwrap_or_default(),
        }),
        "gradient" => Command::Gradient(Gradient {
            dy: next(),
            out: next(),
            times: o.times,
            input: o.input.ok_or_else(|| missing("--input"))?,
            rule: o.rule,
            shard: o.shard,
            parts: o.parts.unwrap_or(64),
            merge: o.merge.is_some(),
            in_memory: o.in_memory.is_some(),
        }),
        "compare" => Command::Compare(next(), next()),
        _ => Command::Cost(Cost {
            shape: shape()?,
            input: o.input.ok_or_else(|| missing("--input"))?,
            rule: o.rule,
            workers: o.workers.unwrap_or_else(|| vec![1, 10, 100, 1000, 10_000]),
        }),
    })
}

fn op(name: &str) -> Result<Op, Failure> {
    Ok(match name {
        "add" => Op::Add,
        "sub" => Op::Sub,
        "mul" => Op::Mul,
        "div" => Op::Div,
        "max" => Op::Max,
        "min" => Op::Min,
        _ => {
            return Err(Failure::usage(format!(
                "--op {name}: expected add, sub, mul, div, max or min"
            )));
        }
    })
}

fn kind(name: &str) -> Result<Kind, Failure> {
    let found = Kind::ALL.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| Failure::usage(format!("--type {name}: expected f32, f64, i32, i64 or u8")))
}

fn codec(name: &str) -> Result<Codec, Failure> {
    match name {
        "zstd" => Ok(Codec::Zstd),
        "none" => Ok(Codec::None),
        _ => Err(Failure::usage(format!(
            "--codec {name}: expected zstd or none"
        ))),
    }
}

/// `1000`, `64MiB`.
fn bytes(text: &str) -> Result<usize, Failure> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let unit = units
        .iter()
        .find_map(|&(name, bits)| Some((text.strip_suffix(name)?, bits)));
    let (count, bits) = unit.unwrap_or((text, 0));
    let count: usize = number("--max-bytes", count)?;
    // A size that overflows counts as `usize::MAX`, which must be more than this.
    count
        .checked_mul(1 << bits)
        .filter(|&bytes| bytes <= isize::MAX as usize)
        .ok_or_else(|| Failure::usage(format!("--max-bytes {text}: too many")))
}

/// `I/N`.
fn worker(text: &str) -> Result<(usize, usize), Failure> {
    let (index, count) = text
        .split_once('/')
        .ok_or_else(|| Failure::usage(format!("--worker {text}: expected I/N, as 0/4")))?;
    let (index, count): (usize, usize) = (number("--worker", index)?, number("--worker", count)?);
    match index < count {
        true => Ok((index, count)),
        false => Err(Failure::usage(format!(
            "--worker {text}: I is from 0 to N - 1"
        ))),
    }
}

fn sizes(name: &str, parser: &mut lexopt::Parser) -> Result<Vec<usize>, Failure> {
    let given = text(parser)?;
    let inner = given
        .trim()
        .trim_start_matches(['(', '['])
        .trim_end_matches([')', ']', ',']);
    if inner.trim().is_empty() {
        return Ok(Vec::new());
    }
    inner.split(',').map(|size| number(name, size)).collect()
}
