//! Partial reductions as bytes, and as serde writes and reads them.
//!
//! All integers are little-endian, `usize` as 64 bits.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `ndbpart1` |
//! | 8 | how many bytes there are in all |
//! | 4, n | the name of the reduction: its length, then UTF-8 |
//! | 4, n | the type of the accumulators |
//! | 4, 8 each | the input's rank and sizes |
//! | 4, 8 each | the output's rank and sizes |
//! | 8 each | for each input axis the output axis that it feeds; the output's rank if none |
//! | 8 | how many pieces follow |
//! | 16 each | a piece: for each input axis where its box begins and ends. No two overlap |
//! | 8 | how many nodes it has |
//! | 8, 4, n | a node: its first block, its level, and an accumulator for each element of the box |
//! | 8 | how many boxes of terms that are no nodes |
//! | 16 each, n | such a box: a range for each axis that is summed, and the accumulators |
//! | 8 | FNV-1a of all bytes before |

use super::partial::{Node, PartialReduction, Piece, shown};
use super::ranges::any_overlap;
use super::reduction::Reduction;
use super::terms::Numbers;
use crate::error::{BroadcastError, invalid_bytes, other_reduction, reserved};
use crate::plan::BroadcastPlan;
use crate::rule::Rule;
use crate::shape::{dimension, elements};
use ndarray::{ArrayD, IxDyn};
use std::marker::PhantomData;
use std::mem::replace;
use std::ops::Range;

const MAGIC: [u8; 8] = *b"ndbpart1";

/// An accumulator as bytes, for [`PartialReduction::to_bytes`].
///
/// Integers, floats, `bool`, and pairs with a position as of [`ArgMax`](crate::ArgMax) have it;
/// with the feature `half` its floats too. Implement it for accumulators of your own:
///
/// ```
/// use ndarray_broadcast::AccumulatorBytes;
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct MinMax(i32, i32);
///
/// impl AccumulatorBytes for MinMax {
///     const NAME: &'static str = "MinMax";
///     const SIZE: usize = 8;
///
///     fn write(self, to: &mut Vec<u8>) {
///         self.0.write(to);
///         self.1.write(to);
///     }
///     fn read(bytes: &[u8]) -> Option<Self> {
///         Some(MinMax(i32::read(&bytes[..4])?, i32::read(&bytes[4..])?))
///     }
/// }
///
/// let mut bytes = Vec::new();
/// MinMax(-1, 258).write(&mut bytes);
/// assert_eq!(bytes, [255, 255, 255, 255, 2, 1, 0, 0]);
/// assert_eq!(MinMax::read(&bytes), Some(MinMax(-1, 258)));
/// ```
pub trait AccumulatorBytes: Copy {
    /// The name of the type, the same on every target. Bytes of another type are refused.
    const NAME: &'static str;
    /// How many bytes [`write`](Self::write) appends, at least one. With 0,
    /// [`to_bytes`](PartialReduction::to_bytes) and [`from_bytes`](PartialReduction::from_bytes) do
    /// not compile.
    const SIZE: usize;

    /// Appends the value in `SIZE` bytes, the same on every target. Example: [`AccumulatorBytes`].
    fn write(self, to: &mut Vec<u8>);

    /// The value of `SIZE` bytes; `None` if no value has them. Example: [`AccumulatorBytes`].
    fn read(bytes: &[u8]) -> Option<Self>;
}

