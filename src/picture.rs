//! Shapes drawn under each other, axis by axis: what errors and plans print. Nothing here allocates.

use std::fmt;

/// Shapes longer than this are drawn around the axis of interest only.
const WINDOW: usize = 32;

/// A shape as ndarray's users write it, `[3, 1, 5]`; the middle of a very long one is left out.
pub(crate) fn list(shape: &[usize]) -> impl fmt::Display {
    struct List<'a>(&'a [usize]);
    impl fmt::Display for List<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("[")?;
            for (axis, size) in self.0.iter().take(WINDOW).enumerate() {
                if axis > 0 {
                    f.write_str(", ")?;
                }
                write!(f, "{}", Size(*size))?;
            }
            if self.0.len() > WINDOW {
                write!(f, ", ... {} axes", self.0.len())?;
            }
            f.write_str("]")
        }
    }
    List(shape)
}

/// One size; torch's "keep this axis" in torch's spelling.
struct Size(usize);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == crate::KEEP {
            f.write_str("-1")
        } else {
            write!(f, "{}", self.0)
        }
    }
}

/// Where the axes of a row stand in the common frame of the picture.
#[derive(Clone, Copy)]
pub(crate) enum Place<'a> {
    /// Side by side, from this column on.
    From(usize),
    /// Axis `i` in column `mapping[i]`.
    Mapped(&'a [usize]),
    /// Axis `sources[c]` in column `c`; none where the shape has no such axis.
    Sources(&'a [usize]),
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
            Place::Sources(sources) => *sources.get(column)?,
        };
        self.sizes.get(axis).copied()
    }
}

/// Two shapes in a common frame, the second under the first.
pub(crate) struct Picture<'a> {
    rank: usize,
    rows: [Row<'a>; 2],
}

impl<'a> Picture<'a> {
    /// A frame of `rank` columns.
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

    /// Two shapes, the shorter one right-aligned under the longer one.
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

    /// The size that a row (0 or 1) has in a column.
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
        let digits = |size: usize| {
            if size == crate::KEEP {
                2
            } else {
                size.checked_ilog10().unwrap_or(0) as usize + 1
            }
        };
        self.rows
            .iter()
            .filter_map(|row| row.at(column))
            .map(digits)
            .max()
            .unwrap_or(1)
    }

    fn window(&self, column: usize) -> std::ops::Range<usize> {
        if self.rank <= WINDOW {
            return 0..self.rank;
        }
        let start = column.saturating_sub(WINDOW / 2).min(self.rank - WINDOW);
        start..start + WINDOW
    }

    /// Draws the two rows, each on a line of its own, around `column` if they are long.
    pub(crate) fn rows(&self, f: &mut fmt::Formatter<'_>, column: usize) -> fmt::Result {
        let window = self.window(column);
        for row in &self.rows {
            write!(f, "\n  {:<width$} ", row.label, width = self.label_width())?;
            f.write_str(if window.start > 0 { "…" } else { "" })?;
            // What stands to the right of a row's last axis would be trailing blanks.
            let end = window
                .clone()
                .rev()
                .find(|&c| row.at(c).is_some())
                .map_or(window.start, |c| c + 1);
            for column in window.start..end {
                let width = self.column_width(column);
                match row.at(column) {
                    Some(size) if size == crate::KEEP => write!(f, "  {:>width$}", "-1")?,
                    Some(size) => write!(f, "  {size:>width$}")?,
                    None => write!(f, "  {:>width$}", "")?,
                }
            }
            f.write_str(if window.end < self.rank && end == window.end {
                "  …"
            } else {
                ""
            })?;
        }
        Ok(())
    }

    /// Starts the line under the rows: a mark under `column` and a space, for the remark that follows.
    pub(crate) fn caret(&self, f: &mut fmt::Formatter<'_>, column: usize) -> fmt::Result {
        self.mark_line(f, self.window(column), column, |c| {
            if c == column { "^" } else { "" }
        })?;
        f.write_str(" ")
    }

    /// A line with a mark under each column.
    pub(crate) fn marks(
        &self,
        f: &mut fmt::Formatter<'_>,
        mark: impl Fn(usize) -> &'static str,
    ) -> fmt::Result {
        let window = self.window(0);
        match window.clone().last() {
            Some(last) => self.mark_line(f, window, last, mark),
            None => Ok(()),
        }
    }

    fn mark_line(
        &self,
        f: &mut fmt::Formatter<'_>,
        window: std::ops::Range<usize>,
        last: usize,
        mark: impl Fn(usize) -> &'static str,
    ) -> fmt::Result {
        write!(f, "\n  {:<width$} ", "", width = self.label_width())?;
        f.write_str(if window.start > 0 { " " } else { "" })?;
        for column in window.start..=last {
            write!(
                f,
                "  {:>width$}",
                mark(column),
                width = self.column_width(column)
            )?;
        }
        Ok(())
    }
}
