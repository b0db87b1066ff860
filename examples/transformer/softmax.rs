//! The softmax of attention scores, in place.
//!
//! ```text
//! s = x * scale where keep[b, k] and k <= q, else -inf      x is [B, H, G, Q, K]
//! w = exp(s - max) / sum(exp(s - max))                      max and sum over K
//! ```

use ndarray::{Array1, Array2, Array5, Axis, Ix5};
use ndarray_broadcast::prelude::*;

/// Replaces scores by weights. `keep[b, k]` is false where token k of sequence b is padding. A
/// query that sees no key gets NaN, as in torch.
pub fn masked_softmax(
    scores: &mut Array5<f64>,
    keep: &Array2<bool>,
    scale: f64,
) -> Result<(), BroadcastError> {
    // No array of the scores' shape holds the mask: two arrays [Q, 1] and [K], and a view of `keep`
    // [B, K] whose other strides are 0.
    let key = Array1::from_iter(0..keep.ncols());
    let query = key.view().insert_axis(Axis(1));
    let keep = keep.broadcast_explicit(scores.raw_dim(), &[0, 4])?;
    zip((keep, query, &key)).update(scores, |score, (keep, query, key)| {
        *score = match keep && key <= query {
            true => *score * scale,
            false => f64::NEG_INFINITY,
        }
    })?;

    let rows = per_query(scores)?;
    let max = rows.reduce(scores, Max)?;
    let sum = zip((&*scores, &max)).reduce(&rows, Sum, |(score, max)| (score - max).exp())?;
    zip((&max, &sum)).update(scores, |score, (max, sum)| {
        *score = (*score - max).exp() / sum
    })
}

/// Replaces `d`, the gradient of the weights, by that of the scores. Where the weight is 0, so is
/// the gradient: the mask is not needed again.
pub fn softmax_backward(
    weights: &Array5<f64>,
    d: &mut Array5<f64>,
    scale: f64,
) -> Result<(), BroadcastError> {
    let sum = zip((&*d, weights)).reduce(&per_query(d)?, Sum, |(d, weight)| d * weight)?;
    zip((weights, &sum)).update(d, |d, (weight, sum)| *d = scale * weight * (*d - sum))
}

/// `[B, H, G, Q, 1] -> [B, H, G, Q, K]`.
fn per_query(scores: &Array5<f64>) -> Result<BroadcastPlan<Ix5, Ix5>, BroadcastError> {
    let mut one = scores.raw_dim();
    one[4] = 1;
    BroadcastPlan::numpy(one, scores.raw_dim())
}
