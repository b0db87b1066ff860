//! Accumulations as bytes.
//!
//! All integers have 64 bits and are little-endian.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `ndbpart2` |
//! | 8 | how many bytes there are in all |
//! | 8, n | the name of the reduction: its length, then UTF-8 |
//! | 8, n | the type of the accumulators |
//! | 8, 8 each | the input's rank and sizes |
//! | 8, 8 each | the output's rank and sizes |
//! | 8 each | for each input axis the output axis that it feeds; the output's rank if none |
//! | 8 | how many pieces follow |
//! | 16 each | a piece: for each input axis where its box begins and ends. No two overlap |
//! | 8 | how many nodes it has |
//! | 16, n | a node: its first block, its end, and an accumulator for each element of the box |
//! | 8 | FNV-1a of all bytes before |

use super::accumulation::{Accumulation, Piece, nodes_of, shown, sibling, sum_blocks};
use super::ranges::{any_overlap, len};
use super::reduction::Reduction;
use crate::error::{BroadcastError, PartsFault, invalid_bytes, parts_mismatch, reserved};
use crate::plan::BroadcastPlan;
use crate::rule::Rule;
use crate::shape::dimension;
use ndarray::{ArrayD, IxDyn};
use std::cmp::Ordering;
use std::marker::PhantomData;
use std::mem::replace;
use std::ops::Range;

const MAGIC: [u8; 8] = *b"ndbpart2";

/// An accumulator as bytes, for [`Accumulation::to_bytes`].
///
/// Integers, floats, `bool`, and pairs with a position as of [`ArgMax`](crate::reduction::ArgMax)
/// have it; with the feature `half` its floats too. Implement it for accumulators of your own:
///
/// ```
/// use ndarray_broadcast::distributed::AccumulatorBytes;
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
    /// [`to_bytes`](Accumulation::to_bytes) and [`from_bytes`](Accumulation::from_bytes) do
    /// not compile.
    const SIZE: usize;

    /// Appends the value in `SIZE` bytes, the same on every target. Example: [`AccumulatorBytes`].
    fn write(self, to: &mut Vec<u8>);

    /// The value of `SIZE` bytes; `None` if no value has them. Example: [`AccumulatorBytes`].
    fn read(bytes: &[u8]) -> Option<Self>;
}

