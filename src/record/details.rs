//! What an archive holds beyond its summary, as charts and the parity matrix show it: plain data, so
//! that a report needs no file.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::thread;

use hdrhistogram::Histogram;
use serde::Deserialize;

use crate::error::{Error, Result};
use crate::parity::Transcript;
use crate::parity::exchange::Exchange;
use crate::record::hlog::{self, Clocks};
use crate::record::schema::{Cell, CellKey, Group, Summary};
use crate::record::source::Source;
use crate::stats::groups::sides;
use crate::stats::quantile::{needed, rank, us};

/// The most steps of one clock that a group's chart by second has, over all its runs.
const STEPS: usize = 360;
/// Points of a curve by percentile for each factor of ten in what lies beyond.
const PER_DECADE: i32 = 10;
/// A quantile needs so many samples beyond it (METHOD, rule 18).
const BEYOND: f64 = 10.0;

/// All of it.
#[derive(Clone, Debug, Default)]
pub struct Details {
    /// The folders of [`Summary::cells`], in their order.
    pub folders: Vec<String>,
    /// Of [`Summary::groups`], in their order.
    pub groups: Vec<GroupDetails>,
    /// What was asked of every adapter and what it answered.
    pub proofs: Vec<Proof>,
    /// What the archive's sources say about each adapter.
    pub adapters: Vec<Adapter>,
}

/// An adapter as its own file describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Adapter {
    pub name: String,
    pub title: String,
    pub language: String,
    /// Its name and its pinned version.
    pub framework: String,
    pub runtime: String,
}

/// The clocks of a group.
#[derive(Clone, Debug, Default)]
pub struct GroupDetails {
    /// By percentile, of the valid runs' merged histograms, over all their scheduled slots.
    pub response: Vec<CurvePoint>,
    /// The same over all answers.
    pub service: Vec<CurvePoint>,
    /// Every valid run in the course of its load.
    pub runs: Vec<Course>,
}

/// A point of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// The share that takes longer, as in 0.01 for the 99th percentile.
    pub beyond: f64,
    /// How long the fastest of those take, in microseconds.
    pub us: f64,
}

/// A run in the course of its load.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// The cell's index in [`Summary::cells`].
    pub cell: usize,
    /// The median of the slots completed in each step.
    pub p50: Vec<Step>,
    /// Their 99th percentile; its steps are longer, for it needs more slots.
    pub p99: Vec<Step>,
}

/// A quantile over a stretch of the load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Seconds since slot 0.
    pub start_s: f64,
    /// The same, at its end.
    pub end_s: f64,
    /// The quantile in microseconds.
    pub us: f64,
}

/// What one cell's target was asked and answered.
#[derive(Clone, Debug, Default)]
pub struct Proof {
    /// The cell's index in [`Summary::cells`].
    pub cell: usize,
    /// The first exchange of each row, and every one that failed.
    pub exchanges: Vec<Exchange>,
    /// So many plain responses were searched for what must not be in them.
    pub burst: u64,
    /// What was wrong with none of the exchanges in particular: what was expected, what came.
    pub failures: Vec<(String, String)>,
}

/// Reads what the summary's cells and groups rest on. Exit 5 where the archive does not hold it.
pub fn read(source: &Source, summary: &Summary) -> Result<Details> {
    let folders: Vec<String> = source.cells().into_iter().map(str::to_owned).collect();
    let (listed, found) = (summary.cells.len(), folders.len());
    if listed != found {
        return Err(Error::unverified(format!(
            "summary.json lists {listed} cells, and cells/ has {found}"
        ))
        .next("`shootout verify` says what else does not fit"));
    }
    let groups = on_all_cpus(&summary.groups, |group| {
        let runs = runs(group, &summary.cells);
        group_details(source, &folders, &summary.cells, &runs)
    })?;
    Ok(Details {
        groups,
        proofs: proofs(source, &folders, &summary.cells)?,
        adapters: adapters(source)?,
        folders,
    })
}

