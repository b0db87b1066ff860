//! Serves one Rust peer to `compare.py`, which is the program to run: its documentation says how
//! it measures.
//!
//! The only argument is the name of the peer. The requests are lines of JSON on standard input:
//!
//! | request | answer |
//! |---|---|
//! | `{"op", "scale", "case"}` | prepares the case and its first call |
//! | `{"burst": ms}` | `{"times": [ms, ...]}`: a burst of the call, in each way it has |
//! | `{"next": true}` | prepares the case's next call |
//!
//! A call that is ready and right is announced as `{"how"}`: "fresh" allocates its output, "into"
//! writes into an existing buffer. A call that is wrong is announced with an error, and the next
//! one follows. `{"done": true}` ends a case.

mod bench;
mod calls;
mod candle;
mod cases;
mod index;
mod limit;
mod ndarray_own;
mod ours;
mod pages;
mod rten;

use std::error::Error;

use serde_json::json;

use bench::{Bench, request, say};
use calls::CallCase;
use cases::{Case, Materialize};

/// The operations of a peer. An unsupported operation keeps the empty default and is blank in the
/// table.
trait Peer {
    fn materialize(&self, _case: &Materialize, _bench: &Bench) -> Result<(), Box<dyn Error>> {
        Ok(())
    }

    fn call(&self, _case: &CallCase, _bench: &Bench) -> Result<(), Box<dyn Error>> {
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

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).unwrap_or_default();
    let Some((_, peer)) = PEERS.iter().find(|(known, _)| *known == name) else {
        return Err(format!("'{name}' is no peer").into());
    };
    // See `version` in peers.py.
    drop(std::hint::black_box(Vec::<u8>::with_capacity(31 << 20)));
    say(&json!({"version": "ready"}));
    while let Some(request) = request() {
        let case = Case::of(&request)?;
        let expected = |index: &[usize]| case.expected(index);
        let bench = Bench::new(case.out(), &expected);
        let outcome = match &case {
            Case::Materialize(case) => peer.materialize(case, &bench),
            Case::Call(case) => peer.call(case, &bench),
        };
        if let Err(error) = outcome {
            say(&json!({"error": error.to_string()}));
        }
        say(&json!({"done": true}));
    }
    Ok(())
}
