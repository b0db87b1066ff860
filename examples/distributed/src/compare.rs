//! Whether two stores have the same elements, bit for bit.

use crate::arguments::Common;
use crate::command_line::{Failure, Report};
use crate::job::display;
use crate::store::{Element, Store, with_kind};
use std::path::Path;

pub fn run(a: &Path, b: &Path, _: &Common) -> Result<(), Failure> {
    let (a, b) = (Store::open(a)?, Store::open(b)?);
    a.check_like(&b)?;
    with_kind!(a.kind, E => compare::<E>(&a, &b))?;
    Report::default().print("equal\n")
}

fn compare<T: Element>(a: &Store, b: &Store) -> Result<(), Failure> {
    for chunk in 0..a.chunk_count() {
        let ranges = a.chunk_box(chunk);
        let left = a.read::<T>(ranges.iter().cloned())?;
        let right = b.read::<T>(ranges.iter().cloned())?;
        let bits = |element: T| {
            let mut bytes = Vec::new();
            element.write(&mut bytes);
            bytes
        };
        let differs = |(a, b): &(&T, &T)| bits(**a) != bits(**b);
        if let Some(at) = left.iter().zip(&right).position(|pair| differs(&pair)) {
            return Err(Failure::Data(format!(
                "{} and {} differ: element {at} of the box {ranges:?}",
                display(&a.path),
                display(&b.path)
            )));
        }
    }
    Ok(())
}
