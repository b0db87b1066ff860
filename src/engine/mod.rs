//! The engine: what moves and combines elements.
//!
//! It knows shapes, strides and pointers, and nothing of rules or plans. Callers of `rows` and
//! `reduce` need no `unsafe` code: they give arrays and closures.
//!
//! | file | subject |
//! |---|---|
//! | `nest` | loop nests over several operands, and the walk over them |
//! | `rows` | the door to maps: new and existing outputs, and a closure |
//! | `maps` | the driver of maps: how the work is cut, walked and packed; not generic |
//! | `inputs` | the inputs of maps and reductions, and the inner loops of maps, generic |
//! | `pack` | which inputs are packed, that is, copied to one block before they are walked |
//! | `copies` | the door to copies, and their driver |
//! | `reduction` | what a reduction does with its terms |
//! | `reduce` | the door to reductions: fresh and existing results, accumulators |
//! | `sums` | the driver of reductions: how the work is cut, walked and written; not generic |
//! | `kernel` | a reduction as its driver sees it |
//! | `fold` | the inner loops of reductions, generic: rows and runs of terms |
//! | `positions` | the inner loops of positions |
//! | `block` | blocks of elements, and the places of their copies |
//! | `gather` | elements that lie anywhere, copied side by side |
//! | `splat` | rows of copies of one element |
//! | `machine` | what depends on the machine: vector registers, copies past the cache |
//! | `memory` | allocation |
//! | `threads` | chunks of work on several threads |
//! | `shares` | which thread works on which chunks |
//! | `chunks` | how elements are cut into chunks |
//! | `tuning` | thresholds of maps, copies and sums |
//!
//! # Rules about memory
//!
//! | what if | rule | where |
//! |---|---|---|
//! | operands overlap | outputs are borrowed mutably or new, inputs are borrowed | the doors: `copies`, `rows`, `reduce` |
//! | two indices of an output share an element | ndarray makes no such mutable view in safe code | |
//! | two threads write one place | each position is in one chunk, each chunk is claimed by one thread | `nest`, `chunks`, `shares`; `Plan::unit` in `sums/plan` |
//! | sizes multiply to more than `usize` holds | shapes are those of arrays, or of plans, which `BroadcastPlan::new` checks; of new arrays `output_len` checks; sizes of scratch memory stop at `usize::MAX`, and such an allocation is refused | `nest`, `memory`; `Plan::sections` in `sums/plan` |
//! | an offset overflows | only on the way to an element, or where there is none: places move by `wrapping_*` | `nest` |
//! | a stride is negative | a nest is walked from the other end; small tiles and blocks have negative steps | `LoopNest::sort`, `Block` |
//! | an axis has size 0 | there are no positions, no tiles and no chunks | `LoopNest`, `Tile::of` |
//! | an element has size 0 | maps never pack it; sums gather no byte of it, to memory that is aligned for it | `Packing::of`; `Facts` in `kernel` |
//! | an element or accumulator is aligned to 4096 | scratch memory of sums is aligned to it; maps pack small elements only | `Facts` in `kernel`; `Value` in `inputs` |
//! | an element has a destructor or a `Cell` inside | only `Copy` elements are packed or gathered | the bounds of `Value` in `inputs` |
//! | an element has padding | it is moved by value, by `memcpy` or in assembly | `Slot` in `block`; `machine` |
//! | an element is copied as a number of its size | as a `MaybeUninit` of it, at any alignment | `Slot` in `block`; `Gather::of` |
//! | memory is read before it is written | the number of positions that were mapped, copied or reduced is compared before `assume_init` | the doors, `Driver::join`; `array_of` in `memory` |
//! | a reference is to memory that is not initialised | it is to `MaybeUninit`, or made after the writes | `rows`; `Slot` in `block`; `fold`; `positions`; `Results` in `reduce` |
//! | scratch memory is too small | a unit of sums and a packed part of a map assert that there is room before they write; `reduce_few` takes no more columns at a time than fit | `Unit::check` and `Unit::table` in `sums/unit`; `Walk::packed` in `maps`; `reduce_few` |
//! | a pack writes after its last row | up to `MORE_ROWS` rows, for which there is room | `Gather::pack` |
//! | a transpose reads after the last row | only columns of the same block that follow in memory | `transpose_band` in `gather` |
//! | a row is no whole number of vectors | its last vector overlaps the one before it, or single elements are copied; a term is read only if its number is below the count, from which the compiler makes masked loads | `WideCopy` in `machine`; `splat`; `fold_short` in `fold` |
//! | a place is written by two calls of a closure | a second output has the shape of the first, and is mapped once | `Input::places` in `inputs` |
//! | threads share pointers | each type with pointers says in its `Sync` what they are used for; elements that threads read are `Sync`, those that they write `Send` | the bounds of the constructors of `Input`; the doors |
//! | a reference or a closure outlives what it borrows | items live as long as the elements of the view; a call returns or unwinds only when no helper uses its closure any more | `Input::refs`; `Call` in `reduce`; `run` in `threads` |
//! | a comparison, a sum or a reduction of a user is inconsistent | results are wrong: no answer of theirs becomes an address, but for two methods that only this crate can implement | `Reduction::fold_lanes`, `Reduction::kernel` |
//! | a dimension is inconsistent | ndarray seals `Dimension` | |
//! | a closure calls the crate again | the call has its own shares and scratch memory; a thread at work on a shared call does not help that call again | `team` in `threads` |
//! | the process forks, or gets no threads | a call works alone | the first page of `threads` |
//! | the processor has no AVX2 | it is asked before each kernel | `in_vectors` in `machine` |
//! | stores go past the cache | a fence comes before other threads are told of them | `Copier::stream` |
//! | an element is a pointer | vector registers move its address; Rust's rules leave its provenance open | `machine` |
//! | a closure panics | helpers leave first; what was written to a new array is dropped once, elements of an existing one stay valid. Accumulators and second new outputs are `Copy` | `run` in `threads`; `fill_counted` in `rows` |
//! | an allocation for elements, results or scratch memory fails | an error, before the first write | `reserved` in `crate::error`; `memory`; `Memory` in `sums/scratch` |
//! | the stack is full | a walk calls itself once for each of at most 63 axes; blocks on the stack take 16 KiB, and elements of 64 bytes or more are not packed in them | `walk` in `nest`; `StackBlock` in `block`; `LARGE_ELEMENT` in `tuning` |
//!
//! Which test fails without each check: the guide's page on soundness.

#[allow(unsafe_code)]
mod block;
pub(crate) mod chunks;
#[allow(unsafe_code)]
pub(crate) mod copies;
#[allow(unsafe_code)]
pub(crate) mod fold;
#[allow(unsafe_code)]
mod gather;
#[allow(unsafe_code)]
pub(crate) mod inputs;
#[allow(unsafe_code)]
pub(crate) mod kernel;
#[allow(unsafe_code)]
pub(crate) mod machine;
#[allow(unsafe_code)]
mod maps;
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
#[cfg(feature = "rayon")]
mod shares;
#[allow(unsafe_code)]
mod splat;
#[allow(unsafe_code)]
pub(crate) mod sums;
#[allow(unsafe_code)]
pub(crate) mod threads;
pub(crate) mod tuning;
