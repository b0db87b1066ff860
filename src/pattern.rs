//! [`AxisPattern`]: axes by name, and the text form of the rule.

use crate::error::{BroadcastError, PatternFault, Result, invalid_pattern, shape_overflow};
use crate::shape::elements;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::str::FromStr;

/// A broadcast in terms of axis names: `c -> n c h w`.
///
/// On the left stand the names of the input's axes, on the right those of the output's, separated
/// by blanks. The order may change. Every named input axis is in the output. The output axes that
/// the input lacks are added. A `1` on the left is an axis of size 1 that is dropped. An integer on
/// the right is an added axis of this size. `()` is the same as `1`. No axis is stretched.
///
/// `...` stands for any number of axes: `... h -> ... h w` adds an axis behind all others. It may
/// stand once on each side, and stands for as many axes in each array.
///
/// Names in parentheses are one axis of the array: `(h w) -> h w` splits it, `h w -> (h w)` merges
/// two. [`view`](AxisPattern::view) takes such patterns, of one array, and so does
/// [`broadcast_named`](crate::BroadcastExt::broadcast_named). A plan neither splits nor merges.
///
/// `AxisPattern<2>` is the pattern of two arrays, `c h, h w -> c h w`. `N` is 1 to 6. Without an
/// arrow, the output has the axes in the order of their first appearance: `c h, h w` is the same.
///
/// With the feature `serde` it serialises as its text.
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::named::AxisPattern;
///
/// let pattern: AxisPattern = "h w -> w copies h".parse()?;
/// let plan = pattern.plan((2, 3), &[("copies", 4)])?;
/// assert_eq!(plan.output_shape(), [3, 4, 2]);
/// assert_eq!(pattern.to_string(), "h w -> w copies h");
///
/// let outer: AxisPattern<2> = "x, y".parse()?;
/// assert_eq!(outer.to_string(), "x, y -> x y");
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
///
/// Source: einops `repeat`. For two arrays, xarray's broadcasting by dimension name.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct AxisPattern<const N: usize = 1> {
    text: Box<str>,
    pub(crate) operands: [NameList; N],
    pub(crate) output: NameList,
}

/// The axes of one array, by their names.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct NameList {
    /// Where the list begins in the text.
    pub(crate) at: usize,
    pub(crate) names: Vec<Name>,
}

/// One axis.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Name {
    /// Where the name begins in the text.
    pub(crate) at: usize,
    pub(crate) text: Box<str>,
    /// The size, for an integer.
    pub(crate) size: Option<usize>,
    /// Whether it is one axis with the name before it, in a group: `(h w)`.
    joins: bool,
    /// Of an operand: the output axis that it feeds, or the output's rank.
    pub(crate) output_axis: usize,
}

impl NameList {
    /// The names in a list, which is a part of the text. If it `is_expanded`, it may have names of
    /// axes of `...`.
    fn parse(text: &str, list: &str, is_expanded: bool) -> Result<Self> {
        let (mut names, mut is_open) = (Vec::new(), false);
        let refused = |at, expected| invalid_pattern(text, at, PatternFault::Syntax(expected));
        for word in list.split(' ').filter(|word| !word.is_empty()) {
            let joins = is_open;
            let opened = word.strip_prefix('(').filter(|_| !joins);
            let inner = opened.unwrap_or(word);
            is_open |= opened.is_some();
            let closed = inner.strip_suffix(')').filter(|_| is_open);
            let word = closed.unwrap_or(inner);
            is_open &= closed.is_none();
            let at = offset(text, word);
            let is_size = word.starts_with(|first: char| first.is_ascii_digit());
            let size = is_size.then(|| word.parse()).transpose();
            let expected = "a size that fits usize, or a name that begins with no digit";
            let size = size.map_err(|_| refused(at, expected))?;
            let stray = |character: char| !character.is_alphanumeric() && character != '_';
            let of_ellipsis = word == ELLIPSIS || is_expanded && word.starts_with(ELLIPSIS);
            if let Some(inside) = word.find(stray).filter(|_| !of_ellipsis) {
                let expected = match word[inside..].chars().next() {
                    Some('(' | ')') => "a name: each ( has its ), and no group is in a group",
                    Some('.') => "a name, or ... for any number of axes",
                    _ => "a name of letters, digits and _",
                };
                return Err(refused(at + inside, expected));
            }
            names.push(Name {
                at,
                text: word.into(),
                size,
                joins,
                output_axis: names.len(),
            });
        }
        if is_open {
            let end = offset(text, list) + list.trim_end().len();
            return Err(refused(end, ") at the end of the group"));
        }
        let begin = match names[..] {
            [] => list,
            _ => list.trim_start(),
        };
        let at = offset(text, begin);
        Ok(NameList { at, names })
    }