/// What is made of every item, in their order.
fn on_all_cpus<T, U>(items: &[T], make: impl Fn(&T) -> Result<U> + Sync) -> Result<Vec<U>>
where
    T: Sync,
    U: Send,
{
    let cpus = thread::available_parallelism().map_or(1, NonZero::get);
    let share = items.len().div_ceil(cpus).max(1);
    let made = thread::scope(|scope| {
        let make = &make;
        let threads = items
            .chunks(share)
            .map(|items| scope.spawn(move || items.iter().map(make).collect::<Result<Vec<U>>>()));
        // All are begun before the first one is waited for.
        let threads: Vec<_> = threads.collect();
        let joined = threads.into_iter();
        joined
            .map(|thread| thread.join().expect("nothing in it panics"))
            .collect::<Result<Vec<Vec<U>>>>()
    });
    Ok(made?.into_iter().flatten().collect())
}

/// The cells whose figures a group's are: of several attempts the last one, and only valid ones.
fn runs(group: &Group, cells: &[Cell]) -> Vec<usize> {
    let of_group = |cell: &Cell| {
        let key = &cell.key;
        key.role == "measure"
            && sides(cell) == group.sides
            && (&key.adapter, &key.label, &key.workload)
                == (&group.adapter, &group.label, &group.workload)
            && (&key.r#loop, key.rate_rps, key.connections)
                == (&group.r#loop, group.rate_rps, group.connections)
    };
    let later = |key: &CellKey, other: &CellKey| {
        let first = || CellKey {
            attempt: key.attempt,
            ..other.clone()
        };
        other.attempt > key.attempt && first() == *key
    };
    let counts = |cell: &Cell| {
        let is_last = || !cells.iter().any(|other| later(&cell.key, &other.key));
        cell.load.valid && of_group(cell) && is_last()
    };
    (0..cells.len()).filter(|i| counts(&cells[*i])).collect()
}

fn group_details(
    source: &Source,
    folders: &[String],
    cells: &[Cell],
    runs: &[usize],
) -> Result<GroupDetails> {
    let mut details = GroupDetails::default();
    let mut merged: Option<Clocks> = None;
    let mut scheduled = 0u64;
    for cell in runs.iter().copied() {
        let path = format!("cells/{}/latency.hlog", folders[cell]);
        let text = source.text(&path).map_err(|e| e.at(path.clone()))?;
        let (intervals, most) = (text.matches("Tag=response").count(), STEPS / runs.len());
        let mut steps = [500, 990].map(|q| Steps::new(q, intervals, most));
        let clocks = hlog::read_with(&text, |start_s, duration_s, seconds| {
            for of_quantile in &mut steps {
                of_quantile.add(start_s, duration_s, seconds);
            }
        })
        .map_err(|e| e.at(path))?;
        scheduled = scheduled.saturating_add(cells[cell].load.ledger.scheduled);
        let [p50, p99] = steps.map(Steps::finish);
        details.runs.push(Course { cell, p50, p99 });
        merged = Some(match merged.take() {
            None => clocks,
            Some(sum) => sum.plus(&clocks),
        });
    }
    if let Some(clocks) = merged {
        details.response = curve(&clocks.response, scheduled);
        details.service = curve(&clocks.service, clocks.service.len());
    }
    Ok(details)
}

/// Values from the fastest on, as far as the samples reach: where too few lie beyond, or where the
/// slots beyond were never completed, the curve ends.
fn curve(hist: &Histogram<u64>, total: u64) -> Vec<CurvePoint> {
    let mut points = Vec::new();
    let mut buckets = hist.iter_recorded();
    let mut reached = (0u64, 0u64);
    for k in 0.. {
        let beyond = 10f64.powf(-f64::from(k) / f64::from(PER_DECADE));
        let slots = total as f64 * beyond;
        if slots < BEYOND || !slots.is_finite() {
            break;
        }
        let rank = (total - slots.floor() as u64).max(1);
        while reached.0 < rank {
            match buckets.next() {
                None => return points,
                Some(bucket) => {
                    reached.0 = reached.0.saturating_add(bucket.count_at_value());
                    reached.1 = hist.highest_equivalent(bucket.value_iterated_to());
                }
            }
        }
        let us = us(reached.1);
        points.push(CurvePoint { beyond, us });
    }
    points
}

/// Seconds put together until a quantile has the samples that it needs.
struct Steps {
    per_mille: u64,
    /// No step has fewer intervals, so that a long load does not have too many steps.
    least: usize,
    /// The one that is being filled, and the one before it.
    open: Option<Stretch>,
    filled: Option<Stretch>,
    done: Vec<Step>,
}

struct Stretch {
    start_s: f64,
    end_s: f64,
    intervals: usize,
    /// Values in ascending order, and how often each was recorded.
    counts: Vec<(u64, u64)>,
}

impl Stretch {
    fn merge(&mut self, counts: &[(u64, u64)]) {
        self.counts.extend_from_slice(counts);
        // Two runs that are in order already: the sort only joins them.
        self.counts.sort_by_key(|(value, _)| *value);
        self.counts.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            kept.1 = kept.1.saturating_add(if is_same { next.1 } else { 0 });
            is_same
        });
    }

    fn recorded(&self) -> u64 {
        let counts = self.counts.iter().map(|(_, count)| *count);
        counts.fold(0, u64::saturating_add)
    }

    /// The highest value that is not told apart from the one at a rank (from 1).
    fn value_at_rank(&self, rank: u64) -> Option<u64> {
        let mut below = 0u64;
        let at = self.counts.iter().find(|(_, count)| {
            below = below.saturating_add(*count);
            below >= rank
        });
        at.map(|(value, _)| hlog::highest(*value))
    }
}

