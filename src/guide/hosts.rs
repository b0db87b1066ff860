//! Hosts: slices, Python and ONNX Runtime.
//!
//! The views of this crate are ndarray's. A library whose interface has other types wraps them as
//! follows, without a copy where the memory layouts allow it.
//!
//! # Slices
//!
//! A crate that keeps ndarray out of its interface takes elements as slices, and shapes and strides
//! as lists. [`copy_slice`](crate::BroadcastPlan::copy_slice) copies whole slices,
//! [`copy_strided`](crate::BroadcastPlan::copy_strided) slices with strides. The memory of the
//! result is the caller's and may be uninitialised.
//!
//! ```
//! use ndarray_broadcast::{BroadcastError, BroadcastPlan};
//! use std::mem::MaybeUninit;
//!
//! /// A tensor of some other crate: elements, a shape, strides in elements.
//! struct Tensor<'a> {
//!     data: &'a [f32],
//!     shape: &'a [usize],
//!     strides: &'a [isize],
//! }
//!
//! /// Writes `tensor`, broadcast to `shape`, in row-major order.
//! fn expand_into(
//!     tensor: &Tensor<'_>,
//!     shape: &[usize],
//!     out: &mut [MaybeUninit<f32>],
//! ) -> Result<(), BroadcastError> {
//!     let plan = BroadcastPlan::numpy(tensor.shape, shape)?;
//!     let mut strides = vec![1_isize; shape.len()];
//!     for axis in (1..shape.len()).rev() {
//!         strides[axis - 1] = strides[axis] * shape[axis] as isize;
//!     }
//!     plan.copy_strided(tensor.data, tensor.strides, out, &strides)
//! }
//!
//! // The transpose of a matrix [2, 3] in row-major order, stacked twice.
//! let tensor = Tensor { data: &[1., 2., 3., 4., 5., 6.], shape: &[3, 2], strides: &[1, 3] };
//! let mut out = [MaybeUninit::uninit(); 12];
//! expand_into(&tensor, &[2, 3, 2], &mut out)?;
//! // SAFETY: `copy_strided` has initialised the 12 elements.
//! let out = out.map(|element| unsafe { element.assume_init() });
//! assert_eq!(out, [1., 4., 2., 5., 3., 6., 1., 4., 2., 5., 3., 6.]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! Large copies run on the current rayon pool. To choose the threads, call them inside
//! `ThreadPool::install`, or turn the feature `rayon` off.