    /// The names of each axis: several in a group, else one.
    pub(crate) fn axes(&self) -> impl DoubleEndedIterator<Item = &[Name]> {
        self.names.chunk_by(|_, name| name.joins)
    }

    /// Where `...` stands in the text of the pattern, if it does.
    fn ellipsis(&self) -> Option<usize> {
        let mut names = self.names.iter();
        Some(names.find(|name| &*name.text == ELLIPSIS)?.at)
    }

    /// The position in the list of each name that is not a size.
    fn positions(&self, text: &str) -> Result<HashMap<&str, usize>> {
        let mut positions = HashMap::new();
        for (position, name) in self.names.iter().enumerate() {
            if name.size.is_none() && positions.insert(&*name.text, position).is_some() {
                return Err(invalid_pattern(text, name.at, PatternFault::AxisTwice));
            }
        }
        Ok(positions)
    }
}

impl AxisPattern {
    /// For each axis of an array of this shape, the sizes of its names. In a group, one size may
    /// follow from the others.
    pub(crate) fn split_sizes(
        &self,
        shape: &[usize],
        sizes: &[(&str, usize)],
    ) -> Result<Vec<Vec<usize>>> {
        let list = &self.operands[0];
        self.check_rank(list, shape.len())?;
        // If a name is given twice, this is its first size. The plan refuses another.
        let sizes: HashMap<_, _> = sizes.iter().rev().copied().collect();
        let axes = list.axes().zip(shape);
        let axes = axes.map(|(names, &size)| match names {
            [_] => Ok(vec![size]),
            _ => self.group_sizes(names, size, &sizes),
        });
        axes.collect()
    }

    /// The sizes of the names in a group, which together are an axis of this size.
    fn group_sizes(
        &self,
        names: &[Name],
        size: usize,
        sizes: &HashMap<&str, usize>,
    ) -> Result<Vec<usize>> {
        let (mut given, mut inferred) = (Vec::new(), None);
        for (at, name) in names.iter().enumerate() {
            let of_name = name.size.or(sizes.get(&*name.text).copied());
            if of_name.is_none() && inferred.replace(at).is_some() {
                return Err(self.error(name.at, PatternFault::SizeMissing));
            }
            given.push(of_name.unwrap_or(1));
        }
        let known = elements(&given).ok_or_else(|| shape_overflow(&given, None))?;
        let fault = match inferred {
            Some(at) if size.checked_rem(known) == Some(0) => {
                given[at] = size / known;
                return Ok(given);
            }
            None if known == size => return Ok(given),
            Some(_) => PatternFault::Indivisible([size, known]),
            None => PatternFault::SizesDiffer([size.into(), known.into()]),
        };
        Err(self.error(names[0].at - 1, fault))
    }
}

impl<const N: usize> AxisPattern<N> {
    /// The shape has as many axes as the list.
    pub(crate) fn check_rank(&self, list: &NameList, rank: usize) -> Result<()> {
        let names = list.axes().count();
        match names == rank {
            true => Ok(()),
            false => Err(self.error(list.at, PatternFault::Rank { names, rank })),
        }
    }

    /// [`expanded`](Self::expanded) for a plan, and whether a rank says how many axes `...` stands
    /// for. If no rank does, `...` stands for no axis: a shape that does not fit then fits for no
    /// number of axes.
    ///
    /// # Errors
    ///
    /// `InvalidPattern` if the pattern has groups of several axes, or of `...`.
    pub(crate) fn of_ranks(&self, ranks: [Option<usize>; N]) -> Result<(Cow<'_, Self>, bool)> {
        let is_group = |names: &[Name]| match names {
            [name] => &*name.text == ELLIPSIS && self.text[..name.at].ends_with('('),
            _ => true,
        };
        let mut lists = self.operands.iter().chain([&self.output]);
        if let Some(names) = lists.find_map(|list| list.axes().find(|names| is_group(names))) {
            let expected = "a name: only broadcast_named and AxisPattern::view take groups";
            return Err(self.error(names[0].at - 1, PatternFault::Syntax(expected)));
        }
        if let Some(expanded) = self.expanded(ranks)? {
            return Ok((expanded, true));
        }
        let lists = self.operands.each_ref();
        let least = lists.map(|list| list.names.len().checked_sub(1));
        let expanded = self.expanded(least)?;
        Ok((expanded.unwrap_or(Cow::Borrowed(self)), false))
    }

