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
mod names;
mod nests;
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
mod small;
mod static_ranks;
mod statistics;
mod tasks;

/// Whether the variable `ALL_CASES` is set, as in `.ci/long-checks checked`.
fn all_cases() -> bool {
    std::env::var_os("ALL_CASES").is_some()
}

/// The number of cases that a test generates: an eighth of `all`, or all of them with `ALL_CASES`.
/// Only that finds a fault of a few cases in `all`: a rare combination of rule, shape and layout.
fn cases(all: usize) -> usize {
    if all_cases() { all } else { all / 8 }
}