macro_rules! number_bytes {
    ($($(#[$cfg:meta])? $T:ty, $name:literal, $Bytes:ty;)*) => {$(
        $(#[$cfg])?
        impl AccumulatorBytes for $T {
            const NAME: &'static str = $name;
            const SIZE: usize = size_of::<$Bytes>();

            fn write(self, to: &mut Vec<u8>) {
                to.extend((self as $Bytes).to_le_bytes());
            }

            fn read(bytes: &[u8]) -> Option<Self> {
                <$Bytes>::from_le_bytes(bytes.try_into().ok()?).try_into().ok()
            }
        }
    )*};
}

number_bytes! {
    u8, "u8", u8;
    u16, "u16", u16;
    u32, "u32", u32;
    u64, "u64", u64;
    u128, "u128", u128;
    i8, "i8", i8;
    i16, "i16", i16;
    i32, "i32", i32;
    i64, "i64", i64;
    i128, "i128", i128;
    f32, "f32", f32;
    f64, "f64", f64;
    // As 64 bits on every target.
    usize, "usize", u64;
    isize, "isize", i64;
    #[cfg(feature = "half")] half::f16, "f16", half::f16;
    #[cfg(feature = "half")] half::bf16, "bf16", half::bf16;
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
    /// The text and its length. A constant cannot have a length that depends on `T`.
    const PADDED: ([u8; 256], usize) = {
        let mut text = ([0; 256], 0);
        append(&mut text, "(");
        append(&mut text, T::NAME);
        append(&mut text, ", usize)");
        text
    };

    const NAME: &'static str = {
        let (text, len) = &Self::PADDED;
        match std::str::from_utf8(text.split_at(*len).0) {
            Ok(name) => name,
            Err(_) => panic!("names are UTF-8"),
        }
    };
}

const fn append((to, len): &mut ([u8; 256], usize), text: &str) {
    assert!(
        *len + text.len() <= 256,
        "the name of an accumulator is too long"
    );
    let mut at = 0;
    while at < text.len() {
        to[*len] = text.as_bytes()[at];
        (at, *len) = (at + 1, *len + 1);
    }
}

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

fn write_all<'a, A: AccumulatorBytes + 'a>(
    values: impl IntoIterator<Item = &'a A>,
    to: &mut Vec<u8>,
) {
    values.into_iter().for_each(|&value| value.write(to));
}

impl<T, R: Reduction<T>> Accumulation<T, R> {
    /// As bytes, the same on every target. A header names the plan, the reduction and the type.
    /// Then follow the accumulators, with 16 bytes for each node and 16 for each axis of each box.
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_broadcast::BroadcastPlan;
    /// use ndarray_broadcast::distributed::{Accumulation, Part, Tile};
    /// use ndarray_broadcast::reduction::{Max, Sum};
    ///
    /// let plan = BroadcastPlan::numpy(1, 3)?;
    /// let part = Part::new(&plan, &Tile::new(&plan, &[0..3])?)?;
    /// let sum = part.reduce(&arr1(&[1_f32, 2., 4.]), Sum)?;
    /// let bytes = sum.to_bytes();
    /// let sum = Accumulation::<f32, _>::from_bytes(&bytes, Sum)?;
    /// assert_eq!(sum.finish(&plan)?, arr1(&[7.]));
    ///
    /// let refused = |error: Option<ndarray_broadcast::BroadcastError>| {
    ///     error.unwrap().to_string()
    /// };
    /// assert_eq!(
    ///     refused(Accumulation::<f64, _>::from_bytes(&bytes, Sum).err()),
    ///     "these parts do not belong together: sum in f32, and sum in f64",
    /// );
    /// assert_eq!(
    ///     refused(Accumulation::<f32, _>::from_bytes(&bytes, Max).err()),
    ///     "these parts do not belong together: sum in f32, and max in f32",
    /// );
    /// assert_eq!(
    ///     refused(Accumulation::<f32, _>::from_bytes(&bytes[..50], Sum).err()),
    ///     "invalid bytes of an accumulation: they are cut short",
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
        // The length, which is written at the end.
        0_usize.write(&mut bytes);
        for name in [R::NAME, R::Acc::NAME] {
            name.len().write(&mut bytes);
            bytes.extend(name.as_bytes());
        }
        for shape in [self.plan.input_shape(), self.plan.output_shape()] {
            shape.len().write(&mut bytes);
            write_all(shape, &mut bytes);
        }
        write_all(self.plan.output_axes(), &mut bytes);
        self.pieces.len().write(&mut bytes);
        for piece in &self.pieces {
            for range in &piece.ranges {
                write_all([&range.start, &range.end], &mut bytes);
            }
            piece.nodes.len().write(&mut bytes);
            for ((start, end), values) in &piece.nodes {
                write_all([start, end], &mut bytes);
                bytes.reserve(values.len() * R::Acc::SIZE);
                write_all(values, &mut bytes);
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
    /// [`PartsMismatch`](crate::ErrorKind::PartsMismatch) if they are of another reduction or
    /// type; [`AllocationFailed`](crate::ErrorKind::AllocationFailed). That they are of the right
    /// plan is checked by [`merge`](Self::merge) and [`finish`](Self::finish).
    ///
    /// Reductions are told apart by [`NAME`](Reduction::NAME) only. Those without a name, such as
    /// every [`Fold`](crate::reduction::Fold), are not told apart: bytes of one are read as another
    /// one.
    ///
    /// Boxes that one axis does not separate are compared in pairs. So the time may grow with the
    /// square of the number of bytes: limit the length of bytes from an untrusted source.
    pub fn from_bytes(bytes: &[u8], reduction: R) -> Result<Self, BroadcastError>
    where
        R::Acc: AccumulatorBytes,
    {
        // The number of bytes bounds how many accumulators are read.
        const { assert!(R::Acc::SIZE > 0, "an accumulator is read from no bytes") };
        let (content, sum) = bytes.split_last_chunk().ok_or_else(Reader::cut_short)?;
        let mut from = Reader(content);
        if from.take(8)? != MAGIC {
            return Err(invalid_bytes("they do not begin with \"ndbpart2\""));
        }
        match from.size()?.cmp(&bytes.len()) {
            Ordering::Greater => return Err(Reader::cut_short()),
            Ordering::Less => return Err(invalid_bytes("more bytes follow the end")),
            Ordering::Equal if checksum(content) == u64::from_le_bytes(*sum) => {}
            Ordering::Equal => return Err(invalid_bytes("their checksum differs")),
        }
        let (name, kind) = (from.text()?, from.text()?);
        if (name, kind) != (R::NAME, R::Acc::NAME) {
            return Err(parts_mismatch(PartsFault::OtherReduction {
                first: format!("{} in {kind}", shown(name)).into(),
                second: format!("{} in {}", shown(R::NAME), R::Acc::NAME).into(),
            }));
        }
        let mut partial = Accumulation::new(&from.plan()?, reduction);
        let (input, all) = (partial.plan.input_shape(), sum_blocks(&partial.plan));
        for _ in 0..from.size()? {
            let ranges = from.ranges(input.len())?;
            let mut axes = ranges.iter().zip(input);
            if !axes.all(|(range, &size)| range.start < range.end && range.end <= size) {
                return Err(invalid_bytes("a box is not inside the shape of its plan"));
            }
            let sizes: Vec<usize> = ranges.iter().map(|range| range.len()).collect();
            let count = len(&ranges);
            let mut piece = Piece::of_nothing(ranges.into());
            for _ in 0..from.size()? {
                let node = from.size()?..from.size()?;
                let values = ArrayD::from_shape_vec(&sizes[..], from.values(count)?);
                let values = values.expect("there is one for each element");
                if node.end > all || nodes_of(node.clone(), all).next().as_ref() != Some(&node) {
                    return Err(invalid_bytes("the plan has no such node"));
                }
                if piece.common_blocks(&node).is_some() {
                    return Err(invalid_bytes("two nodes have the same block"));
                }
                // They would have been written as the larger node.
                if sibling(&node, all)
                    .is_some_and(|half| piece.nodes.contains_key(&(half.start, half.end)))
                {
                    return Err(invalid_bytes("two nodes are halves of another one"));
                }
                piece.nodes.insert((node.start, node.end), values);
            }
            if !piece.is_empty() {
                partial.pieces.push(piece);
            }
        }
        if !from.0.is_empty() {
            return Err(invalid_bytes("more bytes follow the end"));
        }
        let pieces = partial.pieces.iter();
        if any_overlap(pieces.map(|piece| &piece.ranges[..]).collect()) {
            return Err(invalid_bytes("two pieces have the same element"));
        }
        Ok(partial)
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

    fn text(&mut self) -> Result<&'b str, BroadcastError> {
        let len = self.size()?;
        std::str::from_utf8(self.take(len)?).map_err(|_| invalid_bytes("a name is no UTF-8"))
    }

    fn values<A: AccumulatorBytes>(&mut self, count: usize) -> Result<Vec<A>, BroadcastError> {
        // All bytes are there before memory for the values is allocated.
        let len = count.checked_mul(A::SIZE).ok_or_else(Reader::cut_short)?;
        let mut from = Reader(self.take(len)?);
        let mut values = reserved(count)?;
        for _ in 0..count {
            values.push(from.value()?);
        }
        Ok(values)
    }

    fn ranges(&mut self, rank: usize) -> Result<Vec<Range<usize>>, BroadcastError> {
        let ends: Vec<usize> = self.values(2 * rank)?;
        Ok(ends.chunks_exact(2).map(|ends| ends[0]..ends[1]).collect())
    }

    fn plan(&mut self) -> Result<BroadcastPlan, BroadcastError> {
        let rank = self.size()?;
        let input: Vec<usize> = self.values(rank)?;
        let output_rank = self.size()?;
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
        let input = dimension::<IxDyn>(&input);
        BroadcastPlan::new(Rule::Composed, input, &output, |axis| axes[axis])
            .map_err(|_| invalid_bytes("no plan has these shapes"))
    }
}

#[cfg(feature = "serde")]
mod with_serde {
    use super::*;
    use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
    use serde::ser::{Serialize, Serializer};
    use std::fmt;

    /// As [`to_bytes`](Accumulation::to_bytes).
    impl<T, R: Reduction<T, Acc: AccumulatorBytes>> Serialize for Accumulation<T, R> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_bytes(&self.to_bytes())
        }
    }

    /// As [`from_bytes`](Accumulation::from_bytes), which checks everything.
    impl<'de, T, R> Deserialize<'de> for Accumulation<T, R>
    where
        R: Reduction<T, Acc: AccumulatorBytes> + Default,
    {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let bytes = deserializer.deserialize_byte_buf(Bytes)?;
            Accumulation::from_bytes(&bytes, R::default()).map_err(D::Error::custom)
        }
    }

    struct Bytes;

    impl<'de> Visitor<'de> for Bytes {
        type Value = Vec<u8>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the bytes of an accumulation")
        }

        fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
            Ok(bytes.to_vec())
        }

        /// Formats without a type for bytes, such as JSON, have a list of numbers.
        fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Vec<u8>, S::Error> {
            std::iter::from_fn(|| list.next_element().transpose()).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    // A box of one axis is a list of one range.
    #![allow(clippy::single_range_in_vec_init)]

    use super::*;
    use crate::{ErrorKind, reduction::Sum};
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

    /// A range of elements and the nodes that they have.
    type Nodes<'n> = (Range<usize>, &'n [Range<usize>]);

    /// What is read of the bytes of sums over 5000 terms, 5 blocks.
    fn read(pieces: &[Nodes<'_>]) -> Result<Accumulation<f32, Sum>, BroadcastError> {
        let plan = BroadcastPlan::explicit(2, (5000, 2), &[1]).unwrap();
        let mut sum = Accumulation::<f32, _>::new(&plan, Sum);
        for (element, nodes) in pieces {
            let mut piece = Piece::of_nothing([element.clone()].into());
            for node in *nodes {
                let values = ArrayD::ones(IxDyn(&[element.len()]));
                piece.nodes.insert((node.start, node.end), values);
            }
            sum.pieces.push(piece);
        }
        Accumulation::from_bytes(&sum.to_bytes(), Sum)
    }

    #[test]
    fn pieces_that_fit_are_read() {
        let cases: [&[Nodes<'_>]; 7] = [
            &[],
            &[(0..2, &[])],
            &[(0..2, &[0..2, 4..5])],
            &[(0..1, &[0..1]), (1..2, &[])],
            &[(0..1, &[0..1]), (1..2, &[1..2, 2..4])],
            &[(0..2, &[4..5])],
            &[(0..2, &[0..5])],
        ];
        for pieces in cases {
            assert!(read(pieces).is_ok());
        }
    }

    #[test]
    fn pieces_that_do_not_fit_are_refused() {
        let outside = "a box is not inside the shape of its plan";
        let no_node = "the plan has no such node";
        let halves = "two nodes are halves of another one";
        let cases: [(&[Nodes<'_>], _); 13] = [
            (&[(0..3, &[])], outside),
            (&[(1..1, &[])], outside),
            (&[(0..2, &[5..6])], no_node),
            (&[(0..2, &[4..6])], no_node),
            (&[(0..2, &[1..3])], no_node),
            (&[(0..2, &[0..3])], no_node),
            (&[(0..2, &[3..5])], no_node),
            (&[(0..2, &[2..2])], no_node),
            (&[(0..2, &[0..usize::MAX])], no_node),
            (&[(0..2, &[0..2, 1..2])], "two nodes have the same block"),
            (&[(0..2, &[0..1, 1..2])], halves),
            (&[(0..2, &[0..4, 4..5])], halves),
            (
                &[(0..2, &[0..1]), (1..2, &[1..2])],
                "two pieces have the same element",
            ),
        ];
        for (pieces, text) in cases {
            let error = read(pieces).unwrap_err();
            let of_bytes = matches!(error.kind(), ErrorKind::InvalidBytes { .. });
            assert!(of_bytes, "{error}");
            let message = error.to_string();
            assert!(message.contains(text), "{message}\n{text}");
        }
    }
}
