//! Draws shapes under each other, axis by axis, for errors and plans. Nothing here allocates.

use crate::shape::KEEP;
use std::fmt;
use std::ops::Range;

/// Of a shape with more axes, only this many are drawn, around the axis of interest.
const WINDOW: usize = 32;

/// A value that the closure writes.
pub(crate) fn display<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result>(
    write: F,
) -> impl fmt::Display {
    struct Written<F>(F);
    impl<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result> fmt::Display for Written<F> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            (self.0)(f)
        }
    }
    Written(write)
}

/// What stands in a column: a size, or what is known of one.
pub(crate) trait Cell: Clone {
    /// The text of the cell.
    fn shown(&self) -> impl fmt::Display;
}

impl Cell for usize {
    fn shown(&self) -> impl fmt::Display {
        Size(*self)
    }
}

impl Cell for isize {
    fn shown(&self) -> impl fmt::Display {
        *self
    }
}

impl Cell for Range<usize> {
    fn shown(&self) -> impl fmt::Display {
        display(|f| write!(f, "{}..{}", self.start, self.end))
    }
}

/// A shape as ndarray prints it: `[3, 1, 5]`. The end of a very long shape is left out.
pub(crate) fn list<T: Cell>(shape: &[T]) -> impl fmt::Display {
    entries(shape.iter().cloned())
}

/// [`list`], from an iterator.
pub(crate) fn entries<T: Cell>(
    entries: impl ExactSizeIterator<Item = T> + Clone,
) -> impl fmt::Display {
    display(move |f| {
        f.write_str("[")?;
        for (axis, entry) in entries.clone().take(WINDOW).enumerate() {
            let separator = if axis > 0 { ", " } else { "" };
            write!(f, "{separator}{}", entry.shown())?;
        }
        if entries.len() > WINDOW {
            write!(f, ", ... {} axes", entries.len())?;
        }
        f.write_str("]")
    })
}

/// One size or axis. `usize::MAX` is shown as -1: it is [`KEEP`], or a -1 that was cast.
pub(crate) struct Size(pub(crate) usize);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            KEEP => f.pad("-1"),
            size => size.fmt(f),
        }
    }
}

/// The columns in which the axes of a row are drawn.
#[derive(Clone, Copy)]
pub(crate) enum Place<'a> {
    /// Consecutive columns, from this one on.
    From(usize),
    /// Axis `i` in column `mapping[i]`, where the other row has this column.
    Mapped(&'a [usize]),
}

/// A label, the sizes, and their columns.
type Row<'a, T> = (&'a str, &'a [T], Place<'a>);

/// Two shapes, the second under the first.
pub(crate) struct Picture<'a, T = usize, U = usize> {
    first: Row<'a, T>,
    second: Row<'a, U>,
}

impl<'a> Picture<'a> {
    /// One shape.
    pub(crate) fn of_one(label: &'a str, shape: &'a [usize]) -> Self {
        Picture::left_aligned([label, ""], shape, &[])
    }

    /// The size in a column of row 0 or 1.
    pub(crate) fn size(&self, row: usize, column: usize) -> Option<usize> {
        cell([&self.first, &self.second][row], column).copied()
    }
}

/// What a row has in a column.
fn cell<'a, T>((_, sizes, place): &Row<'a, T>, column: usize) -> Option<&'a T> {
    let axis = match place {
        Place::From(first) => column.checked_sub(*first)?,
        Place::Mapped(mapping) => mapping.iter().position(|&c| c == column)?,
    };
    sizes.get(axis)
}

impl<'a, T: Cell, U: Cell> Picture<'a, T, U> {
    pub(crate) fn new(first: Row<'a, T>, second: Row<'a, U>) -> Self {
        Picture { first, second }
    }

    /// What the rows have in a column.
    pub(crate) fn cells(&self, column: usize) -> (Option<&'a T>, Option<&'a U>) {
        (cell(&self.first, column), cell(&self.second, column))
    }

