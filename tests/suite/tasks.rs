//! Twelve tasks of users, in the words of the README and the documentation.

use ndarray::{
    Array, Array1, Array2, Array3, Array4, ArrayD, ArrayView, ArrayViewD, DimMax, Dimension, Ix1,
    IxDyn, array,
};
use ndarray_broadcast::prelude::*;
use ndarray_broadcast::shape_from_integers;

type Done<T = ()> = Result<T, BroadcastError>;

fn counting<D: Dimension>(shape: impl ndarray::ShapeBuilder<Dim = D>) -> Array<f64, D> {
    let mut next = 0.;
    Array::from_shape_simple_fn(shape, || {
        next += 1.;
        (next * 0.7_f64).sin()
    })
}

fn close<D: Dimension>(a: &Array<f64, D>, b: &Array<f64, D>) -> bool {
    a.shape() == b.shape() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12)
}

#[test]
fn a_bias_is_added_to_images_in_place() -> Done {
    let mut images = Array4::<f32>::ones((2, 3, 4, 4));
    let bias = array![1., 2., 3.];
    zip(bias.broadcast_explicit(images.raw_dim(), &[1])?).update(&mut images, |x, b| *x += b)?;
    assert_eq!(images[[1, 2, 3, 3]], 4.);
    Ok(())
}

#[test]
fn layer_norm_has_gradients() -> Done {
    let (x, dy) = (counting((4, 5)), counting((4, 5)).mapv(|x| x * x));
    let (scale, shift) = (counting(5), counting(5));
    let mean = x.reduce_axes_keepdims(-1, Mean)?;
    let var = x.reduce_axes_keepdims(-1, Var::new())?;
    let normal =
        zip((&x, &mean, &var)).map_collect(|(x, mean, var)| (x - mean) / (var + 1e-5).sqrt())?;
    let y = zip((&normal, &scale, &shift)).map_collect(|(x, scale, shift)| x * scale + shift)?;

    let columns = BroadcastPlan::numpy(5, (4, 5))?;
    let rows = BroadcastPlan::over_axes(x.raw_dim(), -1)?;
    let d_shift = columns.gradient(&dy)?;
    let d_scale = zip((&dy, &normal)).reduce(&columns, Sum, |(dy, x)| dy * x)?;
    let d_normal = zip((&dy, &scale)).map_collect(|(dy, scale)| dy * scale)?;
    let mean_d = rows.reduce(&d_normal, Mean)?;
    let mean_dx = zip((&d_normal, &normal)).reduce(&rows, Mean, |(d, x)| d * x)?;
    let dx = zip((&d_normal, &normal, &mean_d, &mean_dx, &var)).map_collect(
        |(d, x, mean_d, mean_dx, var)| (d - mean_d - x * mean_dx) / (var + 1e-5).sqrt(),
    )?;

    assert!(close(&d_shift, &dy.sum_axis(ndarray::Axis(0))));
    assert!(close(&d_scale, &(&dy * &normal).sum_axis(ndarray::Axis(0))));
    // A shift and a scale of a row change nothing.
    assert!(
        dx.sum_axis(ndarray::Axis(1))
            .iter()
            .all(|sum| sum.abs() < 1e-12)
    );
    assert_eq!(y.dim(), dx.dim());
    Ok(())
}

#[test]
fn masked_softmax_ignores_what_is_masked() -> Done {
    let scores = counting((2, 3, 4));
    let mask = array![[true, true, false, true], [true, false, false, true]]; // [N, K]
    let mask = mask.broadcast_explicit((2, 3, 4), &[0, 2])?;
    let masked =
        zip((&scores, mask)).map_collect(|(x, keep)| if keep { x } else { f64::NEG_INFINITY })?;
    let sum = masked.reduce_axes_keepdims(-1, LogSumExp)?;
    let softmax = zip((&masked, &sum)).map_collect(|(x, sum)| (x - sum).exp())?;
    assert!(
        softmax
            .reduce_axes(-1, Sum)?
            .iter()
            .all(|sum| (sum - 1.).abs() < 1e-12)
    );
    assert_eq!(softmax[[0, 1, 2]], 0.);
    assert_eq!(softmax[[1, 0, 1]], 0.);
    Ok(())
}

/// ONNX `Expand`.
fn expand<'a>(data: &'a ArrayD<f32>, shape: &Array1<i64>) -> Done<ArrayViewD<'a, f32>> {
    data.broadcast_bidirectional(shape_from_integers(shape)?)
}

#[test]
fn expand_takes_a_tensor_of_i64() -> Done {
    let data = array![[1.], [2.]].into_dyn();
    assert_eq!(expand(&data, &array![3, 1, 2])?.shape(), [3, 2, 2]);
    assert!(expand(&data, &array![-1, 2]).is_err());
    Ok(())
}

