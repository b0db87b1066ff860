//! The engine: what moves and combines elements.
//!
//! It knows shapes, strides and pointers, and nothing of rules or plans. Its face is safe: memory
//! is read and written in rows, which are slices, one repeated element, or strided.
//!
//! | file | subject |
//! |---|---|
//! | `nest` | loop nests over several operands, and the walk over them |
//! | `rows` | sweeps over an output and its inputs |
//! | `inputs` | the inputs of a sweep, read by reference or by value |
//! | `pack` | which inputs are copied together before they are walked |
//! | `tiles` | the order in which a tile of a nest is walked |
//! | `memory` | allocation |
//! | `stream` | copies of bytes past the cache or within it |
//! | `simd` | dispatch of vector width |
//! | `threads` | chunks of work on several threads |
//! | `chunks` | how elements are cut into chunks |
//! | `sums` | the inputs and the places of sums, and units of work on them |
//! | `gather` | copies of terms into tables |
//! | `columns` | terms that are read where they lie |
//! | `tuning` | every threshold |

pub(crate) mod chunks;
pub(crate) mod columns;
pub(crate) mod gather;
pub(crate) mod inputs;
pub(crate) mod memory;
pub(crate) mod nest;
pub(crate) mod pack;
pub(crate) mod rows;
pub(crate) mod simd;
pub(crate) mod stream;
pub(crate) mod sums;
pub(crate) mod threads;
pub(crate) mod tiles;
pub(crate) mod tuning;
