//! What the crate's `unsafe` code relies on, where it is, and how it is checked.
//!
//! Safe code cannot make this crate read or write where it must not, whatever shapes, attributes, layouts, element types and closures
//! it passes. What would outlive its array, or alias an element that changes, does not compile:
//! [`BroadcastExt`](crate::BroadcastExt#what-the-compiler-refuses) shows how that looks.
//!
//! # Where `unsafe` is
//!
//! `#![deny(unsafe_code)]` holds for the crate; four modules lift it. Rules, plans, errors, pictures, modes, the OpenVINO operator, the
//! merging of axes (`materialize/layout.rs`) and the tree of additions (`gradient/tree.rs`) have none and cannot get any unnoticed.
//!
//! | where, in `src` | what for | what it relies on |
//! |---|---|---|
//! | `view.rs` | the pointer, shape and strides of a broadcast view | a plan: an output axis is walked along an input axis of its own size, or has stride 0, and sizes multiply to `isize::MAX` at most. One function makes plans and checks this for every rule, and for a plan that is deserialised |
//! | `materialize/` | moves elements between two arrays of one shape | both are valid ndarray arrays of the shape that was compared just before; the output is borrowed mutably, so the two do not overlap, and ndarray has no mutable view two of whose elements do; a fresh output has exactly as many elements as the shape |
//! | `elementwise/` | calls the closure on references to elements | the same; every thread has its own elements of the output, inputs are only read |
//! | `gradient/` | reads the cotangent, writes each sum once | the same; a plan's kept and replicated axes together are the cotangent's axes, so every term is read for one sum only |
//! | `engine/threads.rs` | lends a closure to helper threads for the time of one call | the caller takes the job away and waits until the count of running helpers is 0 before it returns or unwinds; a helper copies the job and counts itself in while it holds the same lock |
//!
//! Everything goes through the rules of ndarray's own types: no pointer comes from anywhere but an array or a fresh `Vec`.
//!
//! # Bytes that may not be read
//!
//! An element may have padding, which is uninitialised: to load it as an integer is undefined in Rust. So elements are moved as what
//! they are, by `memcpy`, or by assembly (`memory.rs`, `expand.rs`), to which uninitialised bytes are no different. Elements are never
//! looked at, compared or made up, except by the caller's closure and by the caller's `Add` and `Zero`.
//!
//! # Panics and threads
//!
//! Library code has no panic that a caller's argument reaches; what refuses is an error. A closure, an addition or a `Zero::zero` of
//! the caller's may panic: then no further part is begun, the panic goes on in the caller once all threads have let go of the arrays,
//! streaming stores are fenced, and elements of a fresh output that were made are dropped once. (Integer sums overflow as `+` does:
//! with a panic where overflow checks are on.) Existing outputs then hold old and new elements, all valid.
//!
//! Only `Send` elements are moved to, and only `Sync` ones are shared with, other threads; the closure must be `Sync`. Calls may be
//! nested in each other and made from any thread: of any rayon pool, from a destructor, while panicking, when the process exits. Where
//! the system has no threads to give, the caller does all.
//!
//! A thread that waits for the helpers of its call is parked and runs no other job of its pool. So a lock may be held, or a
//! `RefCell` borrowed, around a call. A closure must not wait for all threads of the pool at once, as `rayon::broadcast` does:
//! the caller may be parked until the closure returns.
//!
//! # Memory
//!
//! Sizes are multiplied with checks before anything is allocated, and what was refused comes back as
//! [`AllocationFailed`](crate::BroadcastError::AllocationFailed): outputs, scratch memory of gradients, shapes inside errors. Some small
//! allocations end the process if they are refused, as everywhere in Rust's standard library: ndarray's, of a shape of dynamic rank
//! above 4 (some bytes for each axis); rayon's, of its pool and of a job for a helper (some dozens of bytes, for outputs of 512 KiB and
//! more, beside them this crate's own state of a call, once for each calling thread); the labels in the picture of an error
//! between more than two arrays; and those of serde, where plans are written and read.
//!
//! # How it is checked
//!
//! In the repository:
//!
//! - `unsafe_op_in_unsafe_fn`, `clippy::undocumented_unsafe_blocks` and `clippy::multiple_unsafe_ops_per_block` are denied: each
//!   operation stands alone with what ensures it.
//! - Every fast path against an oracle that goes index by index: all layouts, elements of 0 to 2000 bytes and alignments up to 128, with
//!   streaming forced on and off and parts as small as a cache line (`src/materialize/tests.rs`); all rules over all small shapes
//!   (`tests/rules.rs`), thousands of answers of real implementations (`tests/conformance.rs`).
//! - Six fuzz targets under AddressSanitizer, with guard elements around the outputs that they have written (`fuzz/`).
//! - Each allocation refused in turn (`tests/failure_injection.rs`); closures that panic at every position, elements that count their
//!   drops (`tests/elementwise.rs`, `tests/gradient.rs`); 64 threads, pools of 1 to 40, calls within calls, destructors, exit
//!   (`tests/concurrency.rs`).
//! - `.ci/long-checks`: all tests under AddressSanitizer, the kernels' under valgrind, all with overflow checks in optimised code, and
//!   on one and on sixteen threads; and a model of the threads' protocol in every order of its steps (`loom`).
//! - ThreadSanitizer needs a standard library built for it (`-Z build-std`); without, it reports races inside that library.
//! - Miri does not run the assembly: under it (`cfg(miri)`) plain copies stand in.
