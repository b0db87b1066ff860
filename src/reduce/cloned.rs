//! Sums of elements that are `Clone` and not `Copy`.

use crate::engine::memory::array_of;
use crate::error::{ArrayRole, BroadcastError, check_shape};
use crate::plan::{AxisSource, BroadcastPlan};
use ndarray::{Array, ArrayRef, Dimension, IxDyn};
use num_traits::Zero;

/// # Elements that are not `Copy`
impl<I: Dimension, O: Dimension> BroadcastPlan<I, O> {
    /// [`gradient`](Self::gradient) for elements that are `Clone` and not `Copy`, such as integers
    /// of any size.
    ///
    /// Each term is cloned once. The terms of a result are added one after the other, in order, on
    /// the calling thread.
    ///
    /// # Errors
    ///
    /// Those of [`gradient`](Self::gradient).
    ///
    /// # Panics
    ///
    /// Only if `clone` or the addition does.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::{Array2, array};
    /// use ndarray_broadcast::BroadcastPlan;
    /// use num_traits::Zero;
    ///
    /// /// Decimal digits, the last first.
    /// #[derive(Clone, Debug, PartialEq)]
    /// struct Digits(Vec<u8>);
    ///
    /// impl std::ops::Add for Digits {
    ///     type Output = Digits;
    ///
    ///     fn add(self, other: Digits) -> Digits {
    ///         let digit = |digits: &Digits, i| *digits.0.get(i).unwrap_or(&0);
    ///         let (mut sum, mut carry) = (Vec::new(), 0);
    ///         for i in 0..self.0.len().max(other.0.len()) {
    ///             carry += digit(&self, i) + digit(&other, i);
    ///             sum.push(carry % 10);
    ///             carry /= 10;
    ///         }
    ///         sum.extend((carry > 0).then_some(carry));
    ///         Digits(sum)
    ///     }
    /// }
    ///
    /// impl Zero for Digits {
    ///     fn zero() -> Digits {
    ///         Digits(vec![])
    ///     }
    ///     fn is_zero(&self) -> bool {
    ///         self.0.iter().all(|&digit| digit == 0)
    ///     }
    /// }
    ///
    /// let large = Array2::from_elem((1000, 2), Digits(vec![9; 30]));
    /// let plan = BroadcastPlan::numpy(2, (1000, 2))?;
    /// // 1000 times 10^30 - 1.
    /// let sum = Digits([vec![0; 3], vec![9; 30]].concat());
    /// assert_eq!(plan.gradient_cloned(&large)?, array![sum.clone(), sum]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    ///
    /// Source: NumPy's `sum` of `object` arrays.
    pub fn gradient_cloned<A: Clone + Zero>(
        &self,
        cotangent: &ArrayRef<A, O>,
    ) -> Result<Array<A, I>, BroadcastError> {
        check_shape(ArrayRole::Cotangent, self.output_shape(), cotangent.shape())?;
        // The axes of the results, in their order, then those of the terms.
        let mut axes: Vec<usize> = (0..cotangent.ndim()).collect();
        let sources: Vec<_> = self.axis_sources().collect();
        axes.sort_by_key(|&axis| match sources[axis] {
            AxisSource::Kept(input) => input,
            _ => usize::MAX,
        });
        let terms = cotangent.view().into_dyn().permuted_axes(IxDyn(&axes));
        let (mut terms, count) = (terms.iter().cloned(), self.sum_terms());
        let len = self.input_shape().iter().product();
        array_of(self.input_dim(), |sums| {
            sums.extend((0..len).map(|_| {
                let sum = terms.by_ref().take(count).reduce(|sum, term| sum + term);
                sum.unwrap_or_else(A::zero)
            }));
        })
    }
}
