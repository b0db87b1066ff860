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

/// A shape as ndarray prints it: `[3, 1, 5]`. The end of a very long shape is left out.
pub(crate) fn list(shape: &[usize]) -> impl fmt::Display {
    entries(shape.iter().copied())
}

/// [`list`], from an iterator.
pub(crate) fn entries(entries: impl ExactSizeIterator<Item = usize> + Clone) -> impl fmt::Display {
    display(move |f| {
        f.write_str("[")?;
        for (axis, size) in entries.clone().take(WINDOW).enumerate() {
            let separator = if axis > 0 { ", " } else { "" };
            write!(f, "{separator}{}", Size(size))?;
        }
        if entries.len() > WINDOW {
            write!(f, ", ... {} axes", entries.len())?;
        }
        f.write_str("]")
    })
}

/// One size or axis. `usize::MAX` is shown as -1: it is [`KEEP`], or a -1 that was cast.
pub(crate) struct Size(pub(crate) usize);

impl Size {
    fn width(&self) -> usize {
        match self.0 {
            KEEP => 2,
            size => size.checked_ilog10().unwrap_or(0) as usize + 1,
        }
    }
}

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
type Row<'a> = (&'a str, &'a [usize], Place<'a>);

/// Two shapes, the second under the first.
pub(crate) struct Picture<'a> {
    rows: [Row<'a>; 2],
}

impl<'a> Picture<'a> {
    pub(crate) fn new(first: Row<'a>, second: Row<'a>) -> Self {
        let rows = [first, second];
        Picture { rows }
    }

    pub(crate) fn left_aligned(labels: [&'a str; 2], [a, b]: [&'a [usize]; 2]) -> Self {
        let place = Place::From(0);
        Picture::new((labels[0], a, place), (labels[1], b, place))
    }

    pub(crate) fn right_aligned(labels: [&'a str; 2], [a, b]: [&'a [usize]; 2]) -> Self {
        let place =
            |this: &[usize], other: &[usize]| Place::From(other.len().saturating_sub(this.len()));
        Picture::new((labels[0], a, place(a, b)), (labels[1], b, place(b, a)))
    }

    /// The size in a column of row 0 or 1.
    pub(crate) fn size(&self, row: usize, column: usize) -> Option<usize> {
        let (_, sizes, place) = self.rows[row];
        let axis = match place {
            Place::From(first) => column.checked_sub(first)?,
            Place::Mapped(mapping) => mapping.iter().position(|&c| c == column)?,
        };
        sizes.get(axis).copied()
    }

    /// How many columns there are.
    fn rank(&self) -> usize {
        let end = |(_, sizes, place): &Row<'_>| match place {
            Place::From(first) => first + sizes.len(),
            Place::Mapped(_) => 0,
        };
        self.rows.iter().map(end).max().unwrap_or(0)
    }

    fn column_width(&self, column: usize) -> usize {
        let sizes = [0, 1].into_iter().filter_map(|row| self.size(row, column));
        sizes.map(|size| Size(size).width()).max().unwrap_or(1)
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
        for (row, (label, ..)) in self.rows.iter().enumerate() {
            self.line(f, label, column, |column| self.size(row, column).map(Size))?;
        }
        Ok(())
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
    /// The line has no trailing blanks: blanks are written only when text follows them.
    pub(crate) fn line<T: fmt::Display>(
        &self,
        f: &mut fmt::Formatter<'_>,
        label: &str,
        column: usize,
        text: impl Fn(usize) -> Option<T>,
    ) -> fmt::Result {
        let window = self.window(column);
        let label_width = self.rows.iter().map(|row| row.0.len()).max();
        f.write_str("\n")?;
        let mut blanks = 2;
        if !label.is_empty() {
            put(f, &mut blanks, label)?;
        }
        blanks += label_width.unwrap_or(0) + 1 - label.len();
        match (window.start, label) {
            (0, _) => {}
            (_, "") => blanks += 1,
            _ => put(f, &mut blanks, "…")?,
        }
        for column in window.clone() {
            blanks += 2;
            let width = self.column_width(column);
            match text(column) {
                Some(text) => put(f, &mut blanks, format_args!("{text:>width$}"))?,
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
