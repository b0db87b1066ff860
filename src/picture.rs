//! Draws shapes under each other, axis by axis, for errors and plans. Nothing here allocates.

use crate::shape::KEEP;
use std::fmt::{self, Write};
use std::ops::Range;

/// Of a shape with more axes, only this many are drawn, around the axis of interest.
const WINDOW: usize = 32;

/// A shape as ndarray prints it: `[3, 1, 5]`. The end of a very long shape is left out.
pub(crate) fn list(shape: &[usize]) -> impl fmt::Display {
    entries(shape.iter().copied())
}

/// [`list`], from an iterator.
pub(crate) fn entries(entries: impl ExactSizeIterator<Item = usize> + Clone) -> impl fmt::Display {
    struct List<I>(I);
    impl<I: ExactSizeIterator<Item = usize> + Clone> fmt::Display for List<I> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("[")?;
            for (axis, size) in self.0.clone().take(WINDOW).enumerate() {
                if axis > 0 {
                    f.write_str(", ")?;
                }
                write!(f, "{}", Size(size))?;
            }
            if self.0.len() > WINDOW {
                write!(f, ", ... {} axes", self.0.len())?;
            }
            f.write_str("]")
        }
    }
    List(entries)
}

/// One size or axis. `usize::MAX` is shown as -1: it is [`KEEP`], or a -1 that was cast.
pub(crate) struct Size(pub(crate) usize);

impl Size {
    fn width(&self) -> usize {
        if self.0 == KEEP {
            2
        } else {
            self.0.checked_ilog10().unwrap_or(0) as usize + 1
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == KEEP {
            f.write_str("-1")
        } else {
            write!(f, "{}", self.0)
        }
    }
}

/// The columns in which the axes of a row are drawn.
#[derive(Clone, Copy)]
pub(crate) enum Place<'a> {
    /// Consecutive columns, from this one on.
    From(usize),
    /// Axis `i` in column `mapping[i]`.
    Mapped(&'a [usize]),
}

struct Row<'a> {
    label: &'a str,
    sizes: &'a [usize],
    place: Place<'a>,
}

impl Row<'_> {
    fn at(&self, column: usize) -> Option<usize> {
        let axis = match self.place {
            Place::From(first) => column.checked_sub(first)?,
            Place::Mapped(mapping) => mapping.iter().position(|&c| c == column)?,
        };
        self.sizes.get(axis).copied()
    }
}

/// Two shapes, the second under the first.
pub(crate) struct Picture<'a> {
    rank: usize,
    rows: [Row<'a>; 2],
}

impl<'a> Picture<'a> {
    /// A picture of `rank` columns.
    pub(crate) fn new(
        rank: usize,
        first: (&'a str, &'a [usize], Place<'a>),
        second: (&'a str, &'a [usize], Place<'a>),
    ) -> Self {
        let row = |(label, sizes, place)| Row {
            label,
            sizes,
            place,
        };
        Picture {
            rank,
            rows: [row(first), row(second)],
        }
    }

    /// Two right-aligned shapes.
    pub(crate) fn right_aligned(
        labels: [&'a str; 2],
        first: &'a [usize],
        second: &'a [usize],
    ) -> Self {
        let rank = first.len().max(second.len());
        Picture::new(
            rank,
            (labels[0], first, Place::From(rank - first.len())),
            (labels[1], second, Place::From(rank - second.len())),
        )
    }

    /// The size in a column of row 0 or 1.
    pub(crate) fn size(&self, row: usize, column: usize) -> Option<usize> {
        self.rows[row].at(column)
    }

    fn label_width(&self) -> usize {
        self.rows
            .iter()
            .map(|row| row.label.chars().count())
            .max()
            .unwrap_or(0)
    }

    fn column_width(&self, column: usize) -> usize {
        let sizes = self.rows.iter().filter_map(|row| row.at(column));
        sizes.map(|size| Size(size).width()).max().unwrap_or(1)
    }

    fn window(&self, column: usize) -> Range<usize> {
        if self.rank <= WINDOW {
            return 0..self.rank;
        }
        let start = column.saturating_sub(WINDOW / 2).min(self.rank - WINDOW);
        start..start + WINDOW
    }

    /// Draws each row on its own line. Long rows are drawn around `column`.
    pub(crate) fn rows(&self, f: &mut fmt::Formatter<'_>, column: usize) -> fmt::Result {
        let window = self.window(column);
        for row in &self.rows {
            let mut line = self.line(f, row.label, &window)?;
            for column in window.clone() {
                let size = row.at(column).map(Size);
                let width = size.as_ref().map_or(0, Size::width);
                line.cell(self.column_width(column), width, size)?;
            }
            if window.end < self.rank {
                line.cell(1, 1, Some("…"))?;
            }
        }
        Ok(())
    }

    /// Begins the line under the rows: a mark under `column`, then a space for the text that
    /// follows. If columns before the window are left out, the number of the column is written too.
    pub(crate) fn caret(&self, f: &mut fmt::Formatter<'_>, column: usize) -> fmt::Result {
        self.mark_line(f, column, |c| if c == column { "^" } else { "" })?;
        match self.window(column).start {
            0 => f.write_str(" "),
            _ => write!(f, " at {column}: "),
        }
    }

    /// Draws a line with a mark of one character, or none, under each column.
    pub(crate) fn marks(
        &self,
        f: &mut fmt::Formatter<'_>,
        mark: impl Fn(usize) -> &'static str,
    ) -> fmt::Result {
        self.mark_line(f, 0, mark)
    }

    fn mark_line(
        &self,
        f: &mut fmt::Formatter<'_>,
        around: usize,
        mark: impl Fn(usize) -> &'static str,
    ) -> fmt::Result {
        let window = self.window(around);
        let mut line = self.line(f, "", &window)?;
        for column in window {
            let mark = mark(column);
            line.cell(
                self.column_width(column),
                mark.len(),
                (!mark.is_empty()).then_some(mark),
            )?;
        }
        Ok(())
    }

    /// Begins a line: its label, then a sign if columns before the window are left out.
    fn line<'f, 'b>(
        &self,
        f: &'f mut fmt::Formatter<'b>,
        label: &str,
        window: &Range<usize>,
    ) -> Result<Line<'f, 'b>, fmt::Error> {
        f.write_char('\n')?;
        let mut line = Line { f, blanks: 0 };
        let indent = 2 + label.len();
        line.cell(
            label.len(),
            label.len(),
            (!label.is_empty()).then_some(label),
        )?;
        line.blanks += 2 + self.label_width() + 1 - indent;
        match (window.start, label) {
            (0, _) => {}
            (_, "") => line.blanks += 1,
            _ => line.text("…")?,
        }
        Ok(line)
    }
}

/// A line without trailing blanks: blanks are written only when text follows them.
struct Line<'f, 'b> {
    f: &'f mut fmt::Formatter<'b>,
    blanks: usize,
}

impl Line<'_, '_> {
    fn text(&mut self, text: impl fmt::Display) -> fmt::Result {
        write!(
            self.f,
            "{:blanks$}{text}",
            "",
            blanks = std::mem::take(&mut self.blanks)
        )
    }

    /// Two blanks, then a column with right-aligned text of `width` characters, or without text.
    fn cell(
        &mut self,
        column: usize,
        width: usize,
        text: Option<impl fmt::Display>,
    ) -> fmt::Result {
        self.blanks += 2 + column.saturating_sub(width);
        match text {
            Some(text) => self.text(text),
            None => Ok(()),
        }
    }
}