macro_rules! number_bytes {
    ($($(#[$cfg:meta])? $T:ty, $name:literal;)*) => {$(
        $(#[$cfg])?
        impl AccumulatorBytes for $T {
            const NAME: &'static str = $name;
            const SIZE: usize = size_of::<$T>();

            fn write(self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }

            fn read(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(<$T>::from_le_bytes)
            }
        }
    )*};
}

number_bytes! {
    u8, "u8";
    u16, "u16";
    u32, "u32";
    u64, "u64";
    u128, "u128";
    i8, "i8";
    i16, "i16";
    i32, "i32";
    i64, "i64";
    i128, "i128";
    f32, "f32";
    f64, "f64";
    #[cfg(feature = "half")] half::f16, "f16";
    #[cfg(feature = "half")] half::bf16, "bf16";
}

/// As 64 bits on every target.
impl AccumulatorBytes for usize {
    const NAME: &'static str = "usize";
    const SIZE: usize = 8;

    fn write(self, to: &mut Vec<u8>) {
        (self as u64).write(to);
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        u64::read(bytes)?.try_into().ok()
    }
}

/// As 64 bits on every target.
impl AccumulatorBytes for isize {
    const NAME: &'static str = "isize";
    const SIZE: usize = 8;

    fn write(self, to: &mut Vec<u8>) {
        (self as i64).write(to);
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        i64::read(bytes)?.try_into().ok()
    }
}

impl AccumulatorBytes for bool {
    const NAME: &'static str = "bool";
    const SIZE: usize = 1;

    fn write(self, to: &mut Vec<u8>) {
        to.push(u8::from(self));
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }
}

/// The name of a pair: that of the term in `(_, usize)`.
struct PairName<T>(PhantomData<T>);

impl<T: AccumulatorBytes> PairName<T> {
    const LEN: usize = T::NAME.len() + PAIR[0].len() + PAIR[1].len();

    /// The text, and zeros. A constant cannot have a length that depends on `T`.
    const PADDED: [u8; 256] = {
        assert!(Self::LEN <= 256, "the name of an accumulator is too long");
        let (mut text, mut len) = ([0; 256], 0);
        let parts = [PAIR[0], T::NAME, PAIR[1]];
        let mut part = 0;
        while part < parts.len() {
            let mut at = 0;
            while at < parts[part].len() {
                text[len] = parts[part].as_bytes()[at];
                (at, len) = (at + 1, len + 1);
            }
            part += 1;
        }
        text
    };

    const NAME: &'static str = match std::str::from_utf8(Self::PADDED.split_at(Self::LEN).0) {
        Ok(name) => name,
        Err(_) => panic!("names are UTF-8"),
    };
}

/// What is around the name of the term in the name of a pair.
const PAIR: [&str; 2] = ["(", ", usize)"];

/// A term and its number.
impl<T: AccumulatorBytes> AccumulatorBytes for (T, usize) {
    const NAME: &'static str = PairName::<T>::NAME;
    const SIZE: usize = T::SIZE + 8;

    fn write(self, to: &mut Vec<u8>) {
        self.0.write(to);
        self.1.write(to);
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (value, number) = bytes.split_at_checked(T::SIZE)?;
        Some((T::read(value)?, usize::read(number)?))
    }
}

/// FNV-1a, 64 bits. One byte that differs always changes it.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// What is written of a partial reduction.
struct Form<A> {
    plan: BroadcastPlan,
    pieces: Vec<PieceForm<A>>,
}

/// What is written of a piece.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename = "Piece", deny_unknown_fields))]
struct PieceForm<A> {
    ranges: Vec<Range<usize>>,
    /// The first block, the level, and the accumulators.
    nodes: Vec<(usize, u32, Vec<A>)>,
    boxes: Vec<(Vec<Range<usize>>, Vec<A>)>,
}

const WRONG_COUNT: &str = "the number of accumulators is not the number of elements of the box";
const NO_ORDER: &str =
    "the terms of a box are not neighbours, and the reduction is not commutative";

/// That a box is inside a shape and has elements.
fn check_box(ranges: &[Range<usize>], shape: &[usize]) -> Result<(), BroadcastError> {
    let inside = |(range, &size): (&Range<usize>, _)| range.start < range.end && range.end <= size;
    match ranges.len() == shape.len() && ranges.iter().zip(shape).all(inside) {
        true => Ok(()),
        false => Err(invalid_bytes("a box is not inside the shape of its plan")),
    }
}

impl<T, R: Reduction<T>> PartialReduction<T, R> {
    /// The value of a form, of which everything is checked.
    fn of_form(form: Form<R::Acc>, reduction: R) -> Result<Self, BroadcastError> {
        let (input, terms) = (form.plan.input_shape().to_vec(), form.plan.summed_shape()?);
        let all = form.plan.sum_blocks();
        let mut pieces = Vec::new();
        for form in form.pieces {
            check_box(&form.ranges, &input)?;
            let sizes: Vec<usize> = form.ranges.iter().map(|range| range.len()).collect();
            let array = |values| {
                let array = ArrayD::from_shape_vec(IxDyn(&sizes), values);
                array.map_err(|_| invalid_bytes(WRONG_COUNT))
            };
            let mut piece = Piece::of_nothing(form.ranges.into());
            for (first, level, values) in form.nodes {
                let size = 1_usize
                    .checked_shl(level)
                    .filter(|&size| size <= all.next_power_of_two());
                if first >= all || size.is_none_or(|size| first % size != 0) {
                    return Err(invalid_bytes("the plan has no such node"));
                }
                piece
                    .insert_written(Node { first, level }, array(values)?, all)
                    .map_err(invalid_bytes)?;
            }
            for (boxed, values) in form.boxes {
                check_box(&boxed, &terms)?;
                let numbers = Numbers::of_box(&boxed, &terms);
                if !R::COMMUTATIVE && numbers.neighbours().is_none() {
                    return Err(invalid_bytes(NO_ORDER));
                }
                piece.insert_box(boxed, array(values)?);
            }
            if piece.boxes_overlap(&terms) {
                return Err(invalid_bytes(
                    "a box has a term of a node or of another box",
                ));
            }
            if !piece.is_empty() {
                pieces.push(piece);
            }
        }
        if any_overlap(pieces.iter().map(|piece| &piece.ranges[..]).collect()) {
            return Err(invalid_bytes("two pieces have the same element"));
        }
        let mut partial = PartialReduction::new(&form.plan, reduction);
        partial.pieces = pieces;
        Ok(partial)
    }

    /// As bytes, the same on every target. A header names the plan, the reduction and the type.
    /// Then follow the accumulators, with 12 bytes for each node and 16 for each axis of each box.
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_broadcast::{BroadcastPlan, Max, PartialReduction, Sum};
    ///
    /// let plan = BroadcastPlan::numpy(1, 3)?;
    /// let part = plan.part(&plan.tile(&[0..3])?)?;
    /// let sum = part.gradient(&arr1(&[1_f32, 2., 4.]))?;
    /// let bytes = sum.to_bytes();
    /// let sum = PartialReduction::<f32, _>::from_bytes(&bytes, Sum)?;
    /// assert_eq!(sum.finish(&plan)?, arr1(&[7.]));
    ///
    /// let refused = |error: Option<ndarray_broadcast::BroadcastError>| {
    ///     error.unwrap().to_string()
    /// };
    /// assert_eq!(
    ///     refused(PartialReduction::<f64, _>::from_bytes(&bytes, Sum).err()),
    ///     "these parts do not belong together: sum in f32, and sum in f64",
    /// );
    /// assert_eq!(
    ///     refused(PartialReduction::<f32, _>::from_bytes(&bytes, Max).err()),
    ///     "these parts do not belong together: sum in f32, and max in f32",
    /// );
    /// assert_eq!(
    ///     refused(PartialReduction::<f32, _>::from_bytes(&bytes[..50], Sum).err()),
    ///     "invalid bytes of a partial reduction: they are cut short",
    /// );
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8>
    where
        R::Acc: AccumulatorBytes,
    {
        const { assert!(R::Acc::SIZE > 0, "an accumulator is written in no bytes") };
        let mut bytes = MAGIC.to_vec();
        bytes.extend([0; 8]);
        for name in [R::NAME, R::Acc::NAME] {
            (name.len() as u32).write(&mut bytes);
            bytes.extend(name.as_bytes());
        }
        for shape in [self.plan.input_shape(), self.plan.output_shape()] {
            (shape.len() as u32).write(&mut bytes);
            shape.iter().for_each(|size| size.write(&mut bytes));
        }
        self.plan
            .output_axes()
            .iter()
            .for_each(|axis| axis.write(&mut bytes));
        self.pieces.len().write(&mut bytes);
        let write_box = |bytes: &mut Vec<u8>, ranges: &[Range<usize>]| {
            for range in ranges {
                range.start.write(bytes);
                range.end.write(bytes);
            }
        };
        let write_all = |bytes: &mut Vec<u8>, values: &ArrayD<R::Acc>| {
            bytes.reserve(values.len() * R::Acc::SIZE);
            values.iter().for_each(|value| value.write(bytes));
        };
        for piece in &self.pieces {
            write_box(&mut bytes, &piece.ranges);
            piece.nodes.len().write(&mut bytes);
            for (node, values) in piece.nodes.values() {
                node.first.write(&mut bytes);
                node.level.write(&mut bytes);
                write_all(&mut bytes, values);
            }
            piece.boxes.len().write(&mut bytes);
            for (ranges, values) in &piece.boxes {
                write_box(&mut bytes, ranges);
                write_all(&mut bytes, values);
            }
        }
        let len = bytes.len() + 8;
        bytes[8..16].copy_from_slice(&(len as u64).to_le_bytes());
        checksum(&bytes).write(&mut bytes);
        bytes
    }

    /// The value of [`to_bytes`](Self::to_bytes), of which everything is checked but the values of
    /// the accumulators: positions may be any numbers. Example: there.
    ///
    /// # Errors
    ///
    /// [`InvalidBytes`](crate::ErrorKind::InvalidBytes) if they are cut short, changed, or none;
    /// [`OtherReduction`](crate::ErrorKind::OtherReduction) if they are of another reduction or
    /// type; [`AllocationFailed`](crate::ErrorKind::AllocationFailed). That they are of the right
    /// plan is checked by [`merge`](Self::merge) and [`finish`](Self::finish).
    ///
    /// Reductions are told apart by [`NAME`](Reduction::NAME) only. Those without a name, such as
    /// every [`Fold`](crate::Fold), are not told apart: bytes of one are read as another one.
    ///
    /// Boxes that no axis separates are compared in pairs. So the time may grow with the square of
    /// the number of bytes: limit the length of bytes from an untrusted source.
    pub fn from_bytes(bytes: &[u8], reduction: R) -> Result<Self, BroadcastError>
    where
        R::Acc: AccumulatorBytes,
    {
        // The number of bytes bounds how many accumulators are read.
        const { assert!(R::Acc::SIZE > 0, "an accumulator is read from no bytes") };
        let mut from = Reader(bytes);
        if from.take(8)? != MAGIC {
            return Err(invalid_bytes("they do not begin with \"ndbpart1\""));
        }
        match from.size()?.cmp(&bytes.len()) {
            std::cmp::Ordering::Greater => return Err(Reader::cut_short()),
            std::cmp::Ordering::Less => return Err(invalid_bytes("more bytes follow the end")),
            std::cmp::Ordering::Equal => {}
        }
        let Some((content, sum)) = bytes.split_last_chunk() else {
            return Err(Reader::cut_short());
        };
        if checksum(content) != u64::from_le_bytes(*sum) {
            return Err(invalid_bytes("their checksum differs"));
        }
        from.0 = content.get(16..).ok_or_else(Reader::cut_short)?;
        let (name, kind) = (from.text()?, from.text()?);
        if (name, kind) != (R::NAME, R::Acc::NAME) {
            let ours = format!("{} in {}", shown(R::NAME), R::Acc::NAME);
            let theirs = format!("{} in {kind}", shown(name));
            return Err(other_reduction(&theirs, &ours));
        }
        let plan = from.plan()?;
        let (rank, summed) = (plan.input_shape().len(), plan.summed_shape()?.len());
        let mut pieces = Vec::new();
        for _ in 0..from.size()? {
            let ranges = from.ranges(rank)?;
            check_box(&ranges, plan.input_shape())?;
            let count = ranges.iter().map(|range| range.len()).product();
            let mut piece = PieceForm {
                ranges,
                nodes: Vec::new(),
                boxes: Vec::new(),
            };
            for _ in 0..from.size()? {
                let node = (from.size()?, from.number()?);
                piece.nodes.push((node.0, node.1, from.values(count)?));
            }
            for _ in 0..from.size()? {
                piece
                    .boxes
                    .push((from.ranges(summed)?, from.values(count)?));
            }
            pieces.push(piece);
        }
        if !from.0.is_empty() {
            return Err(invalid_bytes("more bytes follow the end"));
        }
        PartialReduction::of_form(Form { plan, pieces }, reduction)
    }
}

/// The bytes that are not read yet.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn cut_short() -> BroadcastError {
        invalid_bytes("they are cut short")
    }

    fn take(&mut self, len: usize) -> Result<&'b [u8], BroadcastError> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or_else(Reader::cut_short)?;
        self.0 = rest;
        Ok(taken)
    }

    fn value<A: AccumulatorBytes>(&mut self) -> Result<A, BroadcastError> {
        A::read(self.take(A::SIZE)?)
            .ok_or_else(|| invalid_bytes("a value is not valid for its type"))
    }

    fn size(&mut self) -> Result<usize, BroadcastError> {
        self.value()
    }

    fn number(&mut self) -> Result<u32, BroadcastError> {
        self.value()
    }

    fn text(&mut self) -> Result<&'b str, BroadcastError> {
        let len = self.number()? as usize;
        std::str::from_utf8(self.take(len)?).map_err(|_| invalid_bytes("a name is no UTF-8"))
    }

    /// That `count` values of `size` bytes each are left in the input. Checked before memory for
    /// them is allocated.
    fn check_left(&self, count: usize, size: usize) -> Result<(), BroadcastError> {
        match count.checked_mul(size) {
            Some(bytes) if bytes <= self.0.len() => Ok(()),
            _ => Err(Reader::cut_short()),
        }
    }

    fn values<A: AccumulatorBytes>(&mut self, count: usize) -> Result<Vec<A>, BroadcastError> {
        self.check_left(count, A::SIZE)?;
        let mut values = reserved(count)?;
        for _ in 0..count {
            values.push(self.value()?);
        }
        Ok(values)
    }

    fn ranges(&mut self, rank: usize) -> Result<Vec<Range<usize>>, BroadcastError> {
        self.check_left(rank, 16)?;
        (0..rank).map(|_| Ok(self.size()?..self.size()?)).collect()
    }

    fn plan(&mut self) -> Result<BroadcastPlan, BroadcastError> {
        let rank = self.number()? as usize;
        let input: Vec<usize> = self.values(rank)?;
        let output_rank = self.number()? as usize;
        let output: Vec<usize> = self.values(output_rank)?;
        let axes: Vec<usize> = self.values(rank)?;
        let mut fed = reserved(output_rank)?;
        fed.resize(output_rank, false);
        for &axis in &axes {
            let twice = fed.get_mut(axis).is_some_and(|fed| replace(fed, true));
            if axis > output_rank || twice {
                return Err(invalid_bytes("no plan has these axes"));
            }
        }
        if elements(&input).is_none() {
            return Err(invalid_bytes("no plan has these shapes"));
        }
        BroadcastPlan::new(
            Rule::Composed,
            dimension::<IxDyn>(&input),
            &output,
            |axis| axes[axis],
        )
        .map_err(|_| invalid_bytes("no plan has these shapes"))
    }
}

