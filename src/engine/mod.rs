//! The engine: what moves and combines elements.
//!
//! It knows shapes, strides and pointers, and nothing of rules or plans. Callers of `rows` and
//! `sums` need no `unsafe` code: `rows` calls a closure with the elements at one position; `sums`
//! lends terms as slices, or fills a table by a closure, which it calls with a place of the table
//! and the elements at one position.
//!
//! | file | subject |
//! |---|---|
//! | `nest` | loop nests over several operands, and the walk over them |
//! | `rows` | sweeps over an output and its inputs |
//! | `few` | sweeps over so few elements that a loop nest does not pay |
//! | `inputs` | the inputs of a sweep, read by reference or by value |
//! | `pack` | which inputs are packed, that is, copied to one block before they are walked |
//! | `tiles` | the order in which a tile of a nest is walked |
//! | `machine` | what depends on the machine: vector registers, copies past the cache |
//! | `memory` | allocation |
//! | `threads` | chunks of work on several threads |
//! | `chunks` | how elements are cut into chunks |
//! | `sums` | the inputs and the places of sums, and units of work on them |
//! | `terms` | terms of sums, read where they lie or copied into tables |
//! | `tuning` | thresholds of maps, copies and sums |

pub(crate) mod chunks;
#[allow(unsafe_code)]
mod few;
#[allow(unsafe_code)]
pub(crate) mod fold;
#[allow(unsafe_code)]
mod gather;
#[allow(unsafe_code)]
pub(crate) mod inputs;
#[allow(unsafe_code)]
pub(crate) mod machine;
#[allow(unsafe_code)]
pub(crate) mod memory;
pub(crate) mod nest;
pub(crate) mod pack;
#[allow(unsafe_code)]
pub(crate) mod positions;
#[allow(unsafe_code)]
pub(crate) mod reduce;
pub(crate) mod reduction;
#[allow(unsafe_code)]
pub(crate) mod rows;
#[allow(unsafe_code)]
pub(crate) mod sums;
#[allow(unsafe_code)]
pub(crate) mod threads;
pub(crate) mod tiles;
pub(crate) mod tuning;
