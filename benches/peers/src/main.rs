//! Times this crate and other Rust crates on `cases.json`. Prints one JSON line for each (op,
//! scale, case, peer, how), in the format of `peers.py`: the median and the minimum in ms.
//!
//! 'fresh' allocates its output, 'into' writes into an existing buffer. Freeing a fresh output is
//! not timed, except at the small scale, where calls are timed in batches. Every result is checked
//! before its time is reported.
//!
//! With `--serve`, requests come on standard input, one JSON object `{"op", "scale", "case",
//! "reps"}` a line. After the rows of each comes `{"done": true}`. `compare.py` runs one such
//! process for each peer.

mod bench;
mod candle;
mod cases;
mod index;
mod limit;
mod models;
mod ndarray_own;
mod ours;
mod ours_models;
mod rten;

use std::error::Error;
use std::io::{BufRead, Write};

use serde::Deserialize;
use serde_json::{Value, json};

use bench::Bench;
use cases::{Case, Cases, Elementwise, Gradient, Materialize, OPS};
use models::Model;

/// The operations of a peer. An unsupported operation keeps the empty default and is blank in the
/// table.
trait Peer {
    fn materialize(&self, _case: &Materialize, _bench: &mut Bench) -> Result<(), Box<dyn Error>> {
        Ok(())
    }

    fn elementwise_add(
        &self,
        _case: &Elementwise,
        _bench: &mut Bench,
    ) -> Result<(), Box<dyn Error>> {
        Ok(())
    }

    fn gradient_sum(&self, _case: &Gradient, _bench: &mut Bench) -> Result<(), Box<dyn Error>> {
        Ok(())
    }

    fn models(&self, _case: &Model, _bench: &mut Bench) -> Result<(), Box<dyn Error>> {
        Ok(())
    }
}

const PEERS: [(&str, &dyn Peer); 6] = [
    ("limit", &limit::Limit),
    ("ours", &ours::Ours),
    ("ndarray", &ndarray_own::Operators),
    ("ndarray-rayon", &ndarray_own::ParallelZip),
    ("rten", &rten::Rten),
    ("candle", &candle::Candle),
];

#[derive(Deserialize)]
struct Request {
    op: String,
    scale: String,
    case: String,
    reps: Option<usize>,
}

struct Arguments {
    ops: Vec<String>,
    scales: Vec<String>,
    peers: Vec<String>,
    cases: Vec<String>,
    reps: Option<usize>,
    serve: bool,
}

const USAGE: &str =
    "[--ops materialize,elementwise_add,gradient_sum,models] [--scales small,mid,big] \
[--peers limit,ours,ndarray,ndarray-rayon,rten,candle] [--cases ...] [--reps N] [--serve]
RAYON_NUM_THREADS sets the number of threads.";

impl Arguments {
    fn parse() -> Result<Self, Box<dyn Error>> {
        let mut parsed = Self {
            ops: OPS.map(String::from).into(),
            scales: ["small", "mid", "big"].map(String::from).into(),
            peers: PEERS.iter().map(|(name, _)| name.to_string()).collect(),
            cases: vec![],
            reps: None,
            serve: false,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(flag) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{flag} needs a value"));
            let list = |text: String| text.split(',').map(String::from).collect();
            match flag.as_str() {
                "--ops" => parsed.ops = list(value()?),
                "--scales" => parsed.scales = list(value()?),
                "--peers" => parsed.peers = list(value()?),
                "--cases" => parsed.cases = list(value()?),
                "--reps" => parsed.reps = Some(value()?.parse()?),
                "--serve" => parsed.serve = true,
                _ => return Err(format!("{flag}: unknown\n{USAGE}").into()),
            }
        }
        Ok(parsed)
    }
}

/// Measures one case with one peer, and prints its rows.
fn run(name: &str, peer: &dyn Peer, scale: &str, case: &Case, reps: Option<usize>) {
    let mut bench = Bench::new(case, scale, reps);
    let outcome = match case {
        Case::Materialize(case) => peer.materialize(case, &mut bench),
        Case::Elementwise(case) => peer.elementwise_add(case, &mut bench),
        Case::Gradient(case) => peer.gradient_sum(case, &mut bench),
        Case::Model(case) => peer.models(case, &mut bench),
    };
    let heading =
        json!({"op": case.op(), "scale": scale, "case": case.name(), "peer": name, "how": "?"});
    for row in bench.into_rows() {
        say(heading.clone(), row);
    }
    if let Err(error) = outcome {
        say(heading, json!({"error": error.to_string()}));
    }
}

/// Prints one JSON object with the fields of both.
fn say(mut heading: Value, fields: Value) {
    if let (Some(heading), Value::Object(fields)) = (heading.as_object_mut(), fields) {
        heading.extend(fields);
    }
    let mut out = std::io::stdout().lock();
    // If the reader is gone, nobody can be told.
    let _ = writeln!(out, "{heading}").and_then(|()| out.flush());
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse()?;
    let cases: Cases = serde_json::from_str(include_str!("../cases.json"))?;
    // See `version` in peers.py.
    drop(std::hint::black_box(Vec::<u8>::with_capacity(31 << 20)));
    for name in &arguments.peers {
        let Some((_, peer)) = PEERS.iter().find(|(known, _)| known == name) else {
            return Err(format!("{name}: no such peer").into());
        };
        if arguments.serve {
            say(json!({"peer": name, "version": "ready"}), json!({}));
            for line in std::io::stdin().lock().lines() {
                let request: Request = serde_json::from_str(&line?)?;
                let case = cases
                    .of(&request.op, &request.scale)
                    .into_iter()
                    .find(|case| case.name() == request.case)
                    .ok_or(format!("{}: no such case", request.case))?;
                run(name, *peer, &request.scale, &case, request.reps);
                say(json!({"done": true}), json!({}));
            }
            return Ok(());
        }
        for op in &arguments.ops {
            for scale in &arguments.scales {
                for case in cases.of(op, scale) {
                    if arguments.cases.is_empty()
                        || arguments.cases.iter().any(|c| c == case.name())
                    {
                        run(name, *peer, scale, &case, arguments.reps);
                    }
                }
            }
        }
    }
    Ok(())
}
