//! Reads numbers and classes from a CSV file. The content is not trusted.

use crate::command_line::Failure;
use crate::random::Random;
use crate::read_bytes::read_bytes;
use ndarray::{Array1, Array2, Axis};
use ndarray_broadcast::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

/// The longest file to read.
const MAXIMUM_BYTES: u64 = 1 << 26;
/// The limit on the elements of each array of the network.
const MAXIMUM_ELEMENTS: usize = 1 << 22;
/// One row in this many is for testing.
const TEST_EVERY: usize = 5;

/// The features, `[N, D]`, and the class of each row as a number, `[N]`.
#[derive(Debug)]
pub struct Rows {
    pub x: Array2<f64>,
    pub classes: Array1<usize>,
}

#[derive(Debug)]
pub struct Table {
    pub rows: Rows,
    /// The names of the features, `[D]`.
    pub features: Vec<String>,
    /// The names of the classes, `[K]`, sorted.
    pub names: Vec<String>,
}

impl Table {
    /// Reads a file or, if the path is `-`, standard input.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let bytes = read_bytes(path, MAXIMUM_BYTES)?;
        Table::parse(&bytes)
            .map_err(|problem| Failure::Data(format!("{}: {problem}", path.display())))
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .from_reader(bytes);
        let mut features: Vec<String> = (reader.headers().map_err(|error| error.to_string())?)
            .iter()
            .map(str::to_owned)
            .collect();
        features.pop();
        if features.is_empty() {
            return Err("it needs columns of numbers, and one of classes".into());
        }
        if features.iter().all(|name| name.parse::<f64>().is_ok()) {
            return Err("its first line holds numbers, not names".into());
        }
        let (mut values, mut classes) = (Vec::new(), Vec::new());
        for record in reader.records() {
            let record = record.map_err(|error| error.to_string())?;
            let line = record.position().map_or(0, csv::Position::line);
            for (name, field) in features.iter().zip(&record) {
                let value = (field.parse().ok()).filter(|value: &f64| value.is_finite());
                values.push(value.ok_or_else(|| {
                    format!("line {line}: {field:?} in column {name:?} is no finite number")
                })?);
            }
            classes.push(record.get(features.len()).unwrap_or_default().to_owned());
            if values.len() > MAXIMUM_ELEMENTS {
                return Err(format!(
                    "it has more than {MAXIMUM_ELEMENTS} numbers, which is this example's limit"
                ));
            }
        }
        let mut numbers: BTreeMap<_, _> = classes.iter().map(|name| (name, 0)).collect();
        for (number, (_, place)) in numbers.iter_mut().enumerate() {
            *place = number;
        }
        if classes.len() < TEST_EVERY || numbers.len() < 2 {
            return Err(format!(
                "{} rows of {} classes are too few: it needs {TEST_EVERY} rows and 2 classes",
                classes.len(),
                numbers.len()
            ));
        }
        let x = Array2::from_shape_vec((classes.len(), features.len()), values)
            .map_err(|error| error.to_string())?;
        let rows = Rows {
            x,
            classes: classes.iter().map(|name| numbers[name]).collect(),
        };
        let names = numbers.into_keys().cloned().collect();
        Ok(Table {
            rows,
            features,
            names,
        })
    }

    /// Checks that a network with this many hidden units stays within the limit on elements.
    pub fn check_size(&self, hidden: usize) -> Result<(), Failure> {
        let (rows, features) = self.rows.x.dim();
        let classes = self.names.len();
        let largest = rows.max(features).max(classes);
        match largest.saturating_mul(hidden.max(classes)) <= MAXIMUM_ELEMENTS {
            true => Ok(()),
            false => Err(Failure::Data(format!(
                "{rows} rows, {features} features, {hidden} hidden units and {classes} classes \
                 make arrays of more than {MAXIMUM_ELEMENTS} elements, \
                 which is this example's limit"
            ))),
        }
    }

    /// Splits the rows into training and test rows, in random order. Every feature is normalised to
    /// mean 0 and deviation 1 over the training rows.
    pub fn split(&self, random: &mut Random) -> Result<(Rows, Rows), Failure> {
        let order = random.permutation(self.rows.classes.len());
        let (test, train): (Vec<_>, Vec<_>) =
            (order.into_iter().enumerate()).partition(|(place, _)| place % TEST_EVERY == 0);
        let [mut train, mut test] = [train, test].map(|rows| {
            let rows: Vec<usize> = rows.into_iter().map(|(_, row)| row).collect();
            Rows {
                x: self.rows.x.select(Axis(0), &rows),
                classes: self.rows.classes.select(Axis(0), &rows),
            }
        });
        let (mean, deviation) = mean_and_deviation(&train.x)?;
        for (name, deviation) in self.features.iter().zip(&deviation) {
            if !deviation.is_finite() {
                let problem = format!("the numbers of column {name:?} are too large");
                return Err(Failure::Data(problem));
            }
        }
        for rows in [&mut train, &mut test] {
            // [D] and [D] -> [N, D]
            zip((&mean, &deviation)).update(&mut rows.x, |x, (mean, deviation)| {
                // A constant feature has deviation 0.
                *x = (*x - mean) / if deviation > 0. { deviation } else { 1. };
            })?;
        }
        Ok((train, test))
    }
}

/// The mean and the standard deviation of each feature, `[D]` and `[D]`.
fn mean_and_deviation(x: &Array2<f64>) -> Result<(Array1<f64>, Array1<f64>), BroadcastError> {
    let (rows, features) = x.dim();
    let mean = x.reduce_to_shape(features, Sum)? / rows as f64;
    let squares = zip((&x, &mean)).map_collect(|(x, mean)| (x - mean).powi(2))?;
    let deviation = (squares.reduce_to_shape(features, Sum)? / rows as f64).sqrt();
    Ok((mean, deviation))
}
