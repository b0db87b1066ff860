//! Model files: OpenVINO's operator Broadcast, ONNX's `Expand` and `Reduce*`, and functions for
//! other importers.
//!
//! An importer reads attributes as text and shapes as integer tensors, at run time. Use
//! [`openvino::Broadcast`](crate::openvino::Broadcast) for OpenVINO's operator,
//! [`onnx`](crate::onnx) for ONNX's, and
//! [`shape_from_integers`](crate::shape_from_integers),
//! [`axes_from_integers`](crate::axes_from_integers) and
//! [`expand_shape_from_integers`](crate::expand_shape_from_integers) with the methods of
//! [`BroadcastExt`](crate::BroadcastExt) for any other format. Where the axes are known at compile
//! time, call the methods directly: the code is shorter and the rank of the result is static.
//!
//! # OpenVINO Broadcast-1 and Broadcast-3
//!
//! The four layers of the specification's examples. The first call infers a shape, the others
//! return views:
//!
//! ```
//! use ndarray::{Array1, Array2, Array3, array};
//! use ndarray_broadcast::openvino::{Broadcast, Mode};
//!
//! let numpy = Broadcast::v3();
//! assert_eq!(
//!     numpy.infer_shape((16, 1, 1), &[1_i64, 16, 50, 50], None)?,
//!     [1, 16, 50, 50]
//! );
//!
//! let explicit = Broadcast::v3().with_mode("explicit".parse()?)?;
//! let data = Array1::from_iter(0..16);
//! let output = explicit.evaluate(
//!     &data,
//!     &array![1_i64, 16, 50, 50],
//!     Some(&array![1_i32]),
//! )?;
//! assert_eq!(output[[0, 7, 49, 3]], 7);
//! let data = Array2::<f32>::zeros((50, 50));
//! assert_eq!(
//!     explicit.evaluate(&data, &[1, 50, 50, 16], Some(&[1, 2]))?.strides(),
//!     [0, 50, 1, 0]
//! );
//!
//! let bidirectional = Broadcast::v3().with_mode(Mode::Bidirectional)?;
//! let data = Array3::<f32>::zeros((16, 1, 1));
//! assert_eq!(
//!     bidirectional.evaluate(&data, &[1_u8, 1, 50, 50], None)?.shape(),
//!     [1, 16, 50, 50]
//! );
//! # Ok::<(), ndarray_broadcast::BroadcastError>(())
//! ```
//!
//! The output shape and the plan need only the input's shape:
//!
//! ```
//! use ndarray::array;
//! use ndarray_broadcast::openvino::{Broadcast, Mode};
//!
//! let plan = Broadcast::v1().with_mode(Mode::Explicit)?.plan(
//!     3,
//!     &[2, 3, 4],
//!     Some(&[1]),
//! )?;
//! assert_eq!(plan.output_shape(), [2, 3, 4]);
//! assert_eq!(plan.view(&array![1, 2, 3].into_dyn())?.shape(), [2, 3, 4]);
//! # Ok::<(), ndarray_broadcast::BroadcastError>(())
//! ```
//!
//! For a scalar, `axes_mapping` is empty. [`openvino::Broadcast`](crate::openvino::Broadcast) also
//! accepts one entry, if that axis has size 1, as OpenVINO's current source does. OpenVINO's
//! release 2026.4.1 refuses it, and so does `broadcast_explicit`.
//!
//! ```
//! use ndarray::arr0;
//! use ndarray_broadcast::openvino::{Broadcast, Mode};
//! use ndarray_broadcast::prelude::*;
//!
//! let explicit = Broadcast::v3().with_mode(Mode::Explicit)?;
//! assert_eq!(explicit.evaluate(&arr0(7), &[2, 1], Some(&[1]))?.shape(), [2, 1]);
//! assert!(explicit.evaluate(&arr0(7), &[2, 3], Some(&[1])).is_err());
//! assert!(arr0(7).broadcast_explicit((2, 1), &[1]).is_err());
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! OpenVINO's elementwise operations have the attribute `auto_broadcast`: an
//! [`ElementwiseRule`](crate::ElementwiseRule), described at [`elementwise`](super::elementwise).
//! The example `openvino_ir` in the repository runs real models of such layers, and checks the
//! shapes that any OpenVINO file declares.
//!
//! # ONNX's operators
//!
//! [`onnx`](crate::onnx) has `Expand`, the `Reduce*` family, `ArgMax` and `ArgMin`. Shapes and axes
//! are tensors of integers, and negative axes count from the end. Attributes have the names and the
//! defaults of ONNX. The reduction is an argument; [a table](crate::onnx) has it for each operator:
//!
//! ```
//! use ndarray::{ArrayD, array};
//! use ndarray_broadcast::onnx::{Arg, Expand, IntegerTensor, Reduce};
//! use ndarray_broadcast::prelude::*;
//!
//! fn reduce(
//!     operator: &str,
//!     attributes: &[(&str, i64)],
//!     data: &ArrayD<f32>,
//!     axes: Option<&dyn IntegerTensor>,
//! ) -> Result<ArrayD<f32>, BroadcastError> {
//!     let mut node = Reduce::new();
//!     for &(name, value) in attributes {
//!         node = node.with_attribute(name, value)?;
//!     }
//!     match operator {
//!         "ReduceMax" => node.evaluate(data, axes, Max.or(f32::NEG_INFINITY)),
//!         "ReduceL2" => node.evaluate(data, axes, L2),
//!         // ...
//!         _ => node.evaluate(data, axes, Sum),
//!     }
//! }
//!
//! let data = array![[3., 4.], [6., 8.]].into_dyn();
//! let norms = reduce("ReduceL2", &[("keepdims", 0)], &data, Some(&[-1_i64]))?;
//! assert_eq!(norms, array![5., 10.].into_dyn());
//! let largest = reduce("ReduceMax", &[], &data, None)?;
//! assert_eq!(largest, array![[8.]].into_dyn());
//! let positions = Arg::min().axis(-1).keepdims(false).evaluate(&data)?;
//! assert_eq!(positions, array![0_i64, 0].into_dyn());
//!
//! let column = array![[1.], [2.], [3.]];
//! let output = Expand::new().evaluate(&column, &[2_i64, 1, 6])?;
//! assert_eq!(output.shape(), [2, 3, 6]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! Some exporters write -1 in the shape of `Expand`, for a size that is kept. ONNX does not have
//! it. It is an error, or allowed by
//! [`with_minus_one_as_keep`](crate::onnx::Expand::with_minus_one_as_keep):
//!
//! ```
//! use ndarray_broadcast::onnx::Expand;
//!
//! let expand = Expand::new();
//! assert_eq!(
//!     expand.infer_shape((4, 3), &[-1, 1]).unwrap_err().to_string(),
//!     "entry 0 is -1: a size must not be negative; -1 keeps the input's size \
//!      in broadcast_expand and onnx::Expand::with_minus_one_as_keep",
//! );
//! let lenient = expand.with_minus_one_as_keep();
//! assert_eq!(lenient.infer_shape((4, 3), &[-1, 1])?, [4, 3]);
//! # Ok::<(), ndarray_broadcast::BroadcastError>(())
//! ```
//!
//! # Attributes as text
//!
//! Each of these types parses its own names. The error of an unknown name lists the known ones. The
//! error of a name with a wrong list says what is wrong with the list:
//!
//! ```
//! use ndarray_broadcast::openvino::Mode;
//! use ndarray_broadcast::{BroadcastMode, ElementwiseRule};
//!
//! assert_eq!("NUMPY".parse(), Ok(Mode::Numpy));
//! assert_eq!(
//!     "in_dim(1, 2)".parse(),
//!     Ok(BroadcastMode::InDim { broadcast_dimensions: vec![1, 2] })
//! );
//! assert_eq!("pdpd(1)".parse(), Ok(ElementwiseRule::Pdpd { axis: 1 }));
//! assert_eq!(
//!     "same".parse::<ElementwiseRule>().unwrap_err().to_string(),
//!     "invalid elementwise rule \"same\": \
//!      expected none, numpy, pdpd(..), paddle(..) or xla(..)",
//! );
//! assert_eq!(
//!     "numpy(1)".parse::<BroadcastMode>().unwrap_err().to_string(),
//!     "invalid broadcast mode \"numpy(1)\": numpy takes no axes",
//! );
//! ```
//!
//! # Shapes known in part
//!
//! [`infer`](crate::openvino::Broadcast::infer) takes three arguments: what is known of the data's
//! shape, of the values of `target_shape`, and of the values of `axes_mapping`. OpenVINO's own
//! inference may return wider bounds, or accept values that never fit.
//!
//! ```
//! use ndarray_broadcast::openvino::Broadcast;
//! use ndarray_broadcast::infer::{PartialShape, PartialSize};
//!
//! let data = PartialShape::new([4]);
//! let target = PartialShape::new([PartialSize::ANY]);
//! assert_eq!(
//!     Broadcast::v3().infer(&data, &target, None)?,
//!     PartialShape::known(4)
//! );
//! # Ok::<(), ndarray_broadcast::BroadcastError>(())
//! ```
//!
//! # Errors
//!
//! The operator returns the errors of the mode's rule and five errors of its own: a missing third
//! input, an unexpected third input, a mode that the version does not have, a tensor whose rank is
//! not 1, a negative entry:
//!
//! ```
//! use ndarray::arr0;
//! use ndarray_broadcast::openvino::{Broadcast, Mode};
//!
//! let explicit = Broadcast::v1().with_mode(Mode::Explicit)?;
//! assert_eq!(
//!     explicit.infer_shape(3, &[2, 3, 4], None).unwrap_err().to_string(),
//!     "OpenVINO Broadcast-1 in mode \"explicit\" needs axes_mapping: \
//!      one target axis for each input axis",
//! );
//! assert_eq!(
//!     Broadcast::v1().infer_shape(3, &[3], Some(&[0])).unwrap_err().to_string(),
//!     "OpenVINO Broadcast-1 in mode \"numpy\" takes no axes_mapping: \
//!      drop it, or use mode \"explicit\"",
//! );
//! assert_eq!(
//!     Broadcast::v1().with_mode(Mode::Bidirectional).unwrap_err().to_string(),
//!     "OpenVINO Broadcast-1 has no mode \"bidirectional\": Broadcast-3 has it",
//! );
//! assert_eq!(
//!     explicit.infer_shape(3, &arr0(3), Some(&[0])).unwrap_err().to_string(),
//!     "sizes are of rank 1, but this tensor has the shape []",
//! );
//! assert_eq!(
//!     explicit.infer_shape(3, &[2, 3, 4], Some(&[-1])).unwrap_err().to_string(),
//!     "entry 0 is -1: an axis must not be negative",
//! );
//! # Ok::<(), ndarray_broadcast::BroadcastError>(())
//! ```
//!
//! # Gradient
//!
//! The plan of the operator has dynamic rank. Its gradient has, too:
//!
//! ```
//! use ndarray::{ArrayD, array};
//! use ndarray_broadcast::openvino::Broadcast;
//!
//! let plan = Broadcast::v3().plan((2, 1), &[2, 3], None)?;
//! assert_eq!(
//!     plan.gradient(&ArrayD::<f64>::ones(vec![2, 3]))?,
//!     array![[3.], [3.]].into_dyn()
//! );
//! # Ok::<(), ndarray_broadcast::BroadcastError>(())
//! ```
//!
//! # Sources
//!
//! - OpenVINO:
//!   [Broadcast-1](https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/broadcast-1.html),
//!   [Broadcast-3](https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/broadcast-3.html)
//! - ONNX: [Expand](https://onnx.ai/onnx/operators/onnx__Expand.html),
//!   [ReduceSum](https://onnx.ai/onnx/operators/onnx__ReduceSum.html),
//!   [ArgMax](https://onnx.ai/onnx/operators/onnx__ArgMax.html)
