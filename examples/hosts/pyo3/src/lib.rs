//! A Python module on numpy arrays. Arrays of Python are read and written where they are; results
//! are moved to Python, not copied. The interpreter is released while this crate computes.

use ndarray_broadcast::prelude::*;
use numpy::{IntoPyArray, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyReadwriteArrayDyn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The picture of the mismatch is the message of a `ValueError`.
fn value_error(error: BroadcastError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// `a` broadcast to `shape` under a mode such as `numpy` or `explicit(1)`: a read-only view, as of
/// `numpy.broadcast_to`.
#[pyfunction]
#[pyo3(signature = (a, shape, mode = "numpy"))]
fn broadcast<'py>(
    a: &Bound<'py, PyArrayDyn<f32>>,
    shape: Vec<usize>,
    mode: &str,
) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
    let mode: BroadcastMode = mode.parse().map_err(value_error)?;
    let array = a.try_readonly()?;
    let view = array.as_array();
    let view = view.broadcast_to_mode(shape, mode).map_err(value_error)?;
    // SAFETY: the view points into `a`, which is the base of the result and outlives it.
    let result = unsafe { PyArrayDyn::borrow_from_array(&view, a.clone().into_any()) };
    // Elements of the view share memory: as in numpy, nobody may write to them.
    result.getattr("flags")?.setattr("writeable", false)?;
    Ok(result)
}

/// Writes `x + bias` into `out`, where `bias` has one value for each index of the axis `channel`.
#[pyfunction]
fn add_bias(
    py: Python<'_>,
    x: PyReadonlyArrayDyn<'_, f32>,
    bias: PyReadonlyArrayDyn<'_, f32>,
    channel: usize,
    mut out: PyReadwriteArrayDyn<'_, f32>,
) -> PyResult<()> {
    let (x, bias, mut out) = (x.as_array(), bias.as_array(), out.as_array_mut());
    let channel = ElementwiseRule::channel(channel);
    let views = broadcast_pair(&x, &bias, channel).map_err(value_error)?;
    py.detach(|| zip(views).map_assign_into(&mut out, |(x, b)| x + b))
        .map_err(value_error)
}

/// The sum of `a` to `shape`, torch's `sum_to_size`.
#[pyfunction]
fn sum_to_shape<'py>(
    py: Python<'py>,
    a: PyReadonlyArrayDyn<'py, f32>,
    shape: Vec<usize>,
) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
    let array = a.as_array();
    let sum = py
        .detach(|| array.reduce_to_shape(shape, Sum))
        .map_err(value_error)?;
    Ok(sum.into_pyarray(py))
}

/// Broadcasts of numpy arrays.
#[pymodule]
fn broadcasts(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(broadcast, module)?)?;
    module.add_function(wrap_pyfunction!(add_bias, module)?)?;
    module.add_function(wrap_pyfunction!(sum_to_shape, module)?)
}
