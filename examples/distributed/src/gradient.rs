//! Jobs whose items are parts of sums.
//!
//! An item is a range of blocks of the sums of some elements. Its result, a few accumulators for
//! each element, is kept in the job's folder. Those of all items are merged, in any order.

use crate::arguments::{Common, Gradient};
use crate::chunks::{chunks_of, progress_bar, state, summary};
use crate::command_line::{Failure, Report};
use crate::job::{Description, Job, display, remove_store};
use crate::rule::RuleOptions;
use crate::store::{Element, Store, build, elements, with_kind, zeros};
use crate::team::Team;
use crate::whole_folder::create_whole;
use ndarray::{ArrayD, Slice};
use ndarray_broadcast::distributed::{Accumulation, Part, sum_blocks};
use ndarray_broadcast::reduction::Sum;
use ndarray_broadcast::{AxisSource, BroadcastError, BroadcastPlan, zip};
use std::ops::Range;
use std::path::PathBuf;
use std::time::Instant;

/// The bytes that an item reads, at most, where blocks allow it: enough that reading them takes
/// much longer than a request. zarrs holds them twice for a moment.
const ITEM: usize = 16 << 20;

type Ranges = Vec<Range<usize>>;

/// The plan from the shape of a gradient to that of what is summed.
pub fn plan(
    rule: &RuleOptions,
    input: &[usize],
    output: &[usize],
) -> Result<BroadcastPlan, Failure> {
    let mut rule = rule.clone();
    rule.shape = Some(output.iter().map(|&size| size as i64).collect());
    let plan = rule.rule_to()?.plan(input)?;
    match plan.output_shape() == output {
        true => Ok(plan),
        false => Err(Failure::Data(format!(
            "{input:?} broadcasts to {:?}, and DY has {output:?}",
            plan.output_shape()
        ))),
    }
}

pub fn run(request: &Gradient, common: &Common, team: &Team) -> Result<(), Failure> {
    if request.rule.shape.is_some() {
        return Err(Failure::usage("--shape: DY has the shape already"));
    }
    let dy = Store::open(&request.dy)?;
    let times = request.times.as_deref().map(Store::open).transpose()?;
    if let Some(times) = &times {
        dy.check_like(times)?;
    }
    let plan = plan(&request.rule, &request.input, &dy.shape)?;
    let chunks = chunks_of(plan.input_shape(), dy.kind, common)?;
    let work = Work {
        request,
        common,
        team,
        dy,
        times,
        plan,
        chunks,
    };
    with_kind!(work.dy.kind, E => match request.in_memory {
        true => work.in_memory::<E>(),
        false => work.run::<E>(),
    })
}

/// Some blocks of the sums of some elements of the gradient.
struct Item {
    /// Items of one shard are done by one worker.
    shard: usize,
    input: Ranges,
    blocks: Range<usize>,
}

struct Work<'r> {
    request: &'r Gradient,
    common: &'r Common,
    team: &'r Team,
    dy: Store,
    times: Option<Store>,
    plan: BroadcastPlan,
    /// The shape of the gradient's chunks.
    chunks: Vec<usize>,
}