#[cfg(feature = "serde")]
mod with_serde {
    use super::*;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(rename = "PartialReduction", deny_unknown_fields)]
    struct Named<A> {
        reduction: String,
        plan: BroadcastPlan,
        pieces: Vec<PieceForm<A>>,
    }

    impl<A: Copy> PieceForm<A> {
        fn of(piece: &Piece<A>) -> Self {
            let list = |values: &ArrayD<A>| values.iter().copied().collect();
            let nodes = piece.nodes.values();
            let boxes = piece.boxes.iter();
            PieceForm {
                ranges: piece.ranges.to_vec(),
                nodes: nodes
                    .map(|(node, values)| (node.first, node.level, list(values)))
                    .collect(),
                boxes: boxes
                    .map(|(ranges, values)| (ranges.to_vec(), list(values)))
                    .collect(),
            }
        }
    }

    impl<T, R: Reduction<T, Acc: Serialize>> Serialize for PartialReduction<T, R> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            Named {
                reduction: R::NAME.to_owned(),
                plan: self.plan.clone(),
                pieces: self.pieces.iter().map(PieceForm::of).collect(),
            }
            .serialize(serializer)
        }
    }

    /// Reading checks everything.
    impl<'de, T, R> Deserialize<'de> for PartialReduction<T, R>
    where
        R: Reduction<T, Acc: Deserialize<'de>> + Default,
    {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let Named {
                reduction,
                plan,
                pieces,
            } = Named::deserialize(deserializer)?;
            if reduction != R::NAME {
                let error = other_reduction(shown(&reduction), shown(R::NAME));
                return Err(D::Error::custom(error));
            }
            PartialReduction::of_form(Form { plan, pieces }, R::default()).map_err(D::Error::custom)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, Sum};
    use std::fmt::Debug;

    #[track_caller]
    fn check_number<A: AccumulatorBytes + PartialEq + Debug>(
        name: &str,
        number: A,
        expected: &[u8],
    ) {
        assert_eq!((A::NAME, A::SIZE), (name, expected.len()));
        let mut bytes = vec![7];
        number.write(&mut bytes);
        assert_eq!((bytes[0], &bytes[1..]), (7, expected));
        assert_eq!(A::read(expected), Some(number));
        assert_eq!(A::read(&expected[1..]), None, "one byte is missing");
        assert_eq!(A::read(&bytes), None, "there is one byte more");
    }

    #[test]
    fn accumulators_are_little_endian_and_of_one_size_on_every_target() {
        check_number("u8", 0xfe_u8, &[0xfe]);
        check_number("u16", 0xfe01_u16, &[1, 0xfe]);
        check_number("u32", 0xfe01_0203_u32, &[3, 2, 1, 0xfe]);
        check_number("u64", 0xfe01_u64, &[1, 0xfe, 0, 0, 0, 0, 0, 0]);
        let wide = [3, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        check_number("u128", (1_u128 << 120) + 0x203, &wide);
        check_number("i128", (1_i128 << 120) + 0x203, &wide);
        check_number("i8", -2_i8, &[0xfe]);
        check_number("i16", -2_i16, &[0xfe, 0xff]);
        check_number("i32", -3_i32, &[0xfd, 0xff, 0xff, 0xff]);
        check_number("i64", i64::MIN, &[0, 0, 0, 0, 0, 0, 0, 0x80]);
        check_number("f32", -1.5_f32, &[0, 0, 0xc0, 0xbf]);
        check_number("f64", 2.5_f64, &[0, 0, 0, 0, 0, 0, 4, 0x40]);
        check_number("usize", 0x102_usize, &[2, 1, 0, 0, 0, 0, 0, 0]);
        check_number(
            "isize",
            -2_isize,
            &[0xfe, 255, 255, 255, 255, 255, 255, 255],
        );
        check_number("bool", true, &[1]);
        check_number("bool", false, &[0]);
        assert_eq!(bool::read(&[2]), None);
        let pair = [0xfd, 0xff, 5, 0, 0, 0, 0, 0, 0, 0];
        check_number("(i16, usize)", (-3_i16, 5_usize), &pair);
        let most = usize::read(&[255; 8]);
        assert_eq!(most, usize::try_from(u64::MAX).ok());
        #[cfg(feature = "half")]
        {
            check_number("f16", half::f16::from_f32(1.0), &[0, 0x3c]);
            check_number("bf16", half::bf16::from_f32(1.0), &[0x80, 0x3f]);
        }
    }

    type Boxes<'b> = &'b [(Range<usize>, usize)];

    /// A piece of sums over 5000 terms, 5 blocks: of the elements `element`, with nodes of one
    /// accumulator for each, and boxes that have so many accumulators.
    fn piece(element: Range<usize>, nodes: &[(usize, u32)], boxes: Boxes<'_>) -> PieceForm<f32> {
        let len = element.len();
        PieceForm {
            ranges: vec![element],
            nodes: nodes
                .iter()
                .map(|&(first, level)| (first, level, vec![1.0; len]))
                .collect(),
            boxes: boxes
                .iter()
                .map(|(range, count)| (vec![range.clone()], vec![1.0; *count]))
                .collect(),
        }
    }

    fn read(pieces: Vec<PieceForm<f32>>) -> Result<PartialReduction<f32, Sum>, BroadcastError> {
        let plan = BroadcastPlan::explicit(IxDyn(&[2]), IxDyn(&[5000, 2]), &[1]).unwrap();
        PartialReduction::of_form(Form { plan, pieces }, Sum)
    }

    #[test]
    fn pieces_that_fit_are_read() {
        for pieces in [
            vec![],
            vec![piece(0..2, &[], &[])],
            vec![piece(0..2, &[(0, 1), (4, 0)], &[])],
            vec![piece(0..2, &[(0, 1)], &[(2048..2049, 2), (4999..5000, 2)])],
            vec![
                piece(0..1, &[(0, 0)], &[]),
                piece(1..2, &[], &[(0..7, 1), (7..9, 1)]),
            ],
            // The last block is a node of every level that begins with it.
            vec![piece(0..2, &[(4, 2)], &[])],
            vec![piece(0..2, &[(0, 3)], &[])],
        ] {
            assert!(read(pieces).is_ok());
        }
    }

    #[test]
    fn pieces_that_do_not_fit_are_refused() {
        let outside = "a box is not inside the shape of its plan";
        let no_node = "the plan has no such node";
        let common = "a box has a term of a node or of another box";
        for (pieces, text) in [
            (vec![piece(0..3, &[], &[])], outside),
            (vec![piece(1..1, &[], &[])], outside),
            (vec![piece(0..2, &[], &[(4000..5001, 2)])], outside),
            (vec![piece(0..2, &[], &[(0..0, 2)])], outside),
            (vec![piece(0..2, &[], &[(0..1, 1)])], WRONG_COUNT),
            (vec![piece(0..2, &[], &[(0..1, 3)])], WRONG_COUNT),
            (vec![piece(0..2, &[(5, 0)], &[])], no_node),
            (vec![piece(0..2, &[(1, 1)], &[])], no_node),
            (vec![piece(0..2, &[(0, 4)], &[])], no_node),
            (vec![piece(0..2, &[(0, usize::BITS)], &[])], no_node),
            (
                vec![piece(0..2, &[(0, 1), (1, 0)], &[])],
                "two nodes have the same block",
            ),
            (
                vec![piece(0..2, &[(0, 0), (1, 0)], &[])],
                "two nodes are halves of another one",
            ),
            (
                vec![piece(0..2, &[(0, 2), (4, 0)], &[])],
                "two nodes are halves of another one",
            ),
            (vec![piece(0..2, &[], &[(0..10, 2), (9..20, 2)])], common),
            (vec![piece(0..2, &[], &[(5..9, 2), (5..9, 2)])], common),
            (vec![piece(0..2, &[(1, 0)], &[(2047..2050, 2)])], common),
            (
                vec![piece(0..2, &[(0, 0)], &[]), piece(1..2, &[(1, 0)], &[])],
                "two pieces have the same element",
            ),
        ] {
            let error = read(pieces).unwrap_err();
            let of_bytes = matches!(error.kind(), ErrorKind::InvalidBytes { .. });
            assert!(of_bytes, "{error}");
            let message = error.to_string();
            assert!(message.contains(text), "{message}\n{text}");
        }
    }
}
