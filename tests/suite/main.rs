//! The tests of the public API that need no process of their own, a module for each subject.

#[path = "../common/mod.rs"]
mod common;
#[cfg(feature = "rayon")]
#[path = "../common/pool.rs"]
mod pool;

mod documents;
mod elementwise;
mod errors;
mod gradient;
mod gradient_bits;
mod half;
mod materialize;
mod openvino;
mod partial;
mod partial_reductions;
mod plans;
mod properties;
mod public_api;
mod reductions;
mod rules;
mod serde;
mod slices;
mod static_ranks;
