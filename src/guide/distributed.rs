//! Arrays larger than memory or larger than a machine: where to place their shards, what workers
//! send each other, and which results are bit-identical.
//!
//! This crate starts no processes and moves no data. It divides the work into parts, for any
//! scheduler. A worker gets a part, and reads only what the part needs. Any process can merge the
//! results, at any time and in any order.
//!
//! | work | cut by | a worker reads | a worker sends |
//! |---|---|---|---|
//! | a broadcast, a copy | [`tile`](crate::distributed::Tile::new), [`tiles`](crate::distributed::Tiles::new) | the tile's [`input`](crate::distributed::Tile::input) | nothing: it writes the tile's [`output`](crate::distributed::Tile::output) |
//! | a map of several arrays | the same tiles of each operand's plan | the tile's input of each operand | nothing: it writes the tile's output |
//! | a gradient, a reduction | [`part`](crate::distributed::Part::new), [`part_of_blocks`](crate::distributed::Part::of_blocks) | the output of the part's [`tile`](crate::distributed::Part::tile) | an [`Accumulation`](crate::distributed::Accumulation) |
//!
//! # Where to place shards
//!
//! **To cut an axis that the plan keeps costs no communication between workers.** Each element of
//! the gradient has all of its terms on one worker, which sends the finished elements and nothing
//! else. Prefer such an axis if it has at least as many indices as there are workers.
//!
//! **To cut an axis that is summed costs one accumulator for each node of the tree that is sent.**
//! The terms of an element are divided into slabs, and each slab into blocks of 1024, as [the order
//! of summation](crate::reduction#the-order-of-summation) says. A worker has a range of blocks. It
//! sends the smallest set of [nodes](crate::distributed::Part::nodes) of the tree that together are
//! this range: at most two for each level. It sends one node if the range is itself a node: 2^k
//! blocks of a slab that begin at a multiple of 2^k of them, or as many slabs.
//!
//! **Blocks are not cut.** [`part`](crate::distributed::Part::new) returns an error for a tile that
//! cuts a block. The error has the nearest block boundaries. If shard boundaries are not block
//! boundaries, use [`part_of_blocks`](crate::distributed::Part::of_blocks), which takes any range
//! of blocks. Its tile is the smallest box that contains these blocks. The tile may reach into the
//! neighbouring shard. A plan with at most 1024 terms for each element has one block, so only its
//! kept axes can be cut. Between slabs every plan can be cut: images of 56 by 56 are slabs.
//!
//! In this example, five workers sum the gradient of a bias `[C]` of images `[N, C, H, W]`. Each
//! worker has three of the 15 blocks. All terms are one slab, as an image has 49 of them. The
//! boundaries of blocks are not boundaries of images:
//!
//! ```
//! use ndarray::Array4;
//! use ndarray_broadcast::{BroadcastError, BroadcastPlan};
//! use ndarray_broadcast::distributed::{Accumulation, Part, sum_blocks};
//! use ndarray_broadcast::reduction::Sum;
//!
//! let dy = Array4::from_shape_fn((300, 2, 7, 7), |(n, c, h, w)| {
//!     1. / (1 + n + 2 * c + 3 * h + w) as f32
//! });
//! let plan = BroadcastPlan::explicit(2, (300, 2, 7, 7), &[1])?;
//! assert_eq!(sum_blocks(&plan), 15); // 300 * 7 * 7 terms
//!
//! let worker = |number: usize| {
//!     let part = Part::of_blocks(&plan, &[0..2], 3 * number..3 * (number + 1))?;
//!     // All that this worker reads: some 63 of the 300 images.
//!     let images = part.tile().output().of(&dy)?;
//!     assert!(images.shape()[0] <= 64);
//!     Ok::<_, BroadcastError>(part.reduce(&images, Sum)?.to_bytes())
//! };
//!
//! // Whoever has the results merges them, in the order in which they come.
//! let mut sum = Accumulation::<f32, Sum>::new(&plan, Sum);
//! for number in [3, 0, 4, 1, 2] {
//!     sum.merge(Accumulation::from_bytes(&worker(number)?, Sum)?)?;
//! }
//! assert_eq!(sum.finish(&plan)?, plan.gradient(&dy)?);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! Workers may also merge each other's [`Accumulation`](crate::distributed::Accumulation)s and send
//! the merged one on. If they do so along a tree, each worker sends at most one message. Two
//! sibling nodes merge into their parent node.
//!
//! # How much is sent
//!
//! A bias `[4096]` was broadcast to `[16777216, 4096]`. Its gradient is summed in `f64`. The terms
//! have 550 GB. The tables have the size of the messages
//! ([`to_bytes`](crate::distributed::Accumulation::to_bytes)) in kB. The work is divided evenly
//! along the kept axis, along the 16384 blocks, or along both. The kept axis has 4096 indices, too
//! few for 10000 workers, so one cell in each table is empty. All workers together send:
//!
//! | workers | kept axis | blocks | both |
//! |---:|---:|---:|---:|
//! | 1 | 32.9 | 32.9 | 32.9 |
//! | 10 | 34.0 | 2953 | 1610 |
//! | 100 | 45.4 | 23363 | 2987 |
//! | 1000 | 159 | 133656 | 10030 |
//! | 10000 | | 433375 | 26549 |
//!
//! The worker that sends the most sends:
//!
//! | workers | kept axis | blocks | both |
//! |---:|---:|---:|---:|
//! | 1 | 32.9 | 32.9 | 32.9 |
//! | 10 | 3.41 | 361 | 214 |
//! | 100 | 0.454 | 328 | 36.5 |
//! | 1000 | 0.166 | 164 | 13.5 |
//! | 10000 | | 65.7 | 3.69 |
//!
//! In the folder `examples/distributed`, `distributed cost --shape 16777216,4096 --input 4096`
//! computes these tables in bytes, also for other plans. An even division does not follow the nodes
//! of the tree. 16 workers with 1024 blocks each would send one node each, 32.9 kB.
//!
//! # What is bit-identical
//!
//! The result is bit-identical to one call of [`gradient`](crate::BroadcastPlan::gradient),
//! [`reduce`](crate::BroadcastPlan::reduce) or [`Zip::reduce`](crate::Zip::reduce) on the whole
//! arrays. It does not depend on the
//! number of workers, on the parts, on the order in which they are merged, on machines, threads,
//! features or targets. It is also the same if a worker fails and another worker does its part.
//!
//! There are three exceptions. The sign and the payload of a NaN may differ. A closure may itself
//! give different results on different machines, for example if it calls `exp` of a C library. And
//! so may the crate `half`, where `f64` becomes `f16`
//! ([`in_type`](crate::reduction::Sum::in_type)).
//!
//! If the tiles cut blocks and the last bits may depend on the tiles, add the gradients of the
//! tiles, each by the tile's own plan:
//!
//! ```
//! use ndarray::{Array1, Array2};
//! use ndarray_broadcast::{BroadcastError, BroadcastPlan};
//! use ndarray_broadcast::distributed::Tile;
//!
//! let dy = Array2::from_shape_fn((3000, 2), |(i, j)| (i + j) as f64);
//! let plan = BroadcastPlan::numpy(2, (3000, 2))?;
//! let mut sum = Array1::zeros(2);
//! for rows in [700..3000, 0..700] {
//!     let tile = Tile::new(&plan, &[rows, 0..2])?;
//!     let part_of_dy = tile.output().of(&dy)?;
//!     let mut part_of_sum = tile.input().of_mut(&mut sum)?;
//!     part_of_sum += &tile.plan().gradient(&part_of_dy)?;
//! }
//! // Sums of these whole numbers are exact in any order.
//! assert_eq!(sum, plan.gradient(&dy)?);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Errors
//!
//! | cause | error |
//! |---|---|
//! | a tile cuts a block | [`InvalidBox`](crate::ErrorKind::InvalidBox), with the nearest boundaries |
//! | there are no such blocks | [`InvalidBox`](crate::ErrorKind::InvalidBox), with their number |
//! | parts of different plans or reductions; bytes of another type | [`PartsMismatch`](crate::ErrorKind::PartsMismatch) |
//! | two parts have the same term | [`PartsMismatch`](crate::ErrorKind::PartsMismatch), with the elements and terms |
//! | a part is missing when the result is taken | [`PartsMismatch`](crate::ErrorKind::PartsMismatch), with the first element and its terms |
//! | bytes that were cut short or changed | [`InvalidBytes`](crate::ErrorKind::InvalidBytes) |
//!
//! After a merge that returns an error, an accumulation has the terms that it had.
//!
//! Bytes name their reduction. Reductions without a name, such as every
//! [`Fold`](crate::reduction::Fold), are not told apart: a process must itself know which of them
//! it reads.
//!
//! # An example with Zarr and MPI
//!
//! `examples/distributed` in the repository is a crate of its own. It reads and writes chunked,
//! compressed [Zarr](https://zarr.dev) stores, and divides its work among processes. MPI starts
//! them, or a job array starts each with `--worker I/N`. The example broadcasts to a store larger
//! than a memory limit, maps two stores, and computes gradients of data that is sharded on any
//! axis. Each finished part is kept, so a job that is started again does only the missing parts.
//! `examples/out_of_core` does the same for one `.npy` file on one machine.
//!
//! The table has the time for the gradient of a bias `[64]` of `[128, 64, 256, 256]`. The data is 2
//! GiB of `f32` in a store that is not compressed. The machine has two cores, each process one
//! thread. Each time is the better of two runs of `mpirun -n N distributed gradient dy out --input
//! 64 --mode explicit --axes 1`:
//!
//! | processes | seconds | bytes that a worker sends |
//! |---|---|---|
//! | 1 | 3.9 | 0 |
//! | 2 | 2.0 | 2774 |
//! | 4 | 2.5 | 1494 |
//!
//! # Sources
//!
//! The sums follow the fixed tree of [`reduction`](crate::reduction#the-order-of-summation).
//! Partial results that can be merged are known from the combiners of MapReduce and the
//! user-defined reductions of MPI. MPI does not specify the order of additions.
