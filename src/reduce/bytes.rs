//! Accumulations as bytes.
//!
//! All integers have 64 bits and are little-endian.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `ndbpart3` |
//! | list | the name of the reduction, in UTF-8 |
//! | list | the name of the type of the accumulators |
//! | list | the input's sizes |
//! | list | the output's sizes |
//! | list | for each input axis the output axis that it feeds; the output's rank if none |
//! | 24, list | nodes: the first element, the first block, the end of the blocks, accumulators |
//! | 8 | FNV-1a of all bytes before |
//!
//! A list is its length and its values. Nodes of the same elements follow each other. Otherwise the
//! elements of each node are behind those of the node before it.

use super::accumulation::{Accumulation, Pieces, Tree, common_blocks, shown};
use super::reduction::Reduction;
use crate::error::{PartsFault, Result, invalid_bytes, parts_mismatch, reserved};
use crate::plan::BroadcastPlan;
use crate::rule::Rule;
use crate::shape::dimension;
use num_complex::Complex;
use std::collections::HashSet;
use std::num::Wrapping;

const MAGIC: &[u8; 8] = b"ndbpart3";

/// An accumulator as bytes, for [`Accumulation::to_bytes`].
///
/// Integers, floats, `bool`, and pairs, `Complex` and `Wrapping` of these have it; with the feature
/// `half` its floats too. Implement it for accumulators of your own:
///
/// ```
/// use ndarray_broadcast::distributed::AccumulatorBytes;
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct MinMax(i32, i32);
///
/// impl AccumulatorBytes for MinMax {
///     const SIZE: usize = 8;
///
///     fn name() -> String {
///         "MinMax".into()
///     }
///     fn write(self, to: &mut Vec<u8>) {
///         self.0.write(to);
///         self.1.write(to);
///     }
///     fn read(from: &mut &[u8]) -> Option<Self> {
///         Some(MinMax(i32::read(from)?, i32::read(from)?))
///     }
/// }
///
/// let mut bytes = Vec::new();
/// MinMax(-1, 258).write(&mut bytes);
/// assert_eq!(bytes, [255, 255, 255, 255, 2, 1, 0, 0]);
/// assert_eq!(MinMax::read(&mut &bytes[..]), Some(MinMax(-1, 258)));
/// ```
pub trait AccumulatorBytes: Copy {
    /// How many bytes [`write`](Self::write) appends, at least one. With 0,
    /// [`to_bytes`](Accumulation::to_bytes) and [`from_bytes`](Accumulation::from_bytes) do
    /// not compile.
    const SIZE: usize;

    /// The name of the type, the same on every target. Bytes of another type are refused. Example:
    /// [`AccumulatorBytes`].
    fn name() -> String;

    /// Appends the value in `SIZE` bytes, the same on every target. Example: [`AccumulatorBytes`].
    fn write(self, to: &mut Vec<u8>);

    /// The value of the first `SIZE` bytes, which are removed from `from`. `None` if there are
    /// fewer, or if no value has them. Example: [`AccumulatorBytes`].
    fn read(from: &mut &[u8]) -> Option<Self>;
}