impl Steps {
    fn new(per_mille: u64, intervals: usize, most: usize) -> Self {
        Self {
            per_mille,
            least: intervals.div_ceil(most.max(6)),
            open: None,
            filled: None,
            done: Vec::new(),
        }
    }

    fn add(&mut self, start_s: f64, duration_s: f64, counts: &[(u64, u64)]) {
        let open = self.open.get_or_insert_with(|| Stretch {
            start_s,
            end_s: start_s,
            intervals: 0,
            counts: Vec::new(),
        });
        open.merge(counts);
        open.end_s = start_s + duration_s;
        open.intervals += 1;
        if open.recorded() >= needed(self.per_mille) && open.intervals >= self.least {
            self.close();
            self.filled = self.open.take();
        }
    }

    fn close(&mut self) {
        let Some(filled) = self.filled.take() else {
            return;
        };
        let rank = rank(self.per_mille, filled.recorded());
        if let Some(ns) = filled.value_at_rank(rank) {
            let Stretch { start_s, end_s, .. } = filled;
            let us = us(ns);
            self.done.push(Step { start_s, end_s, us });
        }
    }

    /// What is left at the end is too little for itself and goes to the step before.
    fn finish(mut self) -> Vec<Step> {
        if let (Some(rest), Some(filled)) = (&self.open, &mut self.filled) {
            filled.merge(&rest.counts);
            filled.end_s = rest.end_s;
        }
        self.close();
        self.done
    }
}

/// The first cell of each adapter, label and workload speaks for it; an invalid one speaks for itself.
fn proofs(source: &Source, folders: &[String], cells: &[Cell]) -> Result<Vec<Proof>> {
    let mut seen = BTreeSet::new();
    let mut proofs = Vec::new();
    for (index, (cell, folder)) in cells.iter().zip(folders).enumerate() {
        let key = &cell.key;
        let first = seen.insert((&key.workload, &key.adapter, &key.label));
        if first || !cell.load.valid {
            proofs.push(proof(source, folder, index)?);
        }
    }
    Ok(proofs)
}

