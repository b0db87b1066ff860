//! Draws shapes under each other, axis by axis, for errors and plans.

use std::fmt::{self, Write};
use std::ops::Range;

/// Of a shape with more axes, only this many are drawn, around the axis of interest.
const WINDOW: usize = 32;

/// A list as ndarray prints a shape: `[3, 1, 5]`. The end of a very long one is left out.
pub(crate) fn list<T: fmt::Debug>(shape: &[T]) -> String {
    let shown = shape.iter().take(WINDOW);
    let mut shown: Vec<String> = shown.map(|entry| format!("{entry:?}")).collect();
    if shape.len() > WINDOW {
        shown.push(format!("... {} axes", shape.len()));
    }
    format!("[{}]", shown.join(", "))
}

fn widest<'a>(texts: impl Iterator<Item = &'a String>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0)
}

/// Rows of cells in columns.
pub(crate) struct Picture {
    /// The column of interest, if there is one, and those that are drawn around it.
    column: Option<usize>,
    window: Range<usize>,
    rank: usize,
    rows: Vec<(String, Vec<String>)>,
}

impl Picture {
    /// A picture of `rank` columns, without rows.
    pub(crate) fn around(column: Option<usize>, rank: usize) -> Self {
        let start = column.unwrap_or(0).saturating_sub(WINDOW / 2);
        let start = start.min(rank.saturating_sub(WINDOW));
        Picture {
            column,
            window: start..rank.min(start + WINDOW),
            rank,
            rows: Vec::new(),
        }
    }

    /// Two left-aligned rows.
    pub(crate) fn of_two<T: fmt::Debug, U: fmt::Debug>(
        column: Option<usize>,
        (first_label, first): (impl fmt::Display, &[T]),
        (second_label, second): (impl fmt::Display, &[U]),
    ) -> Self {
        Picture::around(column, first.len().max(second.len()))
            .row(first_label, first, |axis| axis)
            .row(second_label, second, |axis| axis)
    }

    /// Adds a row, with cell `i` in column `column_of(i)`.
    pub(crate) fn row<T: fmt::Debug>(
        mut self,
        label: impl fmt::Display,
        cells: &[T],
        column_of: impl Fn(usize) -> usize,
    ) -> Self {
        let mut texts = vec![String::new(); self.window.len()];
        for (axis, cell) in cells.iter().enumerate() {
            let column = column_of(axis);
            if self.window.contains(&column) {
                texts[column - self.window.start] = format!("{cell:?}");
            }
        }
        self.rows.push((label.to_string(), texts));
        self
    }

    /// A line of marks in some columns.
    pub(crate) fn marks(&self, mark: impl Fn(usize) -> &'static str) -> String {
        let marks = self.window.clone().map(|column| mark(column).to_string());
        self.line("", &marks.collect::<Vec<_>>())
    }

    /// The rows, then the text, behind a mark under the column of interest if there is one. If
    /// columns before the window are left out, the number of the column is written too.
    pub(crate) fn note(&self, text: impl fmt::Display) -> String {
        let mark = self.marks(|column| if self.column == Some(column) { "^" } else { "" });
        match self.column {
            None => format!("{self}\n  {text}"),
            Some(column) if self.window.start > 0 => format!("{self}{mark} at {column}: {text}"),
            Some(_) => format!("{self}{mark} {text}"),
        }
    }

    /// A line without trailing blanks. Without text, it is empty.
    fn line(&self, label: &str, texts: &[String]) -> String {
        if label.is_empty() && texts.iter().all(String::is_empty) {
            return String::new();
        }
        let cut = |is_cut: bool, mark| if is_cut { mark } else { "" };
        let (labels, marks) = (self.rows.iter().map(|(label, _)| label), label.is_empty());
        let width = widest(labels);
        let mut line = format!("\n  {label:width$} ");
        line += cut(self.window.start > 0, if marks { " " } else { "…" });
        for (column, text) in texts.iter().enumerate() {
            let width = widest(self.rows.iter().map(|(_, cells)| &cells[column])).max(1);
            // Writing to a string does not fail.
            let _ = write!(line, "  {text:>width$}");
        }
        line += cut(self.window.end < self.rank && !marks, "  …");
        line.truncate(line.trim_end().len());
        line
    }
}

impl fmt::Display for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.rows.iter()).try_for_each(|(label, texts)| f.write_str(&self.line(label, texts)))
    }
}