    pub(crate) fn left_aligned(labels: [&'a str; 2], a: &'a [T], b: &'a [U]) -> Self {
        let place = Place::From(0);
        Picture::new((labels[0], a, place), (labels[1], b, place))
    }

    pub(crate) fn right_aligned(labels: [&'a str; 2], a: &'a [T], b: &'a [U]) -> Self {
        let place = |this: usize, other: usize| Place::From(other.saturating_sub(this));
        let (place_a, place_b) = (place(a.len(), b.len()), place(b.len(), a.len()));
        Picture::new((labels[0], a, place_a), (labels[1], b, place_b))
    }

    /// How many columns there are.
    fn rank(&self) -> usize {
        let end = |place, len| match place {
            Place::From(first) => first + len,
            Place::Mapped(_) => 0,
        };
        end(self.first.2, self.first.1.len()).max(end(self.second.2, self.second.1.len()))
    }

    fn column_width(&self, column: usize) -> usize {
        let first = cell(&self.first, column).map(|cell| chars(&cell.shown()));
        let second = cell(&self.second, column).map(|cell| chars(&cell.shown()));
        first.max(second).unwrap_or(1)
    }

    /// The columns that are drawn if `column` is the one of interest.
    fn window(&self, column: usize) -> Range<usize> {
        let rank = self.rank();
        let start = column.saturating_sub(WINDOW / 2);
        let start = start.min(rank.saturating_sub(WINDOW));
        start..rank.min(start + WINDOW)
    }

    /// Draws each row on its own line. Long rows are drawn around `column`.
    pub(crate) fn rows(&self, f: &mut fmt::Formatter<'_>, column: usize) -> fmt::Result {
        self.line(f, self.first.0, column, |column| {
            cell(&self.first, column).map(Cell::shown)
        })?;
        match self.second.0 {
            "" => Ok(()),
            label => self.line(f, label, column, |column| {
                cell(&self.second, column).map(Cell::shown)
            }),
        }
    }

    /// Draws the rows, then a mark under `column`, and a space for the text that follows. If
    /// columns before the window are left out, the number of the column is written too.
    pub(crate) fn caret(&self, f: &mut fmt::Formatter<'_>, column: usize) -> fmt::Result {
        self.rows(f, column)?;
        self.line(f, "", column, |c| (c == column).then_some("^"))?;
        match self.window(column).start {
            0 => f.write_str(" "),
            _ => write!(f, " at {column}: "),
        }
    }

    /// Draws a line: a label or "", then right-aligned text in the columns around `column`.
    ///
    /// The line has no trailing blanks: blanks are written only when text follows them. If there
    /// is neither label nor text, no line is drawn.
    pub(crate) fn line<V: fmt::Display>(
        &self,
        f: &mut fmt::Formatter<'_>,
        label: &str,
        column: usize,
        text: impl Fn(usize) -> Option<V>,
    ) -> fmt::Result {
        let window = self.window(column);
        if label.is_empty() && window.clone().all(|column| text(column).is_none()) {
            return Ok(());
        }
        let label_width = self.first.0.len().max(self.second.0.len());
        f.write_str("\n")?;
        let mut blanks = 2;
        if !label.is_empty() {
            put(f, &mut blanks, label)?;
        }
        blanks += label_width + 1 - label.len();
        match (window.start, label) {
            (0, _) => {}
            (_, "") => blanks += 1,
            _ => put(f, &mut blanks, "…")?,
        }
        for column in window.clone() {
            blanks += 2;
            let width = self.column_width(column);
            match text(column) {
                Some(text) => {
                    blanks += width.saturating_sub(chars(&text));
                    put(f, &mut blanks, text)?;
                }
                None => blanks += width,
            }
        }
        if window.end < self.rank() && !label.is_empty() {
            blanks += 2;
            put(f, &mut blanks, "…")?;
        }
        Ok(())
    }
}

/// Writes the blanks, of which none are left then, and the text, right-aligned.
fn put(f: &mut fmt::Formatter<'_>, blanks: &mut usize, text: impl fmt::Display) -> fmt::Result {
    write!(f, "{:1$}{text}", "", std::mem::take(blanks))
}

/// How many characters a value prints.
fn chars(value: &impl fmt::Display) -> usize {
    struct Count(usize);
    impl fmt::Write for Count {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 += text.chars().count();
            Ok(())
        }
    }
    let mut count = Count(0);
    // `Count` never fails. A value that does is counted up to there.
    let _ = fmt::write(&mut count, format_args!("{value}"));
    count.0
}