#[test]
fn an_outer_product_is_taken_by_explicit_axes() -> Done {
    let (a, b) = (array![1, 2], array![10, 20, 30]);
    let product = zip((
        a.broadcast_explicit((2, 3), &[0])?,
        b.broadcast_explicit((2, 3), &[1])?,
    ))
    .map_collect(|(a, b)| a * b)?;
    assert_eq!(product, array![[10, 20, 30], [20, 40, 60]]);
    Ok(())
}

#[test]
fn bytes_of_an_image_become_floats_by_channel() -> Done {
    let image = Array3::from_shape_fn((2, 2, 3), |(y, x, c)| (100 * c + 10 * y + x) as u8);
    let (mean, std) = (array![0.5, 0.25, 0.], array![0.5, 1., 2.]);
    let normal = zip((&image, &mean, &std))
        .map_collect(|(x, mean, std)| (f32::from(x) / 255. - mean) / std)?;
    let chw = normal.permuted_axes([2, 0, 1]).materialize()?;
    assert_eq!(chw.dim(), (3, 2, 2));
    assert!(chw.is_standard_layout());
    assert_eq!(chw[[2, 1, 0]], 210. / 255. / 2.);
    Ok(())
}

#[test]
fn paddle_adds_two_arrays() -> Done {
    let x = Array4::<f32>::ones((2, 3, 4, 5));
    let y = Array2::<f32>::ones((3, 1));
    let sum =
        zip(broadcast_pair(&x, &y, ElementwiseRule::paddle(1))?).map_collect(|(x, y)| x + y)?;
    assert_eq!(sum.dim(), (2, 3, 4, 5));
    Ok(())
}

#[test]
fn strings_are_copied_and_joined() -> Done {
    let names = array!["a".to_string(), "b".to_string()];
    let copies = names.broadcast_numpy((3, 2))?.materialize_cloned()?;
    assert_eq!(copies[[2, 1]], "b");
    let columns = array![["x".to_string()], ["y".to_string()]];
    let joined = zip((&columns, &names)).map_collect_ref(|(x, name)| format!("{x}{name}"))?;
    assert_eq!(joined[[1, 0]], "ya");
    Ok(())
}

/// Of any rank.
fn scaled<D>(x: ArrayView<'_, f64, D>, scale: &Array1<f64>) -> Done<Array<f64, D>>
where
    D: Dimension + DimMax<Ix1, Output = D>,
{
    zip((&x, scale)).map_collect(|(x, scale)| x * scale)
}

#[test]
fn a_function_takes_any_rank() -> Done {
    let scale = array![2., 3.];
    assert_eq!(scaled(array![1., 1.].view(), &scale)?, array![2., 3.]);
    assert_eq!(scaled(array![[1., 1.]].view(), &scale)?, array![[2., 3.]]);
    let dynamic = array![[1., 1.]].into_dyn();
    assert_eq!(scaled(dynamic.view(), &scale)?.shape(), [1, 2]);
    Ok(())
}

#[test]
fn bytes_have_positions_and_means() -> Done {
    let x = array![[1_u8, 9, 2], [255, 254, 255]];
    assert_eq!(x.reduce_axes(1, ArgMax)?, array![1, 0]);
    assert_eq!(x.reduce_axes(1, Mean)?, array![4_u8, 254]);
    let mean = x.reduce_axes(1, Mean.in_type::<f64, f64>())?;
    assert_eq!(mean, array![4., 764. / 3.]);
    Ok(())
}

#[test]
fn columns_are_standardised() -> Done {
    let x = counting((6, 3));
    let mean = x.reduce_axes(0, Mean)?;
    let std = x.reduce_axes(0, Std::new().ddof(1))?;
    let z = zip((&x, &mean, &std)).map_collect(|(x, mean, std)| (x - mean) / std)?;
    assert!(close(&z.reduce_axes(0, Mean)?, &Array1::zeros(3)));
    assert!(close(
        &z.reduce_axes(0, Std::new().ddof(1))?,
        &Array1::ones(3)
    ));
    Ok(())
}

/// The gradient of a broadcast by NumPy's rule.
fn unbroadcast(dy: &ArrayD<f64>, shape: &[usize]) -> Done<ArrayD<f64>> {
    dy.reduce_to_shape(IxDyn(shape), Sum)
}

#[test]
fn a_gradient_of_dynamic_rank_is_unbroadcast() -> Done {
    let dy = ArrayD::ones(vec![2, 3, 4]);
    assert_eq!(
        unbroadcast(&dy, &[3, 1])?,
        ArrayD::from_elem(vec![3, 1], 8.)
    );
    assert!(unbroadcast(&dy, &[2, 1]).is_err());
    Ok(())
}
