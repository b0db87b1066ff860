//! How many bytes workers send for a gradient, by the sharding of its cotangent: computed from the
//! parts, without data.

use crate::arguments::Cost;
use crate::command_line::{Failure, Report};
use crate::gradient::plan;
use ndarray_broadcast::BroadcastPlan;
use ndarray_broadcast::distributed::{Accumulation, Part, sum_blocks};
use ndarray_broadcast::reduction::Sum;
use std::ops::Range;

/// What each element is summed in.
type Accumulator = f64;

pub fn run(request: &Cost) -> Result<(), Failure> {
    let plan = plan(&request.rule, &request.input, &request.shape)?;
    let mut report = Report::default();
    report.print(&format!(
        "{plan}\n{} blocks of 1024 terms for each element\n\n",
        sum_blocks(&plan)
    ))?;
    report.print(
        "| workers | kept axis: total | each | blocks: total | each | both: total | each |\n",
    )?;
    report.print("|---:|---:|---:|---:|---:|---:|---:|\n")?;
    for &workers in &request.workers {
        let mut row = format!("| {workers} ");
        let rows = largest_divisor(workers);
        for grid in [[workers, 1], [1, workers], [rows, workers / rows]] {
            match sent(&plan, grid)? {
                Some((total, most)) => row.push_str(&format!("| {total} | {most} ")),
                None => row.push_str("| | "),
            }
        }
        report.print(&format!("{row}|\n"))?;
    }
    Ok(())
}

/// The largest divisor that is at most the square root.
fn largest_divisor(count: usize) -> usize {
    (1..=count.isqrt())
        .rev()
        .find(|at| count.is_multiple_of(*at))
        .unwrap_or(1)
}

/// How many bytes all workers send in all, and one at most, if the first kept axis is cut into
/// `kept` ranges and the blocks into `blocks`. `None` if there are not as many.
fn sent(
    plan: &BroadcastPlan,
    [kept, blocks]: [usize; 2],
) -> Result<Option<(usize, usize)>, Failure> {
    let empty = Accumulation::<Accumulator, Sum>::new(plan, Sum)
        .to_bytes()
        .len();
    let shape = plan.input_shape();
    let axis = (0..shape.len()).max_by_key(|&axis| shape[axis]);
    let along = axis.map_or(1, |axis| shape[axis]);
    if kept > along || blocks > sum_blocks(plan) {
        return Ok(None);
    }
    let range =
        |at: usize, of: usize, len: usize| -> Range<usize> { at * len / of..(at + 1) * len / of };
    let (mut total, mut most) = (0, 0);
    let nodes = |blocks| -> Result<usize, Failure> {
        let whole: Vec<_> = shape.iter().map(|&size| 0..size).collect();
        Ok(Part::of_blocks(plan, &whole, blocks)?.nodes())
    };
    let nodes: Result<Vec<usize>, Failure> = (0..blocks)
        .map(|at| nodes(range(at, blocks, sum_blocks(plan))))
        .collect();
    let elements: usize = shape.iter().product();
    // Elements that follow each other are one piece: those of each index of the axes outside.
    let outside = axis
        .filter(|_| kept > 1)
        .map_or(&[][..], |axis| &shape[..axis]);
    let pieces: usize = outside.iter().product();
    for nodes in nodes? {
        for at in 0..kept {
            let elements = elements / along * range(at, kept, along).len();
            // Four numbers for each node of each piece, and its accumulators: as `to_bytes` writes
            // them.
            let part = nodes * (4 * 8 * pieces + size_of::<Accumulator>() * elements);
            total += empty + part;
            most = most.max(empty + part);
        }
    }
    Ok(Some((total, most)))
}
