//! Shapes of which not everything is known: [`PartialSize`] and [`PartialShape`]. [`Size`] is what
//! rules need of a size, known or not.

use crate::picture::list;
use crate::shape::{KEEP, Sizes};
use ndarray::{IntoDimension, IxDyn};
use smallvec::SmallVec;
use std::fmt;
use std::ops::RangeFrom;

/// A size that is known, or of which bounds are known.
///
/// Prints as `3`, as `2..=5`, as `2..` without an upper bound, or as `?` where nothing is known. A
/// size that is not known may have a symbol: two sizes with the same symbol are the same. It prints
/// as `s7`, or with its bounds as `s7(2..=5)`.
///
/// With the feature `serde` a size serialises as both bounds and the symbol. The upper bound and
/// the symbol may be null.
///
/// ```
/// use ndarray_broadcast::infer::PartialSize;
///
/// let between = PartialSize::between(2, 5)?;
/// let sizes = [PartialSize::known(3), between, (2..).into(), PartialSize::ANY];
/// assert_eq!(sizes.map(|size| size.to_string()), ["3", "2..=5", "2..", "?"]);
/// assert_eq!(sizes.map(|size| size.contains(4)), [false, true, true, true]);
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PartialSize {
    min: usize,
    /// `usize::MAX` if there is no upper bound. No size is larger, so this value can stand for
    /// "no bound".
    max: usize,
    symbol: Option<u32>,
}

impl PartialSize {
    /// Any size. Example: [`PartialSize`].
    pub const ANY: Self = PartialSize {
        min: 0,
        max: usize::MAX,
        symbol: None,
    };

    /// This size. Example: [`PartialSize`].
    #[must_use]
    pub const fn known(size: usize) -> Self {
        PartialSize {
            min: size,
            max: size,
            symbol: None,
        }
    }

    /// The sizes from `min` to `max`, if there are any.
    pub(crate) fn bounded(min: usize, max: usize) -> Option<Self> {
        let symbol = None;
        (min <= max).then_some(PartialSize { min, max, symbol })
    }

    /// The same size with a symbol, which a known size does not need.
    ///
    /// What is inferred of aligned axes uses that sizes with the same symbol are the same: a
    /// model's batch, for instance. Axes that are not aligned do not narrow each other.
    ///
    /// ```
    /// use ndarray_broadcast::ElementwiseRule;
    /// use ndarray_broadcast::infer::{PartialShape, PartialSize};
    ///
    /// let batch = PartialSize::ANY.with_symbol(0);
    /// let a = PartialShape::new([batch, 1.into()]);
    /// let b = PartialShape::new([batch, 220.into()]);
    /// let both = ElementwiseRule::Numpy.infer(&a, &b)?;
    /// assert_eq!(both, b);
    /// assert_eq!(both.to_string(), "[s0, 220]");
    ///
    /// // Of two unknown sizes, either may be 1.
    /// let other = PartialShape::new([PartialSize::ANY, 220.into()]);
    /// let both = ElementwiseRule::Numpy.infer(&a, &other)?;
    /// assert_eq!(both.to_string(), "[?, 220]");
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    ///
    /// Source: the named dimensions of ONNX (`dim_param`) and OpenVINO, the symbols of torch.
    #[must_use]
    pub fn with_symbol(self, symbol: u32) -> Self {
        let symbol = self.value().is_none().then_some(symbol);
        PartialSize { symbol, ..self }
    }

    /// The symbol, if the size has one. Example: [`with_symbol`](Self::with_symbol).
    #[must_use]
    pub fn symbol(self) -> Option<u32> {
        self.symbol
    }

    /// The smallest size that is possible.
    ///
    /// ```
    /// use ndarray_broadcast::infer::PartialSize;
    ///
    /// let size = PartialSize::between(2, 5)?;
    /// assert_eq!((size.min(), size.max(), size.value()), (2, Some(5), None));
    /// let size = PartialSize::known(3);
    /// assert_eq!((size.min(), size.max(), size.value()), (3, Some(3), Some(3)));
    /// assert_eq!(PartialSize::ANY.max(), None);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[must_use]
    pub const fn min(self) -> usize {
        self.min
    }

    /// The largest size that is possible, if there is a bound. Example: [`min`](Self::min).
    #[must_use]
    pub fn max(self) -> Option<usize> {
        (self.max != usize::MAX || self.min == usize::MAX).then_some(self.max)
    }

    /// The size, if it is known. Example: [`min`](Self::min).
    #[must_use]
    pub fn value(self) -> Option<usize> {
        (self.min == self.max).then_some(self.min)
    }