macro_rules! number_bytes {
    ($($(#[$cfg:meta])? $T:ty, $name:literal, $Bytes:ty;)*) => {$(
        $(#[$cfg])?
        impl AccumulatorBytes for $T {
            const SIZE: usize = size_of::<$Bytes>();

            fn name() -> String {
                $name.into()
            }

            fn write(self, to: &mut Vec<u8>) {
                to.extend((self as $Bytes).to_le_bytes());
            }

            fn read(from: &mut &[u8]) -> Option<Self> {
                let (bytes, rest) = from.split_first_chunk()?;
                *from = rest;
                <$Bytes>::from_le_bytes(*bytes).try_into().ok()
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
    const SIZE: usize = 1;

    fn name() -> String {
        "bool".into()
    }

    fn write(self, to: &mut Vec<u8>) {
        u8::from(self).write(to);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        let byte = u8::read(from)?;
        (byte <= 1).then_some(byte == 1)
    }
}

impl<A: AccumulatorBytes, B: AccumulatorBytes> AccumulatorBytes for (A, B) {
    const SIZE: usize = A::SIZE + B::SIZE;

    fn name() -> String {
        format!("({}, {})", A::name(), B::name())
    }

    fn write(self, to: &mut Vec<u8>) {
        self.0.write(to);
        self.1.write(to);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        Some((A::read(from)?, B::read(from)?))
    }
}

impl<T: AccumulatorBytes> AccumulatorBytes for Complex<T> {
    const SIZE: usize = 2 * T::SIZE;

    fn name() -> String {
        format!("Complex<{}>", T::name())
    }

    fn write(self, to: &mut Vec<u8>) {
        (self.re, self.im).write(to);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        <(T, T)>::read(from).map(|(re, im)| Complex { re, im })
    }
}

impl<T: AccumulatorBytes> AccumulatorBytes for Wrapping<T> {
    const SIZE: usize = T::SIZE;

    fn name() -> String {
        format!("Wrapping<{}>", T::name())
    }

    fn write(self, to: &mut Vec<u8>) {
        self.0.write(to);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        T::read(from).map(Wrapping)
    }
}

/// A list, as [`read_list`] reads it.
fn write_list<A: AccumulatorBytes>(values: &[A], to: &mut Vec<u8>) {
    values.len().write(to);
    to.reserve(size_of_val(values));
    values.iter().for_each(|value| value.write(to));
}

/// A list that [`write_list`] has written, removed from `from`.
///
/// # Errors
///
/// `InvalidBytes`, `AllocationFailed`.
fn read_list<A: AccumulatorBytes>(from: &mut &[u8]) -> Result<Vec<A>> {
    // All bytes must be there before memory for the values is allocated.
    let count = usize::read(from).filter(|&count| count <= from.len() / A::SIZE);
    let count = count.ok_or_else(|| invalid_bytes("a list is longer than they are"))?;
    let mut values = reserved(count)?;
    for _ in 0..count {
        let value = A::read(from);
        values.push(value.ok_or_else(|| invalid_bytes("a value is not valid for its type"))?);
    }
    Ok(values)
}

/// The plan of which [`Accumulation::to_bytes`] has written the shapes and axes.
///
/// # Errors
///
/// `InvalidBytes`, `AllocationFailed`.
fn read_plan(from: &mut &[u8]) -> Result<BroadcastPlan> {
    let [input, output, axes] = [read_list(from)?, read_list(from)?, read_list(from)?];
    let (rank, mut fed) = (output.len(), HashSet::new());
    let is_free = |&axis: &usize| axis == rank || axis < rank && fed.insert(axis);
    if axes.len() != input.len() || !axes.iter().all(is_free) {
        return Err(invalid_bytes("no plan has these axes"));
    }
    let (input, output) = (dimension(&input), dimension(&output));
    let plan = BroadcastPlan::new(Rule::Composed, input, output, |at| axes[at]);
    plan.map_err(|_| invalid_bytes("no plan has these shapes"))
}

/// FNV-1a, 64 bits. One byte that differs always changes it.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

impl<T, R: Reduction<T>> Accumulation<T, R> {
    /// As bytes, the same on every target. A header names the plan, the reduction and the type.
    /// Then follow the accumulators, with 32 bytes for each node of elements that follow each
    /// other.
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
    ///     "invalid bytes of an accumulation: they are cut short, or were changed",
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
        for name in [R::NAME, &R::Acc::name()] {
            write_list(name.as_bytes(), &mut bytes);
        }
        let plan = &self.plan;
        for list in [plan.input_shape(), plan.output_shape(), plan.output_axes()] {
            write_list(list, &mut bytes);
        }
        for (&(first, (start, end)), values) in &self.pieces {
            for number in [first, start, end] {
                number.write(&mut bytes);
            }
            write_list(values, &mut bytes);
        }
        checksum(&bytes).write(&mut bytes);
        bytes
    }

    /// The value of [`to_bytes`](Self::to_bytes), of which everything is checked but the values of
    /// the accumulators: counts and positions may be any numbers. Example: there.
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
    pub fn from_bytes(bytes: &[u8], reduction: R) -> Result<Self>
    where
        R::Acc: AccumulatorBytes,
    {
        // The number of bytes bounds how many accumulators are read.
        const { assert!(R::Acc::SIZE > 0, "an accumulator is read from no bytes") };
        let content = bytes.split_last_chunk();
        let content = content.filter(|&(content, sum)| checksum(content).to_le_bytes() == *sum);
        let (mut from, _) =
            content.ok_or_else(|| invalid_bytes("they are cut short, or were changed"))?;
        from = (from.strip_prefix(MAGIC))
            .ok_or_else(|| invalid_bytes("they do not begin with \"ndbpart3\""))?;
        let names = [read_list(&mut from)?, read_list(&mut from)?];
        let [name, kind] = names.each_ref().map(|name| String::from_utf8_lossy(name));
        let own_kind = R::Acc::name();
        if (&*name, &*kind) != (R::NAME, &own_kind) {
            // Names in bytes may be of any length, and have line breaks.
            let [name, kind] =
                [shown(&name), &kind].map(|text| text.escape_debug().take(64).collect::<String>());
            return Err(parts_mismatch(PartsFault::OtherReduction {
                first: format!("{name} in {kind}").into(),
                second: format!("{} in {own_kind}", shown(R::NAME)).into(),
            }));
        }
        let plan = read_plan(&mut from)?;
        let count: usize = plan.input_shape().iter().product();
        let tree = Tree::of(&plan);
        let mut pieces = Pieces::<R::Acc>::new();
        while !from.is_empty() {
            let [first, start, end] =
                [(); 3].map(|()| usize::read(&mut from).unwrap_or(usize::MAX));
            let (node, values) = ((start, end), read_list(&mut from)?);
            if tree.nodes_of(start..end).next() != Some(node) {
                return Err(invalid_bytes("the plan has no such node"));
            }
            let last = pieces.last_key_value();
            let (at, len) = last.map_or((0, 0), |(key, values)| (key.0, values.len()));
            let follows = first >= at + len || (first, values.len()) == (at, len);
            let fits = values.len() <= count.saturating_sub(first);
            if values.is_empty() || !follows || !fits {
                return Err(invalid_bytes(
                    "the elements of a node are none, or of two nodes",
                ));
            }
            // Halves of a node would have been written as that one.
            let half = (tree.sibling(node)).filter(|half| pieces.contains_key(&(first, *half)));
            if common_blocks(&pieces, (first, node)).is_some() || half.is_some() {
                return Err(invalid_bytes(
                    "two nodes are of the same block, or halves of one",
                ));
            }
            pieces.insert((first, node), values);
        }
        Ok(Accumulation::of(&plan, reduction, pieces))
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
    use crate::reduce::variance::Moments;
    use crate::{ErrorKind, reduction::Sum};
    use std::fmt::Debug;
    use std::ops::Range;

    #[track_caller]
    fn check_number<A: AccumulatorBytes + PartialEq + Debug>(
        name: &str,
        number: A,
        expected: &[u8],
    ) {
        assert_eq!((&*A::name(), A::SIZE), (name, expected.len()));
        let mut bytes = vec![7];
        number.write(&mut bytes);
        bytes.push(9);
        assert_eq!(bytes, [&[7], expected, &[9]].concat());
        let mut from = &bytes[1..];
        assert_eq!((A::read(&mut from), from), (Some(number), &[9_u8][..]));
        assert_eq!(A::read(&mut &expected[1..]), None, "one byte is missing");
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
        assert_eq!(bool::read(&mut &[2][..]), None);
        let pair = [0xfd, 0xff, 5, 0, 0, 0, 0, 0, 0, 0];
        check_number("(i16, usize)", (-3_i16, 5_usize), &pair);
        assert_eq!(Moments::name(), "moments in f64");
        let most = usize::read(&mut &[255; 8][..]);
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
    fn read(pieces: &[Nodes<'_>]) -> Result<Accumulation<f32, Sum>> {
        let plan = BroadcastPlan::explicit(2, (5000, 2), &[1]).unwrap();
        let mut sum = Accumulation::<f32, _>::new(&plan, Sum);
        for (elements, nodes) in pieces {
            let ones = vec![1.; elements.len()];
            for node in *nodes {
                let key = (elements.start, (node.start, node.end));
                sum.pieces.insert(key, ones.clone());
            }
        }
        Accumulation::from_bytes(&sum.to_bytes(), Sum)
    }

    #[test]
    fn pieces_that_fit_are_read() {
        let cases: [&[Nodes<'_>]; 5] = [
            &[],
            &[(0..2, &[0..2, 4..5])],
            &[(0..1, &[0..1]), (1..2, &[1..2, 2..4])],
            &[(0..2, &[4..5])],
            &[(1..2, &[0..5])],
        ];
        for pieces in cases {
            assert!(read(pieces).is_ok());
        }
    }

    #[test]
    fn pieces_that_do_not_fit_are_refused() {
        let elements = "the elements of a node are none, or of two nodes";
        let no_node = "the plan has no such node";
        let blocks = "two nodes are of the same block, or halves of one";
        let cases: [(&[Nodes<'_>], _); 15] = [
            (&[(0..3, &[0..1])], elements),
            (&[(2..3, &[0..1])], elements),
            (&[(usize::MAX - 1..usize::MAX, &[0..1])], elements),
            (&[(1..1, &[0..1])], elements),
            (&[(0..2, &[0..1]), (1..2, &[1..2])], elements),
            (&[(0..2, &[5..6])], no_node),
            (&[(0..2, &[4..6])], no_node),
            (&[(0..2, &[1..3])], no_node),
            (&[(0..2, &[0..3])], no_node),
            (&[(0..2, &[3..5])], no_node),
            (&[(0..2, &[2..2])], no_node),
            (&[(0..2, &[0..usize::MAX])], no_node),
            (&[(0..2, &[0..2, 1..2])], blocks),
            (&[(0..2, &[0..1, 1..2])], blocks),
            (&[(0..2, &[0..4, 4..5])], blocks),
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
