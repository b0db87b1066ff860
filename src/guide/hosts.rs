//! Hosts: slices, Python and ONNX Runtime.
//!
//! This page shows how to use the crate with array types that are not ndarray's. Nothing is copied
//! where the memory layouts allow it.
//!
//! # Slices
//!
//! A crate that keeps ndarray out of its interface takes elements as slices, and shapes and strides
//! as lists. [`copy_slice`](crate::BroadcastPlan::copy_slice) copies slices with any strides, or
//! without strides in row-major order. The caller provides the memory of the result, which may be
//! uninitialised.
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
//!     BroadcastPlan::numpy(tensor.shape, shape)?
//!         .copy_slice(tensor.data, Some(tensor.strides), out, None)
//! }
//!
//! // The transpose of a matrix [2, 3] in row-major order, stacked twice.
//! let tensor = Tensor {
//!     data: &[1., 2., 3., 4., 5., 6.],
//!     shape: &[3, 2],
//!     strides: &[1, 3],
//! };
//! let mut out = [MaybeUninit::uninit(); 12];
//! expand_into(&tensor, &[2, 3, 2], &mut out)?;
//! // SAFETY: `copy_slice` has initialised the 12 elements.
//! let out = out.map(|element| unsafe { element.assume_init() });
//! assert_eq!(out, [1., 4., 2., 5., 3., 6., 1., 4., 2., 5., 3., 6.]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! `copy_slice` writes into `&mut [MaybeUninit<T>]`. To write into an ordinary slice `&mut [T]`,
//! make a view of ndarray from it. No `unsafe` is needed:
//!
//! ```
//! use ndarray::{ArrayView, ArrayViewMut};
//! use ndarray_broadcast::prelude::*;
//!
//! let plan = BroadcastPlan::numpy(2, (3, 2))?;
//! let (data, mut out) = ([1., 2.], [0.; 6]);
//! let input = ArrayView::from_shape(plan.input_dim(), &data)?;
//! let mut view = ArrayViewMut::from_shape(plan.output_dim(), &mut out)?;
//! plan.view(input)?.materialize_into(&mut view)?;
//! assert_eq!(out, [1., 2., 1., 2., 1., 2.]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Positive strides are passed with the shape: `plan.output_dim().strides(..)`, with ndarray's
//! `ShapeBuilder`. `invert_axis` of the view makes a stride negative.
//!
//! Large copies run on the current rayon pool. To choose the threads, call these methods inside
//! `ThreadPool::install`, or turn the feature `rayon` off.
//!
//! # Python, with PyO3 and `numpy`
//!
//! The crate `numpy` gives ndarray views of Python's arrays. So arrays are read and written in
//! place, in any layout. The functions below are from the crate `examples/hosts/pyo3` in the
//! repository. Its test compares them with numpy. The first function makes the error's picture the
//! message of a `ValueError`:
//!
//! ```text
//! fn value_error(error: BroadcastError) -> PyErr {
//!     PyValueError::new_err(error.to_string())
//! }
//! ```
//!
//! The second returns a view of Python's array. As with `numpy.broadcast_to`, the view is
//! read-only. The array is the base of the view, so its memory stays alive:
//!
//! ```text
//! #[pyfunction]
//! #[pyo3(signature = (a, shape, mode = "numpy"))]
//! fn broadcast<'py>(
//!     a: &Bound<'py, PyArrayDyn<f32>>,
//!     shape: Vec<usize>,
//!     mode: &str,
//! ) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
//!     let mode: BroadcastMode = mode.parse().map_err(value_error)?;
//!     let array = a.try_readonly()?;
//!     let view = array.as_array();
//!     let view = view.broadcast_to_mode(shape, mode).map_err(value_error)?;
//!     // SAFETY: the view points into `a`, which is the base of the result and outlives it.
//!     let result = unsafe { PyArrayDyn::borrow_from_array(&view, a.clone().into_any()) };
//!     // Elements of the view share memory: as in numpy, nobody may write to them.
//!     result.getattr("flags")?.setattr("writeable", false)?;
//!     Ok(result)
//! }
//! ```
//!
//! The third writes into an array of Python. While it computes, other Python threads can run:
//!
//! ```text
//! #[pyfunction]
//! fn add_bias(
//!     py: Python<'_>,
//!     x: PyReadonlyArrayDyn<'_, f32>,
//!     bias: PyReadonlyArrayDyn<'_, f32>,
//!     channel: usize,
//!     mut out: PyReadwriteArrayDyn<'_, f32>,
//! ) -> PyResult<()> {
//!     let (x, bias, mut out) = (x.as_array(), bias.as_array(), out.as_array_mut());
//!     let channel = ElementwiseRule::channel(channel);
//!     let views = broadcast_pair(&x, &bias, channel).map_err(value_error)?;
//!     py.detach(|| zip(views).map_assign_into(&mut out, |(x, b)| x + b))
//!         .map_err(value_error)
//! }
//! ```
//!
//! An owned array is moved to Python, not copied, by `sum.into_pyarray(py)`.
//!
//! # ONNX Runtime, with `ort`
//!
//! ONNX Runtime takes and returns tensors as slices in row-major order. Preprocessing writes
//! directly into the memory of the input, and postprocessing reads the output where it is. The code
//! is from `examples/hosts/ort`, which runs a model. `ort` may use another version of ndarray than
//! this crate. Slices work with every version.
//!
//! ```text
//! // Before the model: [N, C, H, W] + [C], into the input.
//! let shape = images.raw_dim();
//! let mut input = Tensor::<f32>::new(&Allocator::default(), images.shape())?;
//! let (_, memory) = input.extract_tensor_mut();
//! let mut memory = ArrayViewMut::from_shape(shape, memory)?;
//! let channel = ElementwiseRule::channel(1);
//! zip(broadcast_pair(&images, &bias, channel)?).map_assign_into(&mut memory, |(x, b)| x + b)?;
//!
//! let outputs = session.run(ort::inputs!["x" => input])?;
//! ```
//!
//! ```text
//! // After the model: [N, C] to [N, C, H, W], not copied.
//! let (sizes, means) = outputs["y"].try_extract_tensor::<f32>()?;
//! let sizes: Vec<usize> = sizes.iter().map(|&size| size as usize).collect();
//! let means: ArrayViewD<'_, f32> = ArrayView::from_shape(sizes, means)?;
//! let means = means.into_dimensionality::<Ix2>()?;
//! let wide = means.broadcast_explicit(shape, &[0, 1])?;
//! zip(&wide).update(&mut images, |x, mean| *x -= mean)?;
//! ```
//!
//! To pass a broadcast view to another model, copy it once, into the input of that model:
//! `view.materialize_into(&mut input)`.