    /// The pattern with as many names instead of `...` as an array of known rank needs: `...0`,
    /// `...1`, which no caller can give to an axis. Itself if it has no `...`, or if the ranks do
    /// not fit, which is then an error of the rule. `None` if no rank says how many.
    pub(crate) fn expanded(&self, ranks: [Option<usize>; N]) -> Result<Option<Cow<'_, Self>>> {
        let has_ellipsis = |list: &NameList| list.ellipsis().is_some();
        if !has_ellipsis(&self.output) {
            return Ok(Some(Cow::Borrowed(self)));
        }
        let lists = self.operands.iter().zip(ranks);
        let mut known = lists
            .filter(|(list, _)| has_ellipsis(list))
            .filter_map(|(list, rank)| Some((list.axes().count(), rank?)));
        let Some((names, rank)) = known.next() else {
            return Ok(None);
        };
        let Some(count) = (rank + 1).checked_sub(names) else {
            return Ok(Some(Cow::Borrowed(self)));
        };
        let names: Vec<_> = (0..count).map(|axis| format!("{ELLIPSIS}{axis}")).collect();
        let text = self.text.replace(ELLIPSIS, &names.join(" "));
        Ok(Some(Cow::Owned(Self::parse(&text, true)?)))
    }

    /// The pattern of a text. If it `is_expanded`, it may have names of axes of `...`.
    fn parse(text: &str, is_expanded: bool) -> Result<Self> {
        const { assert!(N >= 1 && N <= 6, "a pattern is of one to six arrays") };
        let mut text = normal(text);
        if N > 1 && !text.contains("->") {
            text = with_output(&text)?;
        }
        let refused = |at, fault| Err(invalid_pattern(&text, at, fault));
        let expected = |at, what| refused(at, PatternFault::Syntax(what));
        let Some((left, right)) = text.split_once("->") else {
            return expected(text.len(), "->, then the output's axes");
        };
        let output = NameList::parse(&text, right, is_expanded)?;
        let output_axis_of = output.positions(&text)?;
        let mut operands = std::array::from_fn(|_| NameList::default());
        let mut lists = left.split(',');
        for operand in &mut operands {
            let Some(list) = lists.next() else {
                return expected(left.len(), "another list of axes");
            };
            *operand = NameList::parse(&text, list, is_expanded)?;
            let is_in_group =
                |&at: &usize| text[..at].matches('(').count() > text[..at].matches(')').count();
            if let Some(at) = operand.ellipsis().filter(is_in_group) {
                return expected(at, "... outside of a group");
            }
            for name in &mut operand.names {
                name.output_axis = match (name.size, output_axis_of.get(&*name.text)) {
                    (None, Some(&axis)) => axis,
                    (None, None) => return refused(name.at, PatternFault::AxisUnknown),
                    (Some(1), _) => output.names.len(),
                    (Some(_), _) => return expected(name.at, "a name or 1"),
                };
            }
            operand.positions(&text)?;
        }
        let of_none = |_: &usize| operands.iter().all(|list| list.ellipsis().is_none());
        if let Some(at) = output.ellipsis().filter(of_none) {
            return expected(at, "... of an array, too");
        }
        if let Some(list) = lists.next() {
            let at = offset(&text, list).saturating_sub(1);
            return expected(at, "->: each array has its list already");
        }
        Ok(AxisPattern {
            text: text.into_boxed_str(),
            operands,
            output,
        })
    }

    /// The error for the pattern at this byte.
    pub(crate) fn error(&self, at: usize, fault: PatternFault) -> BroadcastError {
        invalid_pattern(&self.text, at, fault)
    }
}

impl<const N: usize> fmt::Display for AxisPattern<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl<const N: usize> fmt::Debug for AxisPattern<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

impl<const N: usize> FromStr for AxisPattern<N> {
    type Err = BroadcastError;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text, false)
    }
}

/// Stands for any number of axes.
pub(crate) const ELLIPSIS: &str = "...";

/// The text with one blank between words, but none before a comma and inside parentheses, and with
/// 1 instead of `()`.
fn normal(text: &str) -> String {
    let mut normal = String::new();
    let mut spaced = text.replace("->", " -> ");
    for mark in [",", "(", ")"] {
        spaced = spaced.replace(mark, &format!(" {mark} "));
    }
    for word in spaced.split_whitespace() {
        if !normal.is_empty() && !normal.ends_with('(') && ![",", ")"].contains(&word) {
            normal.push(' ');
        }
        normal.push_str(word);
    }
    normal.replace("()", "1")
}

/// The pattern with the output that it has by default.
fn with_output(left: &str) -> Result<String> {
    let mut output = Vec::new();
    for list in left.split(',') {
        output.extend(NameList::parse(left, list, false)?.names);
    }
    let mut seen = HashSet::new();
    output.retain(|name| name.size.is_none() && seen.insert(name.text.clone()));
    let output: Vec<_> = output.into_iter().map(|name| name.text).collect();
    Ok(format!("{left} -> {}", output.join(" ")).trim_end().into())
}

/// Where a part of the text begins.
fn offset(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

#[cfg(feature = "serde")]
impl<const N: usize> serde::Serialize for AxisPattern<N> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de, const N: usize> serde::Deserialize<'de> for AxisPattern<N> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
