//! A network with one hidden layer, and its gradient. N rows, D features, H hidden units, K
//! classes.
//!
//! ```text
//! product = x . weights_in                  [N, D] . [D, H]    -> [N, H]
//! hidden  = tanh(scale * product + shift)   [H] -> [N, H]
//! logits  = hidden . weights_out + bias     [N, H] . [H, K], and [K] -> [N, K]
//! loss    = mean over N of -ln(softmax(logits)[class])
//! ```

use crate::random::Random;
use ndarray::{Array, Array1, Array2, ArrayViewD, ArrayViewMutD, Axis};
use ndarray_broadcast::prelude::*;

/// The parameters; also the gradient of the loss with respect to them, which has the same shapes.
#[derive(Clone, Debug)]
pub struct Network {
    pub weights_in: Array2<f64>,  // [D, H]
    pub scale: Array1<f64>,       // [H]
    pub shift: Array1<f64>,       // [H]
    pub weights_out: Array2<f64>, // [H, K]
    pub bias: Array1<f64>,        // [K]
}

impl Network {
    /// Random weights, scaled so that no layer amplifies its input.
    pub fn new(features: usize, hidden: usize, classes: usize, random: &mut Random) -> Self {
        let mut weights = |from: usize, to: usize| {
            let size = (3. / from as f64).sqrt();
            Array2::from_shape_simple_fn((from, to), || size * (2. * random.unit() - 1.))
        };
        Network {
            weights_in: weights(features, hidden),
            scale: Array1::ones(hidden),
            shift: Array1::zeros(hidden),
            weights_out: weights(hidden, classes),
            bias: Array1::zeros(classes),
        }
    }

    /// The logits of each row, `[N, K]`. Also product and hidden, the intermediate results `[N,
    /// H]`.
    pub fn forward(&self, x: &Array2<f64>) -> Result<[Array2<f64>; 3], BroadcastError> {
        let product = x.dot(&self.weights_in);
        // [H] and [H] -> [N, H]
        let hidden = zip((&product, &self.scale, &self.shift))
            .map_collect(|(product, scale, shift)| (scale * product + shift).tanh())?;
        let mut logits = hidden.dot(&self.weights_out);
        // [K] -> [N, K]
        zip(&self.bias).update(&mut logits, |logit, bias| *logit += bias)?;
        Ok([logits, hidden, product])
    }

    /// The loss and its gradient.
    pub fn gradient(
        &self,
        x: &Array2<f64>,
        classes: &Array1<usize>,
    ) -> Result<(f64, Network), BroadcastError> {
        let [logits, hidden, product] = self.forward(x)?;
        let (loss, d_logits) = cross_entropy(&logits, classes)?;

        // The bias is broadcast, [K] -> [N, K]. So its gradient is a sum, [N, K] -> [K].
        let bias = d_logits.reduce_to_shape(self.bias.raw_dim(), Sum)?;
        let weights_out = hidden.t().dot(&d_logits);
        let mut d_inner = d_logits.dot(&self.weights_out.t()); // of tanh's argument, [N, H]
        zip(&hidden).update(&mut d_inner, |d, hidden| *d *= 1. - hidden * hidden)?;

        // The same for [H] -> [N, H], with the plan of that broadcast.
        let plan = BroadcastPlan::numpy(self.shift.raw_dim(), d_inner.raw_dim())?;
        let shift = plan.gradient(&d_inner)?;
        let scale = zip((&d_inner, &product)).reduce(&plan, Sum, |(d, product)| d * product)?;
        zip(&self.scale).update(&mut d_inner, |d, scale| *d *= scale)?;
        let weights_in = x.t().dot(&d_inner);

        let gradient = Network {
            weights_in,
            scale,
            shift,
            weights_out,
            bias,
        };
        Ok((loss, gradient))
    }

    /// The loss without its gradient.
    pub fn loss(&self, x: &Array2<f64>, classes: &Array1<usize>) -> Result<f64, BroadcastError> {
        let [logits, ..] = self.forward(x)?;
        Ok(cross_entropy(&logits, classes)?.0)
    }

    /// For each row the class whose logit is the largest, `[N]`.
    pub fn predict(&self, x: &Array2<f64>) -> Result<Array1<usize>, BroadcastError> {
        let [logits, ..] = self.forward(x)?;
        BroadcastPlan::explicit(logits.nrows(), logits.raw_dim(), &[0])?.reduce(&logits, ArgMax)
    }

    /// A step of gradient descent.
    pub fn step(&mut self, gradient: &Network, rate: f64) -> Result<(), BroadcastError> {
        for ((_, mut parameter), (_, d)) in
            self.parameters_mut().into_iter().zip(gradient.parameters())
        {
            zip(d).update(&mut parameter, |p, d| *p -= rate * d)?;
        }
        Ok(())
    }

    /// The parameters by name.
    pub fn parameters(&self) -> [(&'static str, ArrayViewD<'_, f64>); 5] {
        [
            ("weights_in", self.weights_in.view().into_dyn()),
            ("scale", self.scale.view().into_dyn()),
            ("shift", self.shift.view().into_dyn()),
            ("weights_out", self.weights_out.view().into_dyn()),
            ("bias", self.bias.view().into_dyn()),
        ]
    }

    /// The parameters by name, mutable.
    pub fn parameters_mut(&mut self) -> [(&'static str, ArrayViewMutD<'_, f64>); 5] {
        [
            ("weights_in", self.weights_in.view_mut().into_dyn()),
            ("scale", self.scale.view_mut().into_dyn()),
            ("shift", self.shift.view_mut().into_dyn()),
            ("weights_out", self.weights_out.view_mut().into_dyn()),
            ("bias", self.bias.view_mut().into_dyn()),
        ]
    }
}

/// The mean of `-ln(softmax(logits)[class])` over the rows, and its gradient with respect to the
/// logits, `[N, K]`.
fn cross_entropy(
    logits: &Array2<f64>,
    classes: &Array1<usize>,
) -> Result<(f64, Array2<f64>), BroadcastError> {
    let rows = logits.nrows() as f64;
    // Two columns [N, 1]: the largest logit of each row, which prevents overflow of exp, and the
    // sum of the exps.
    let column = (logits.nrows(), 1);
    let largest = logits.reduce_to_shape(column, Max)?;
    let sums = zip((logits, &largest)).reduce(
        &BroadcastPlan::numpy(column, logits.raw_dim())?,
        Sum,
        |(logit, max)| (logit - max).exp(),
    )?;
    // [N, K] with [N, 1] and [N, 1]
    let log_softmax =
        zip((logits, &largest, &sums)).map_collect(|(logit, max, sum)| logit - max - sum.ln())?;

    // [N, 1] with [K]: 1 where k is the row's class.
    let classes = classes.view().insert_axis(Axis(1));
    let every = Array::from_iter(0..logits.ncols());
    let is_class = zip((&classes, &every)).map_collect(|(class, k)| f64::from(class == k))?;

    let loss = zip((&log_softmax, &is_class))
        .reduce(
            &BroadcastPlan::numpy((), logits.raw_dim())?,
            Sum,
            |(log, is)| -log * is / rows,
        )?
        .into_scalar();
    let gradient = zip(broadcast_pair(
        &log_softmax,
        &is_class,
        ElementwiseRule::None,
    )?)
    .map_collect(|(log, is)| (log.exp() - is) / rows)?;
    Ok((loss, gradient))
}