    /// Whether this size is possible. Example: [`PartialSize`].
    #[must_use]
    pub fn contains(self, size: usize) -> bool {
        (self.min..=self.max).contains(&size)
    }
}

/// A size that is known, or known in part.
pub(crate) trait Size: Copy + From<usize> + Into<PartialSize> {
    /// Whether this size is possible.
    fn may_be(self, size: usize) -> bool;

    /// The sizes that both have.
    fn and(self, other: Self) -> Option<Self>;

    /// Whether both have one symbol. Then they are the same size.
    fn is_same(self, other: Self) -> bool;

    /// The common size of two axes that may both be 1, where either stretches.
    fn either(self, other: Self) -> Option<Self>;
}

impl Size for usize {
    #[inline(always)]
    fn may_be(self, size: usize) -> bool {
        self == size
    }

    #[inline(always)]
    fn and(self, other: Self) -> Option<Self> {
        (self == other).then_some(self)
    }

    #[inline(always)]
    fn is_same(self, _: Self) -> bool {
        false
    }

    #[inline(always)]
    fn either(self, _: Self) -> Option<Self> {
        Some(self)
    }
}

impl Size for PartialSize {
    fn may_be(self, size: usize) -> bool {
        self.contains(size)
    }

    fn and(self, other: Self) -> Option<Self> {
        let size = PartialSize::bounded(self.min.max(other.min), self.max.min(other.max))?;
        let symbol = self.symbol.or(other.symbol);
        Some(symbol.map_or(size, |symbol| size.with_symbol(symbol)))
    }

    fn is_same(self, other: Self) -> bool {
        self.symbol.is_some() && self.symbol == other.symbol
    }

    /// A size that is known is 1. Otherwise either of the two is the common size.
    fn either(self, other: Self) -> Option<Self> {
        match (self.value(), other.value()) {
            (Some(_), _) => Some(other),
            (_, Some(_)) => Some(self),
            _ => PartialSize::bounded(self.min.min(other.min), self.max.max(other.max)),
        }
    }
}

impl From<usize> for PartialSize {
    fn from(size: usize) -> Self {
        PartialSize::known(size)
    }
}

impl From<RangeFrom<usize>> for PartialSize {
    fn from(range: RangeFrom<usize>) -> Self {
        PartialSize {
            min: range.start,
            ..PartialSize::ANY
        }
    }
}

impl fmt::Display for PartialSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bounds = match (self.value(), self.min, self.max()) {
            (Some(KEEP), ..) => "-1".into(),
            (Some(size), ..) => size.to_string(),
            (None, 0, None) => "?".into(),
            (None, min, None) => format!("{min}.."),
            (None, min, Some(max)) => format!("{min}..={max}"),
        };
        f.pad(&match self.symbol {
            None => bounds,
            Some(symbol) if bounds == "?" => format!("s{symbol}"),
            Some(symbol) => format!("s{symbol}({bounds})"),
        })
    }
}

impl fmt::Debug for PartialSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Sizes that are known in part. Up to four of them take no memory of their own.
pub(crate) type PartialSizes = SmallVec<[PartialSize; 4]>;

/// A shape whose sizes are known in part, or of which not even the rank is known.
///
/// Prints as `[?, 3, 2..=5]`, or as `[...]` if the rank is unknown. With the feature `serde` it
/// serialises as the list of its sizes, or as null.
///
/// ```
/// use ndarray_broadcast::infer::{PartialShape, PartialSize};
///
/// let shape = PartialShape::new([PartialSize::ANY, PartialSize::known(3)]);
/// assert_eq!(shape.to_string(), "[?, 3]");
/// assert!(
///     shape.contains(&[7, 3])
///         && !shape.contains(&[7, 4])
///         && !shape.contains(&[3])
/// );
/// assert_eq!(PartialShape::UNKNOWN.to_string(), "[...]");
/// assert!(PartialShape::UNKNOWN.contains(&[1, 2, 3]));
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PartialShape(Option<PartialSizes>);

impl PartialShape {
    /// A shape of unknown rank. Example: [`PartialShape`].
    pub const UNKNOWN: Self = PartialShape(None);

    /// A shape of these sizes. Example: [`PartialShape`].
    #[must_use]
    pub fn new<T: Into<PartialSize>>(sizes: impl IntoIterator<Item = T>) -> Self {
        PartialShape(Some(sizes.into_iter().map(T::into).collect()))
    }

    /// A shape that is known.
    ///
    /// ```
    /// use ndarray_broadcast::infer::PartialShape;
    ///
    /// assert_eq!(PartialShape::known((2, 3)), PartialShape::new([2, 3]));
    /// assert_eq!(PartialShape::known(()).rank(), Some(0));
    /// ```
    #[must_use]
    pub fn known(shape: impl IntoDimension) -> Self {
        PartialShape::new(shape.into_dimension().sizes().iter().copied())
    }