impl Work<'_> {
    /// The bytes that are read for a part.
    fn bytes(&self, part: &Part) -> usize {
        let of_each = self.dy.kind.size() * (1 + usize::from(self.times.is_some()));
        elements(part.tile().output().shape()).saturating_mul(of_each)
    }

    /// Halves of a piece of work: along an axis that is kept, where a chunk ends, or between
    /// blocks, at a large node of the tree. `None` if it cannot be cut along one of these axes.
    fn halves(
        &self,
        input: &Ranges,
        blocks: &Range<usize>,
        axes: &[usize],
    ) -> Option<[(Ranges, Range<usize>); 2]> {
        let mut summed = false;
        for (axis, source) in self.plan.axis_sources().enumerate() {
            if !axes.contains(&axis) {
                continue;
            }
            let AxisSource::Kept(kept) = source else {
                summed = true;
                continue;
            };
            let (Range { start, end }, chunk) = (input[kept].clone(), self.dy.chunks[axis]);
            let middle = (start + (end - start).div_ceil(2)).next_multiple_of(chunk);
            if start < middle && middle < end {
                let half = |range| {
                    let mut input = input.clone();
                    input[kept] = range;
                    (input, blocks.clone())
                };
                return Some([half(start..middle), half(middle..end)]);
            }
        }
        let Range { start, end } = *blocks;
        if !summed || end - start < 2 {
            return None;
        }
        let middle = (0..usize::BITS - 1)
            .rev()
            .map(|level| ((start >> level) + 1) << level);
        let middle = middle.into_iter().find(|&middle| middle < end)?;
        let half = |blocks| (input.clone(), blocks);
        Some([half(start..middle), half(middle..end)])
    }

    /// Cuts the work first into shards, along the axes of `--shard`, and then into items that fit
    /// into memory, along any. It depends on the job only, not on the number of workers.
    fn items(&self) -> Result<Vec<Item>, Failure> {
        let rank = self.dy.shape.len();
        let all_axes: Vec<_> = (0..rank).collect();
        let axes = self.request.shard.as_ref().unwrap_or(&all_axes);
        if let Some(axis) = axes.iter().find(|&&axis| axis >= rank) {
            return Err(Failure::usage(format!(
                "--shard {axis}: the axes of {} are 0 to {}",
                display(&self.dy.path),
                rank.saturating_sub(1)
            )));
        }
        let whole: Ranges = self
            .plan
            .input_shape()
            .iter()
            .map(|&size| 0..size)
            .collect();
        let mut shards = vec![(whole, 0..sum_blocks(&self.plan))];
        while shards.len() < self.request.parts {
            let before = shards.len();
            let cut = shards.into_iter().flat_map(|(input, blocks)| {
                match self.halves(&input, &blocks, axes) {
                    Some(halves) => Vec::from(halves),
                    None => vec![(input, blocks)],
                }
            });
            shards = cut.collect();
            if shards.len() == before {
                break;
            }
        }
        let limit = self.common.max_bytes.min(ITEM);
        let mut items = Vec::new();
        for (shard, whole) in shards.into_iter().enumerate() {
            let mut left = vec![whole];
            while let Some((input, blocks)) = left.pop() {
                let part = Part::of_blocks(&self.plan, &input, blocks.clone())?;
                let bytes = self.bytes(&part);
                if bytes > limit
                    && let Some(halves) = self.halves(&input, &blocks, &all_axes)
                {
                    left.extend(halves.into_iter().rev());
                    continue;
                }
                if bytes > self.common.max_bytes {
                    return Err(Failure::Data(format!(
                        "the blocks {blocks:?} of the elements {input:?} are read as {bytes} \
                         bytes, and --max-bytes allows {}",
                        self.common.max_bytes
                    )));
                }
                items.push(Item {
                    shard,
                    input,
                    blocks,
                });
            }
        }
        Ok(items)
    }

    fn description(&self, items: &[Item]) -> Result<Description, Failure> {
        let mut lines = vec!["command gradient".into(), self.dy.description()?];
        if let Some(times) = &self.times {
            lines.push(times.description()?);
        }
        lines.push(format!(
            "mapping {:?} of {:?}",
            self.plan
                .axis_sources()
                .map(AxisSource::input_axis)
                .collect::<Vec<_>>(),
            self.plan.input_shape()
        ));
        lines.push(format!(
            "shards {:?}, of at most {} bytes",
            items.last().map_or(0, |item| item.shard + 1),
            self.common.max_bytes.min(ITEM)
        ));
        Ok(Description {
            lines,
            items: items.len(),
            restart: self.common.restart,
        })
    }

    fn run<T: Element>(&self) -> Result<(), Failure> {
        let (team, out) = (self.team, &self.request.out);
        let items = self.items()?;
        if self.request.merge && !job_folder_exists(out) {
            return Err(Failure::Data(format!(
                "{}: there is no job to merge",
                display(out)
            )));
        }
        let job = Job::open(out, &self.description(&items)?, team)?;
        let mut report = Report::default();
        if team.is_first() {
            report.print(&format!(
                "{}\noutput  {}: {} parts, {} of them done\n",
                self.plan,
                display(out),
                items.len(),
                items.len() - job.missing()
            ))?;
        }
        let mine = |item: &usize| items[*item].shard % team.count() == team.index();
        let mine: Vec<usize> = (0..items.len()).filter(mine).collect();
        let mut sum = Accumulation::<T, Sum>::new(&self.plan, Sum);
        let (start, mut bytes, mut computed) = (Instant::now(), 0, 0);
        if !self.request.merge {
            let bar = progress_bar(mine.len());
            for &item in &mine {
                let found = match job.done(item)? {
                    Some(found) => found,
                    None => {
                        let part = self.part(&items[item])?;
                        bytes += self.bytes(&part);
                        computed += 1;
                        let found = self.sum::<T>(&part)?.to_bytes();
                        job.mark(item, &found)?;
                        found
                    }
                };
                sum.merge(self.read(&job, item, &found)?)?;
                bar.inc(1);
            }
            bar.finish_and_clear();
        }
        let sent = match self.request.merge || team.is_one_of_several() {
            true => 0,
            false => team.merge(&mut sum, Accumulation::to_bytes, |sum, bytes| {
                sum.merge(Accumulation::from_bytes(bytes, Sum)?)
            })?,
        };
        let (work, more) = (format!("{computed} parts"), format!(", {sent} bytes sent"));
        report.print(&summary(team, &work, bytes, start, &more))?;
        team.wait();
        let missing = job.missing();
        if missing > 0 {
            return state(&mut report, team, missing, "parts");
        }
        if self.request.merge || team.is_one_of_several() {
            sum = Accumulation::new(&self.plan, Sum);
            for item in 0..items.len() {
                let found = job.done(item)?.unwrap_or_default();
                sum.merge(self.read(&job, item, &found)?)?;
            }
        }
        if team.is_first() {
            self.write(sum.finish(&self.plan)?)?;
        }
        team.wait();
        state(&mut report, team, 0, "parts")
    }

    fn part(&self, item: &Item) -> Result<Part, BroadcastError> {
        Part::of_blocks(&self.plan, &item.input, item.blocks.clone())
    }

    fn sum<T: Element>(&self, part: &Part) -> Result<Accumulation<T, Sum>, Failure> {
        let output = part.tile().output();
        let dy = self.dy.read::<T>(output.ranges())?;
        Ok(match &self.times {
            None => part.reduce(&dy, Sum)?,
            Some(times) => {
                let x = times.read::<T>(output.ranges())?;
                zip((&dy, &x)).reduce_part(part, Sum, |(dy, x)| dy.wrapping_mul(x))?
            }
        })
    }

    /// The result of an item from the job's folder.
    fn read<T: Element>(
        &self,
        job: &Job,
        item: usize,
        bytes: &[u8],
    ) -> Result<Accumulation<T, Sum>, Failure> {
        Accumulation::from_bytes(bytes, Sum).map_err(|error| {
            Failure::Data(format!(
                "{}: {error}; --restart begins again",
                display(&job.path(item))
            ))
        })
    }

    fn in_memory<T: Element>(&self) -> Result<(), Failure> {
        if self.common.restart {
            remove_store(&self.request.out)?;
        }
        let all = || self.dy.shape.iter().map(|&size| 0..size);
        let dy = self.dy.read::<T>(all())?;
        let start = Instant::now();
        let gradient = match &self.times {
            None => self.plan.gradient(&dy)?,
            Some(times) => {
                let x = times.read::<T>(all())?;
                zip((&dy, &x)).reduce(&self.plan, Sum, |(dy, x)| dy.wrapping_mul(x))?
            }
        };
        let bytes = dy.len() * self.dy.kind.size();
        Report::default().print(&summary(self.team, "one call", bytes, start, ""))?;
        self.write(gradient)
    }

    /// Writes the gradient. The store appears when it is complete.
    fn write<T: Element>(&self, gradient: ArrayD<T>) -> Result<(), Failure> {
        let out = &self.request.out;
        if out.exists() {
            let found =
                Store::open(out)?.read::<T>(gradient.shape().iter().map(|&size| 0..size))?;
            let bits = |array: &ArrayD<T>| {
                let mut bytes = Vec::new();
                array.iter().for_each(|element| element.write(&mut bytes));
                bytes
            };
            return match bits(&found) == bits(&gradient) {
                true => Ok(()),
                false => Err(Failure::Data(format!(
                    "{}: it exists, and has other elements; --restart begins again",
                    display(out)
                ))),
            };
        }
        let (kind, codec) = (self.dy.kind, self.common.codec);
        // Another worker may do so at the same time, and writes the same elements.
        create_whole(out, "zarr.json", |folder| {
            build(folder, kind, gradient.shape(), &self.chunks, codec)?;
            let store = Store::open(folder)?;
            for chunk in 0..store.chunk_count() {
                let ranges = store.chunk_box(chunk);
                let mut part = gradient.view();
                part.slice_each_axis_inplace(|axis| Slice::from(ranges[axis.axis.index()].clone()));
                let mut whole = zeros::<T>(&self.chunks);
                let mut place = whole.view_mut();
                place.slice_each_axis_inplace(|axis| {
                    Slice::from(0..part.shape()[axis.axis.index()])
                });
                place.assign(&part);
                store.write(chunk, whole)?;
            }
            Ok(())
        })
    }
}

fn job_folder_exists(out: &std::path::Path) -> bool {
    let mut folder = out.as_os_str().to_owned();
    folder.push(".job");
    PathBuf::from(folder).join("job").exists()
}
