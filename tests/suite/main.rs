//! The tests of the public API that need no process of their own, a module for each subject.
//!
//! Tests are compiled without optimisation: their compilation takes longer than they do. So what
//! runs for very many elements is a plain loop over slices.

#[path = "../common/mod.rs"]
mod common;
#[cfg(feature = "rayon")]
#[path = "../common/pool.rs"]
mod pool;

mod accumulations;
mod axes;
mod documents;
mod elementwise;
mod errors;
mod gradient;
mod gradient_bits;
mod half;
mod materialize;
mod onnx;
mod openvino;
mod partial;
mod plans;
mod properties;
mod public_api;
mod reductions;
mod rules;
mod serde;
mod slices;
mod static_ranks;
mod statistics;
mod tasks;

/// The number of cases that a test generates: a quarter of `all`, or all of them if the variable
/// `ALL_CASES` is set, as in `.ci/long-checks checked`. Only that finds a fault of a few cases in
/// `all`: a rare combination of rule, shape and layout.
fn cases(all: usize) -> usize {
    match std::env::var_os("ALL_CASES") {
        Some(_) => all,
        None => all / 4,
    }
}