    /// The sizes, outermost axis first, if the rank is known.
    ///
    /// ```
    /// use ndarray_broadcast::infer::{PartialShape, PartialSize};
    ///
    /// assert_eq!(PartialShape::known(3).sizes(), Some(&[PartialSize::known(3)][..]));
    /// assert_eq!(PartialShape::UNKNOWN.sizes(), None);
    /// ```
    #[must_use]
    pub fn sizes(&self) -> Option<&[PartialSize]> {
        self.0.as_deref()
    }

    /// The rank, if it is known. Example: [`known`](Self::known).
    #[must_use]
    pub fn rank(&self) -> Option<usize> {
        self.sizes().map(<[_]>::len)
    }

    /// The shape, if all of it is known.
    ///
    /// ```
    /// use ndarray::IxDyn;
    /// use ndarray_broadcast::infer::{PartialShape, PartialSize};
    ///
    /// assert_eq!(PartialShape::known((2, 3)).value(), Some(IxDyn(&[2, 3])));
    /// assert_eq!(PartialShape::new([PartialSize::ANY]).value(), None);
    /// assert_eq!(PartialShape::UNKNOWN.value(), None);
    /// ```
    #[must_use]
    pub fn value(&self) -> Option<IxDyn> {
        let sizes = self.sizes()?.iter().map(|size| size.value());
        let sizes: Option<SmallVec<[usize; 4]>> = sizes.collect();
        Some(IxDyn(&sizes?))
    }

    /// Whether this shape is possible: its sizes are, and those with the same symbol are equal.
    /// Example: [`PartialShape`].
    ///
    /// ```
    /// use ndarray_broadcast::infer::{PartialShape, PartialSize};
    ///
    /// let square = PartialShape::new([PartialSize::ANY.with_symbol(0); 2]);
    /// assert!(square.contains(&[4, 4]) && !square.contains(&[4, 5]));
    /// ```
    #[must_use]
    pub fn contains(&self, shape: &[usize]) -> bool {
        self.is_within_bounds(shape) && symbols_agree(self.pairs(shape))
    }

    /// Whether each size of this shape is possible.
    pub(crate) fn is_within_bounds(&self, shape: &[usize]) -> bool {
        self.rank().is_none_or(|rank| rank == shape.len())
            && (self.pairs(shape)).all(|(size, value)| size.contains(value))
    }

    /// What is known of each size of `shape`, and the size.
    pub(crate) fn pairs(
        &self,
        shape: &[usize],
    ) -> impl Iterator<Item = (PartialSize, usize)> + Clone {
        let sizes = self.sizes().unwrap_or_default().iter();
        sizes.copied().zip(shape.iter().copied())
    }

    /// This shape with the sizes that its symbols have in these pairs.
    pub(crate) fn with_symbols_of(
        &self,
        pairs: impl Iterator<Item = (PartialSize, usize)>,
    ) -> Self {
        let mut values = values_of_symbols(pairs);
        values.dedup_by_key(|&mut (symbol, _)| symbol);
        let known = |&size: &PartialSize| {
            let value = size.symbol.and_then(|symbol| {
                let at = values.binary_search_by_key(&symbol, |&(symbol, _)| symbol);
                Some(values[at.ok()?].1)
            });
            value.map_or(size, PartialSize::known)
        };
        PartialShape(
            self.0
                .as_ref()
                .map(|sizes| sizes.iter().map(known).collect()),
        )
    }
}

/// Whether sizes with the same symbol are the same.
pub(crate) fn symbols_agree(pairs: impl Iterator<Item = (PartialSize, usize)>) -> bool {
    let values = values_of_symbols(pairs);
    let mut neighbours = values.windows(2);
    neighbours.all(|pair| pair[0].0 != pair[1].0 || pair[0].1 == pair[1].1)
}

/// The symbols in increasing order, each with its values in the order of the pairs.
fn values_of_symbols(
    pairs: impl Iterator<Item = (PartialSize, usize)>,
) -> SmallVec<[(u32, usize); 8]> {
    let mut values: SmallVec<[_; 8]> = pairs
        .filter_map(|(size, value)| Some((size.symbol?, value)))
        .collect();
    values.sort_by_key(|&(symbol, _)| symbol);
    values
}

impl fmt::Display for PartialShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sizes() {
            Some(sizes) => f.pad(&list(sizes)),
            None => f.pad("[...]"),
        }
    }
}

impl fmt::Debug for PartialShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
