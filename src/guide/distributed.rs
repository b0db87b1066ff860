//! Arrays larger than memory or larger than a machine: where to place their shards, what workers
//! send each other, and which bits they get.
//!
//! This crate starts no processes and moves no data. It cuts the work so that any scheduler can do
//! it: a worker is given a part, reads only what the part needs, and what it computes is merged by
//! anyone, later, in any order.
//!
//! | work | cut by | a worker reads | a worker sends |
//! |---|---|---|---|
//! | a broadcast, a copy | [`tile`](crate::BroadcastPlan::tile), [`tiles`](crate::BroadcastPlan::tiles) | the tile's [`input`](crate::Tile::input) | nothing: it writes the tile's [`output`](crate::Tile::output) |
//! | a map of several arrays | the same tiles of each operand's plan | the input of each | nothing |
//! | a gradient, a reduction | [`part`](crate::BroadcastPlan::part), [`part_of_blocks`](crate::BroadcastPlan::part_of_blocks) | the output of the part's [`tile`](crate::Part::tile) | a [`PartialReduction`](crate::PartialReduction) |
//!
//! # Where to place shards
//!
//! **An axis that the plan keeps costs no communication.** Each element of the gradient then has
//! all of its terms on one worker, which sends the finished elements and nothing else. Prefer such
//! an axis while it has as many indices as there are workers.
//!
//! **An axis that is summed costs one accumulator for each node of the tree.** The terms of an
//! element have blocks of 1024. A worker that has a range of blocks sends the fewest
//! [nodes](crate::Part::nodes) of [the tree](crate::GradientExt#the-order-of-summation) that
//! together are this range: at most two for each level, and one if the range is itself a node, as
//! it is for 2^k blocks from a multiple of 2^k on.
//!
//! **Blocks are not cut.** [`part`](crate::BroadcastPlan::part) refuses a tile that has a part of a
//! block. The error has the nearest boundaries. Shard boundaries and block boundaries may differ.
//! Then use [`part_of_blocks`](crate::BroadcastPlan::part_of_blocks), which takes any range of
//! blocks. Its tile is the smallest box with these blocks. It may reach into the neighbouring
//! shard. A plan with at most 1024 terms for each element has one block: only its kept axes can be
//! cut exactly.
//!
//! Here the gradient of a bias `[C]` of images `[N, C, H, W]` is summed by five workers. They share
//! the images by blocks. No image begins where a block does:
//!
//! ```
//! use ndarray::Array4;
//! use ndarray_broadcast::{BroadcastError, BroadcastPlan, PartialReduction, Sum};
//!
//! let dy = Array4::from_shape_fn((300, 2, 7, 7), |(n, c, h, w)| {
//!     1. / (1 + n + 2 * c + 3 * h + w) as f32
//! });
//! let plan = BroadcastPlan::explicit(2, (300, 2, 7, 7), &[1])?;
//! assert_eq!(plan.sum_blocks(), 15); // 300 * 7 * 7 terms
//!
//! let worker = |number: usize| {
//!     let part = plan.part_of_blocks(&[0..2], 3 * number..3 * (number + 1))?;
//!     // All that this worker reads: some 63 of the 300 images.
//!     let images = part.tile().output().of(&dy)?;
//!     assert!(images.shape()[0] <= 64);
//!     Ok::<_, BroadcastError>(part.gradient(&images)?.to_bytes())
//! };
//!
//! // Whoever has the results merges them, in the order in which they come.
//! let mut sum = PartialReduction::<f32, Sum>::new(&plan, Sum);
//! for number in [3, 0, 4, 1, 2] {
//!     sum.merge(PartialReduction::from_bytes(&worker(number)?, Sum)?)?;
//! }
//! assert_eq!(sum.finish(&plan)?, plan.gradient(&dy)?);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! A [`PartialReduction`](crate::PartialReduction) may be merged where it arrives, also on a worker
//! that sends the merged one on. In a tree of `n` workers, each sends one message. Two neighbouring
//! halves merge into one node.
//!
//! # How much is sent
//!
//! Bytes of [`to_bytes`](crate::PartialReduction::to_bytes), sent by all workers together, and the
//! most that one worker sends. A bias `[4096]` was broadcast to `[16777216, 4096]`; its gradient is
//! summed in `f64`. The terms are 550 GB. The axis that is kept, the 16384 blocks, or both are
//! divided evenly. The kept axis has 4096 indices, too few for 10000 workers, so these two places
//! are empty:
//!
//! | workers | kept axis: all | each | blocks: all | each | both: all | each |
//! |---:|---:|---:|---:|---:|---:|---:|
//! | 1 | 32898 | 32898 | 32898 | 32898 | 32898 | 32898 |
//! | 10 | 34068 | 3410 | 2951380 | 360698 | 1607988 | 213266 |
//! | 100 | 45768 | 458 | 23351160 | 327918 | 2971720 | 36330 |
//! | 1000 | 162768 | 170 | 133598160 | 164018 | 9906128 | 13358 |
//! | 10000 | | | 433351520 | 65678 | 25365216 | 3518 |
//!
//! In the folder `examples/distributed`, `distributed cost --shape 16777216,4096 --input 4096`
//! computes this table from the parts, and the same for any other plan. An even division does not
//! follow the nodes. 16 ranges of 1024 blocks would send one node each, 32898 bytes.
//!
//! # What the bits promise
//!
//! The result is bit-identical to one call on the whole array: every bit is that of one
//! [`gradient`](crate::BroadcastPlan::gradient),
//! [`gradient_of`](crate::BroadcastPlan::gradient_of), [`reduce`](crate::BroadcastPlan::reduce) or
//! [`reduce_of`](crate::BroadcastPlan::reduce_of) on the whole arrays. It does not depend on the
//! number of workers, on the parts, on the order in which they are merged, on machines, threads,
//! features or targets. It is the same again if a worker died and another did its part.
//!
//! Two things are not promised. The bits of a NaN, its sign and payload, are not. What a closure
//! computes is as exact as the closure: `exp` of a C library may differ between machines.
//!
//! [`inexact_part`](crate::BroadcastPlan::inexact_part) also takes tiles that cut blocks. Its
//! result has other bits, which depend on the tiles, and
//! [`is_exact`](crate::PartialReduction::is_exact) says so.
//!
//! # What goes wrong
//!
//! | | error |
//! |---|---|
//! | a tile cuts a block | [`CutsBlock`](crate::ErrorKind::CutsBlock), with the nearest boundaries |
//! | parts of different plans, reductions or types | [`OtherReduction`](crate::ErrorKind::OtherReduction) |
//! | two parts have the same term | [`Overlap`](crate::ErrorKind::Overlap), with the elements and terms |
//! | a part is missing at the end | [`Incomplete`](crate::ErrorKind::Incomplete), with the first element and its terms |
//! | bytes that were cut short or changed | [`InvalidBytes`](crate::ErrorKind::InvalidBytes) |
//!
//! A merge that is an error changes nothing.
//!
//! # An example on real engines
//!
//! `examples/distributed` in the repository is a crate of its own. It reads and writes chunked,
//! compressed [Zarr](https://zarr.dev) stores, and shares its work among processes by MPI, or among
//! those that a job array starts with `--worker I/N`. It broadcasts a store larger than a memory
//! limit, maps two stores, and computes gradients of data that is sharded on any axis. Each part
//! that is done is kept, so a job that was killed does only what is missing. `examples/out_of_core`
//! does the same for one `.npy` file on one machine.
//!
//! The gradient of a bias `[64]` of `[128, 64, 256, 256]`, 2 GiB of `f32` in a store that is not
//! compressed, on a machine with two cores, one thread in each process, best of two runs of
//! `mpirun -n N distributed gradient dy out --input 64 --mode explicit --axes 1`:
//!
//! | processes | seconds | bytes that a worker sends |
//! |---|---|---|
//! | 1 | 3.9 | 0 |
//! | 2 | 2.0 | 2662 |
//! | 4 | 2.5 | 1446 |
//!
//! # Sources
//!
//! Reproducible sums by a fixed tree: the order of
//! [`GradientExt`](crate::GradientExt#the-order-of-summation). Mergeable partial results: combiners
//! of MapReduce, and user-defined reductions of MPI, whose order of additions MPI leaves open.
