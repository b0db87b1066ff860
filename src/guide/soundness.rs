//! What the crate's `unsafe` code relies on, where it is, and how it is checked.
//!
//! A program without `unsafe` code cannot make this crate access memory out of bounds, read
//! uninitialised memory or cause a data race. This holds for all shapes, attributes, layouts,
//! element types and closures. A view that would outlive its array, or alias a mutable element,
//! does not compile: [`BroadcastExt`](crate::BroadcastExt) has examples.
//!
//! # Where `unsafe` is
//!
//! `#![deny(unsafe_code)]` holds for the crate. These files lift it:
//!
//! | where, in `src` | what it does | what it relies on |
//! |---|---|---|
//! | `view.rs` | builds the pointer, shape and strides of a broadcast view, and of a view whose axes are split | a split axis has the size that its parts multiply to. A plan and an array of the plan's input shape. Two facts hold for a plan: (1) an output axis has the size of the input axis that feeds it, or the view's stride along it is 0; (2) the sizes multiply to at most `isize::MAX`. One function builds all plans, deserialised plans and plans of other plans included. It checks (1) and (2) |
//! | `engine/`: `block`, `copies`, `fold`, `gather`, `inputs`, `kernel`, `machine`, `maps`, `memory`, `positions`, `reduce`, `rows`, `splat`, `sums`, `threads` | walks over operands without types, copies elements, calls closures, folds terms, allocates outputs and scratch memory, writes with streaming stores, dispatches on the vector width, runs chunks on threads | three doors: `copies`, `rows` for maps and `reduce` for reductions. They take arrays, which borrow their elements: no operand overlaps an output, and no two indices of an output share an element |
//!
//! All other code is safe: rules, plans, errors, pictures and modes, the OpenVINO operator, the
//! elementwise operations (`elementwise/`), and sums and gradients (`reduce/`). The last two get
//! memory from `engine/` only: as the elements at one position, which a closure is called with.
//!
//! Every pointer comes from an ndarray array, a fresh `Vec`, or scratch memory: a block on the
//! stack, or an allocation that `sums` frees.
//!
//! # What is checked where
//!
//! Each row was broken once, and the test failed: the check was removed, the bound was widened, or
//! what the check finds was done. Names in *italics* are not those of unit tests: modules of
//! `tests/suite`, the program `concurrency`, and checks of `.ci/long-checks`.
//!
//! | what holds | where it is checked, or what carries it | the test that fails without it |
//! |---|---|---|
//! | an output axis of a plan has the size of the axis that feeds it; there are at most `isize::MAX` elements | `BroadcastPlan::new` | *`rules`*, *`errors`*; `plans_of_other_plans_are_checked` |
//! | a plan is applied to its input shape; a stretched axis has stride 0 | `BroadcastPlan::view` | *`errors::a_plan_on_another_shape`*; *`rules`* |
//! | the sizes of the parts of an axis multiply to its size | `split` in `view.rs` | *`names`* |
//! | the inputs of a map replicate to the output's shape; a second output has that shape | `maps::map`; `overwrite_two` in `rows` | `inputs_of_another_shape_are_refused` |
//! | all inputs replicate to the terms; copies have one shape | `reduce` in `sums`; `into_uninit` and `into` in `copies` | `results_and_terms_that_do_not_fit_are_refused`; *`materialize::an_output_of_another_shape_is_an_error_and_unchanged`* |
//! | each axis that is kept is one axis of the result, of its size; there are terms, and no more than the array has | `columns_of` and `reduce` in `sums` | `results_and_terms_that_do_not_fit_are_refused` |
//! | a walk reaches each position of a range once, and no other | `LoopNest::merge`, `walk`, `for_each_tile` and `for_each_block` in `nest`; `Packing::parts` | `every_small_nest_is_walked_once`, also of `Tile::of`; `each_position_of_a_tile_is_in_one_part` |
//! | each position is in one chunk, and each chunk is claimed once | `Chunks::range`; `Shares::claim` | `chunks_cover_every_element_once_and_begin_at_boundaries`; `every_order_of_arrivals_and_claims_gives_each_chunk_once` |
//! | a unit of a reduction ends at the last column | `Plan::unit` in `sums/plan`, `Unit::check` in `sums/unit` | `elements_of_every_size_follow_the_tree` |
//! | each thread has scratch memory of its own | `Driver::run` in `sums`, which numbers the threads | *`gradient_bits`*, *`concurrency`* |
//! | a copy reads and writes nothing but its elements | `Copier` in `copies`, whose tiles are those of the walk; `Block::part` in `block` | `every_layout_of_usual_elements`, `small_planes_of_every_size`, `squares_of_elements_of_every_size`: all of the memory around the output is compared |
//! | stores of whole registers end in the block; streamed lines end in the output | `Splat::short_rows` in `splat`; `stream` in `machine` | `rows_of_every_length`; `streams_any_length_from_and_to_any_alignment` |
//! | elements have the size of their kernel, at any address | `Gather::of`, which chooses by the type; `Slot`, which is packed | `elements_of_odd_sizes_and_of_none`, `every_alignment` |
//! | accumulators, copies of elements, and numbers of rows are aligned | `alignment` in `sums/operands`; `Value` in `inputs`: maps pack no element that is aligned beyond a cache line; `Positions::rows` in `positions` | `copies_of_elements_are_aligned`, for numbers of rows with 32 bits only |
//! | scratch memory has room for tables with `MORE_ROWS` rows more, offsets of rows, lanes, a level of the stack for each binary digit of the number of leaves, and the sums of slabs | `Plan::sections`, `reduce` and `reduce_few` in `sums`; a unit asserts that its tables, lanes and stack fit | `scratch_memory_has_room_for_all_that_is_written_to_it`; `crossed_terms_follow_the_tree`, `long_rows_follow_the_tree`, `large_sums_follow_the_tree`, `slabs_follow_the_tree_in_every_layout` |
//! | packed parts, and transposed ones, fit the block on the stack | assertions in `maps`, of what `Packing` says, and in `gather` | `maps_of_every_layout_are_as_index_by_index` fails at it if `Packing` forgets `MORE_ROWS` |
//! | what a gather writes after its rows is spare, or overwritten before it is read | `Unit::gather_rows` and `gather_runs` in `sums/unit`: what lies after rows of theirs is gathered later; `Unit::gather` asserts that it is in the table; `piece` in `sums/plan` says what is spare | `terms_of_arrays_in_different_orders_follow_the_tree`, `every_order_of_axes_in_memory_gives_the_same_sums` |
//! | a gather reads nothing behind its block | `Block::transpose_band` in `gather` | `every_small_block_is_copied_and_nothing_else_is_written`, under *`memcheck`*: AddressSanitizer does not see what assembly reads |
//! | lanes are written before they are read | the first pass of `fold_rows` in `fold` | `long_rows_follow_the_tree` |
//! | new outputs have as many bytes as fit `isize`, and as many elements as their shape | `output_len` and `array_of` in `memory` | `refuses_what_does_not_fit`; `arrays_have_as_many_elements_as_their_shape` |
//! | all elements of a new output are written | `fill` and `try_collect` in `rows`, `into_uninit` in `copies`, `Driver::run` and `reduce` in `sums` compare counts | `rows::tests` fail there if the driver leaves out a chunk; `every_layout_of_usual_elements` fails in `copies`; `large_sums_follow_the_tree` in `sums` |
//! | of an output that is half filled, what is written is dropped once: chunks are filled in the order of memory, and counted | `fill_counted` and `Initialised` in `rows` | *`elementwise::a_panic_at_any_element_leaks_nothing`*, *`elementwise::a_panic_leaks_nothing_whatever_the_layouts_of_the_inputs`* |
//! | a call returns when no helper uses its job; a call in a chunk has a team of its own; after a panic no chunk begins | `run`, `share` and `work` in `threads` | `a_panic_reaches_the_caller_when_no_chunk_runs_any_more`; `calls_nest`; `after_a_panic_no_further_chunk_begins` |
//! | huge pages are advised inside the allocation | `advise_huge_pages` in `memory` | `huge_pages_are_advised_for_all_whole_ones_of_large_memory` |
//!
//! No test can show these; types carry them, or a reader checks them:
//!
//! - Elements are shared and sent between threads only with `Sync` and `Send`: the bounds of each
//!   `unsafe impl`, and of the traits that the doors ask for.
//! - Only `Copy` elements are copied before a closure gets them: the bounds of `Value` in
//!   `inputs`. A copy of a `Mutex` or an atomic would not be the element.
//! - Streamed stores are fenced: at the end of `Copier::stream`, where nothing panics.
//! - `AbortOnPanic` ends the process if `threads` itself panics while helpers borrow from its
//!   stack.
//! - A kernel for AVX2 runs where the processor has it: `in_vectors` asks it.
//! - Two threads never write one position, even with equal values. The tests above count positions;
//!   a kernel that wrote a neighbour's is seen by ThreadSanitizer alone.
//! - Copy kernels write each position of their block. The driver counts the positions of blocks,
//!   not what kernels write: tests compare with a loop over indices.
//!
//! # Padding bytes
//!
//! The padding of an element is uninitialised. Loading it as an integer is undefined behaviour in
//! Rust. So elements are moved by value, by `memcpy`, or by inline assembly, for which
//! uninitialised bytes are defined. Only the caller's closures, `Add`, `Clone` and `Zero` read the
//! value of an element or create one.
//!
//! # Panics
//!
//! No argument of a caller makes library code panic; it returns an error. A closure, an addition, a
//! `clone` or a `Zero::zero` of the caller may panic. Then:
//!
//! - No thread takes further work. Other threads finish the parts that they have.
//! - Streaming stores are fenced.
//! - The elements written to a fresh output are dropped once.
//! - The panic continues in the caller after all helper threads have left the call.
//! - An existing output holds old and new elements, all valid.
//!
//! Sums of integers may panic, too: [integer overflow](super::types#integer-overflow).
//!
//! # Threads
//!
//! With the feature `rayon`, work runs on the current rayon pool: the caller's pool, or else the
//! global one.
//!
//! - The first large call, if it is outside of a pool, starts the global pool and waits until its
//!   threads run. Before that, it starts and ends as many other threads, to see whether the system
//!   allows them: rayon starts its global pool only once. If they are refused, a large call at
//!   least a second later tries again. No other call starts a thread.
//! - If the application has tried to start the global pool and failed, the first large call outside
//!   of a pool panics and catches it, as rayon has no other way to tell. The application's panic
//!   hook runs once. With `panic = "abort"` the process ends, as at any use of that pool.
//! - Otherwise the calling thread starts at once. It never waits for a helper that has not started.
//!   If no thread is available, it does all the work.
//! - A helper returns to its pool when no chunk is left. No call changes the affinity or the
//!   priority of a thread.
//! - A caller that waits for a running helper parks. While it waits, it runs no other job. So no
//!   job on the same thread can request a lock that the caller holds around the call, or use a
//!   `RefCell` that it borrows.
//! - A thread that works on a call that is shared helps no other call, nor the same one a second
//!   time. So while a closure waits in rayon, as in `rayon::join`, its thread does not call it
//!   again. A thread that does a call alone, or its first chunk, may help another call meanwhile.
//! - A closure must not wait for all threads of the pool, as `rayon::broadcast` does. The calling
//!   thread may be one of them, and it waits for the closure: a deadlock.
//!
//! Elements move to other threads only if they are `Send`, and are shared only if they are `Sync`.
//! Shared elements that are `Copy` are also copied there. Closures are `Sync`. Calls may be nested.
//! They may come from any thread: of any rayon pool, in a destructor, while panicking, at process
//! exit.
//!
//! # Memory
//!
//! Products of sizes are checked before anything is allocated. A failed allocation is an error of
//! the kind `AllocationFailed`: of an output, of the scratch memory of a gradient, of the copies
//! that parts and `merge` and `finish` of an `Accumulation` make.
//!
//! A few allocations abort the process if they fail, as allocations of Rust's standard library do.
//! Those of ndarray, rayon and serde have no form that returns an error. The others are small
//! beside what the caller holds already:
//!
//! | allocated | how much | the smallest call that allocates it |
//! |---|---|---|
//! | ndarray's shapes of dynamic rank; the shape that `infer_shape` returns | 8 bytes for each axis | most calls on an `IxDyn` of 5 axes |
//! | rayon's pool, and the job of a helper | some KiB once; some dozens of bytes for each helper | the first call that several threads share: a copy of 512 KiB, or a slow closure |
//! | the record of a thread that calls, and of its helpers | some hundred bytes for each calling thread and each level of its nested calls | the same |
//! | a table of axes or names | 1 to 32 bytes for each axis | a list of more than 6 broadcast axes, or a pattern of more than 4 names |
//! | an axis pattern, a partial shape, what is inferred of it | in proportion to the text or the rank | `"c -> n c".parse::<AxisPattern>()` |
//! | pieces and nodes of an accumulation | some hundred bytes for each | `merge` |
//! | the bytes of an accumulation | as large as its accumulators | `to_bytes` |
//! | an error; the text of an error or a plan | some hundred bytes, and 32 for each axis | any call that returns an error |
//! | the axes of a text form | 8 bytes for each | `"explicit(1)".parse::<BroadcastMode>()` |
//! | serde's values | as large as the value | any |
//!
//! # Stack
//!
//! A call needs at most 64 KiB of stack in optimised code, and 256 KiB without optimisation, for
//! elements of up to 8 KiB. Additions and closures take elements by value, so larger elements need
//! the size of 8 elements, or of 32 without optimisation. A map by value of several operands may
//! need 5 elements of each operand and result, or 15 without optimisation. A test makes calls of
//! one and two operands on threads that have no more (`tests/stack.rs`).
//!
//! # How it is checked
//!
//! In the repository:
//!
//! - `unsafe_op_in_unsafe_fn`, `clippy::undocumented_unsafe_blocks` and
//!   `clippy::multiple_unsafe_ops_per_block` are denied: each unsafe operation has its own block
//!   and its own SAFETY comment.
//! - Tests compare copies with a loop over indices (`src/materialize/tests.rs`): all layouts,
//!   elements of 0 to 2000 bytes, alignments up to 128, streaming stores forced on and off, chunks
//!   as small as a cache line.
//! - All loop nests of up to four axes of sizes 0 to 3, with strides -3 to 3: each position is
//!   walked once (`src/engine/nest.rs`), and maps, copies and sums write each output element once
//!   and nothing around it (`tests/suite/nests.rs`). All blocks of up to nine rows and columns are
//!   gathered, and nothing else is written (`src/engine/gather.rs`). In all states that up to five
//!   threads reach, each chunk is claimed once (`src/engine/shares.rs`). With the variable
//!   `ALL_CASES`, as `.ci/long-checks checked` sets it; without it, a selection.
//! - Tests run all rules on all small shapes (`tests/suite/rules.rs`), and compare with thousands
//!   of results of the original programs (`tests/conformance`).
//! - Ten fuzz targets under AddressSanitizer, with guard elements around the outputs (`fuzz/`).
//! - Tests make each allocation fail in turn (`tests/failure_injection.rs`). In others, closures
//!   panic at every position, and elements count their drops (`tests/suite/elementwise.rs`,
//!   `tests/suite/gradient.rs`).
//! - Tests call from 64 threads, in pools of 1 to 40 threads, from inside other calls, in
//!   destructors and at process exit (`tests/concurrency.rs`). The hand-over between caller and
//!   helpers is model-checked with loom.
//! - `.ci/long-checks`: all tests but one under AddressSanitizer, the kernels' tests under
//!   valgrind, which sees what assembly reads and writes, too, all tests in optimised code with
//!   overflow checks, and on one and on sixteen threads.
//! - ThreadSanitizer needs a standard library that is built for it: `.ci/long-checks tsan`.
//! - `.ci/long-checks miri`: calls of each kind on few elements (`tests/suite/small.rs`), with 64
//!   and with 32 bits. Miri does not run inline assembly. Under `cfg(miri)`, plain copies replace
//!   it.
//!
//! # Other targets and environments
//!
//! | target | what ran | how |
//! |---|---|---|
//! | x86-64 Linux | all tests | on the machine |
//! | aarch64, riscv64 Linux | all tests and examples in the documentation, but one test at which qemu aborts: a process with threads forks | under qemu |
//! | i686 Linux, 32 bits; s390x Linux, big-endian | all tests but that one | under qemu |
//! | x86-64 Windows | unit tests, `conformance`, `gradient_bits`, `gradient`, `materialize` | under wine |
//! | wasm32-wasip1, where a panic ends the program | unit tests that neither panic nor use threads, `conformance`, `gradient_bits` | under node |
//! | aarch64 macOS | nothing: the library compiles without a warning | `cargo check` |
//!
//! `gradient_bits` compares sums with recorded bits: they are the same on every target where it
//! ran. `.ci/long-checks targets` runs all tests on Linux, and these on the others; one target:
//! `.ci/long-checks targets:s390x-unknown-linux-gnu`. The portable
//! code is compiled by `.ci/run` too, under `cfg(miri)`. The minimum version of Rust, 1.85.0, runs
//! the unit tests, `conformance` and `gradient_bits` (`.ci/long-checks msrv`).
//!
//! `.ci/long-checks environments` runs `gradient_bits`, `materialize` and `gradient` on x86-64
//! Linux: on one processor, with a fifth of one, with no second thread and with three, with
//! `madvise` and calls that set affinity or priority refused, with the latter deadly, with 2 GiB of
//! address space, and without `/proc` and `/sys`. In a test of `concurrency`, a limit of the
//! address space refuses outputs and the stacks of threads.
//!
//! A filter of system calls that kills a process at `madvise` ends it at its first fresh output of
//! 32 MiB; glibc calls `madvise` too, when a thread ends. Nothing was tried on a machine with more
//! than two processors or with more than one memory node, on a processor of another kind that is
//! not emulated, with musl, or on Android or a BSD.
//!
//! An aarch64 has its own code for `[N]` to `[N, n]` and for transposes, in vector registers.
//! WebAssembly has none: its assembly is not stable in Rust, and its vector intrinsics may not load
//! padding. Its copies and sums are the portable loops, which the compiler vectorises with
//! `-C target-feature=+simd128`.