fn proof(source: &Source, folder: &str, cell: usize) -> Result<Proof> {
    let path = format!("cells/{folder}/parity.json");
    let bytes = source.read(&path).map_err(|e| e.at(path.clone()))?;
    let transcript: Transcript = serde_json::from_slice(&bytes)
        .map_err(|e| Error::unverified(format!("{path}: not a transcript: {e}")))?;
    let mut seen = BTreeSet::new();
    let mut exchanges = transcript.exchanges;
    exchanges.retain(|e| seen.insert(e.row.clone()) || !e.failures.is_empty());
    let failures = transcript.failures.into_iter();
    Ok(Proof {
        cell,
        exchanges,
        burst: transcript.burst.map_or(0, |burst| burst.asked),
        failures: failures.map(|f| (f.expected, f.got)).collect(),
    })
}

/// Whatever else stands in those files, these few words are read leniently: nothing rests on them.
fn adapters(source: &Source) -> Result<Vec<Adapter>> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct File {
        title: String,
        language: String,
        framework: Pinned,
        runtime: Pinned,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Pinned {
        name: String,
        version: String,
    }
    let pinned = |of: Pinned| format!("{} {}", of.name, of.version).trim().to_owned();
    let mut adapters = Vec::new();
    for (path, _) in source.files() {
        let name = path.strip_prefix("sources/adapters/");
        let Some(name) = name.and_then(|path| path.strip_suffix("/adapter.yaml")) else {
            continue;
        };
        let text = source.text(path).map_err(|e| e.at(path))?;
        let file: File = serde_yaml::from_str(&text).unwrap_or_default();
        adapters.push(Adapter {
            name: name.to_owned(),
            title: file.title,
            language: file.language,
            framework: pinned(file.framework),
            runtime: pinned(file.runtime),
        });
    }
    Ok(adapters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{compare, fixture};
    use crate::stats::quantile::value_at_rank;

    fn summary(source: &Source) -> Summary {
        let bytes = source.read("summary.json").unwrap();
        serde_json::from_value(compare::parse(&bytes).unwrap()).unwrap()
    }

    #[test]
    fn a_stretch_of_several_seconds_has_the_quantiles_of_their_histograms_sum() {
        let (mut hist, mut stretch) = (
            hlog::new_histogram(),
            Stretch {
                start_s: 0.0,
                end_s: 0.0,
                intervals: 0,
                counts: Vec::new(),
            },
        );
        for second in 0..3u64 {
            let mut of_second = hlog::new_histogram();
            for slot in 0..500 {
                of_second
                    .record(1_000 + slot * slot * (second + 1))
                    .unwrap();
            }
            let counts = of_second.iter_recorded();
            let counts: Vec<(u64, u64)> = counts
                .map(|bucket| {
                    (
                        of_second.lowest_equivalent(bucket.value_iterated_to()),
                        bucket.count_at_value(),
                    )
                })
                .collect();
            stretch.merge(&counts);
            hist.add(&of_second).unwrap();
        }
        assert_eq!(stretch.recorded(), 1_500);
        assert!(
            stretch.counts.is_sorted_by(|a, b| a.0 < b.0),
            "each value once"
        );
        for rank in [1, 750, 1_485, 1_500, 1_501] {
            assert_eq!(
                stretch.value_at_rank(rank),
                value_at_rank(&hist, rank),
                "{rank}"
            );
        }
    }

    #[test]
    fn an_archive_gives_a_curve_a_course_and_a_proof_for_each() {
        let dir = fixture::archive();
        let source = Source::open(dir.path()).unwrap();
        let summary = summary(&source);
        let details = read(&source, &summary).unwrap();
        assert_eq!(details.folders.len(), 4);
        let group = &details.groups[1];
        assert_eq!(group.runs.len(), 2);
        // Two seconds of 1,000 slots each: a step of each quantile for each of them.
        assert_eq!(group.runs[0].p99.len(), 2);
        assert_eq!(
            (group.runs[0].p50[1].start_s, group.runs[0].p50[1].end_s),
            (1.0, 2.0)
        );
        // 4,000 slots in both runs: 40 of them lie beyond the 99th percentile, 12.6 beyond the 99.68th.
        let last = group.response.last().unwrap();
        assert!((last.beyond - 10f64.powf(-2.6)).abs() < 1e-9, "{last:?}");
        assert!(group.response.is_sorted_by_key(|point| point.us));
        assert_eq!(details.proofs.len(), 2, "one for each adapter");
        assert_eq!(details.proofs[0].exchanges.len(), 1);
        assert_eq!(details.proofs[0].burst, 1000);
    }

    #[test]
    fn invalid_runs_and_earlier_attempts_give_no_curve_but_a_proof_of_their_own() {
        let dir = fixture::archive();
        let source = Source::open(dir.path()).unwrap();
        let mut summary = summary(&source);
        summary.cells[0].load.valid = false;
        let details = read(&source, &summary).unwrap();
        assert_eq!(details.groups[1].runs.len(), 1);
        assert_eq!(
            details.proofs.len(),
            2,
            "the invalid one is its adapter's first"
        );
        summary.cells[2].load.valid = false;
        let details = read(&source, &summary).unwrap();
        assert!(details.groups[1].runs.is_empty() && details.groups[1].response.is_empty());
        assert_eq!(details.proofs.len(), 3);
    }

    #[test]
    fn an_archive_that_lacks_what_its_summary_names_is_refused() {
        let dir = fixture::archive();
        let source = Source::open(dir.path()).unwrap();
        let mut more = summary(&source);
        more.cells.push(more.cells[0].clone());
        assert!(read(&source, &more).unwrap_err().what.contains("5 cells"));
        for file in ["latency.hlog", "parity.json"] {
            let dir = fixture::archive();
            let folder = dir.path().join("cells").join(source.cells()[0]);
            std::fs::write(folder.join(file), "x").unwrap();
            let source = Source::open(dir.path()).unwrap();
            let error = read(&source, &summary(&source)).unwrap_err();
            assert_eq!(error.exit, crate::error::Exit::Unverified);
            assert!(error.what.contains(file), "{}", error.what);
        }
    }

    #[test]
    fn a_curve_ends_where_its_samples_do() {
        let mut hist = hlog::new_histogram();
        (1..=100).for_each(|i| hist.record(i * 1000).unwrap());
        // 200 were scheduled and half of them completed: the upper half is not known.
        let points = curve(&hist, 200);
        assert!(points.last().unwrap().beyond >= 0.5, "{points:?}");
        assert_eq!(curve(&hist, 100).last().unwrap().beyond, 0.1);
        assert!(curve(&hist, 9).is_empty() && curve(&hlog::new_histogram(), 0).is_empty());
    }

    #[test]
    fn steps_hold_what_their_quantile_needs_and_are_not_too_many() {
        let second =
            |slots: u64| -> Vec<(u64, u64)> { (0..slots).map(|i| (1000 + i, 1)).collect() };
        let run = |per_mille, most, seconds: u32, slots| {
            let mut steps = Steps::new(per_mille, seconds as usize, most);
            (0..seconds).for_each(|s| steps.add(f64::from(s), 1.0, &second(slots)));
            steps.finish()
        };
        // 1,000 slots are needed for p99: ten seconds at 100/s, and the last five join them.
        let ends: Vec<f64> = run(990, 100, 25, 100)
            .iter()
            .map(|step| step.end_s)
            .collect();
        assert_eq!(ends, [10.0, 25.0]);
        assert_eq!(run(500, 100, 25, 100).len(), 25);
        let long = run(500, 10, 100, 100);
        assert!((6..=10).contains(&long.len()), "{}", long.len());
        assert_eq!(long.last().unwrap().end_s, 100.0);
        assert!(long.windows(2).all(|two| two[0].end_s == two[1].start_s));
        assert!(run(990, 10, 5, 100).is_empty(), "500 slots have no p99");
    }
}
