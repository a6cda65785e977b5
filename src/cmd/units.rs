//! The run's loop: every planned unit that has no valid record yet, in the plan's order, tried again
//! within the plan's bound, written before the next one starts.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::attempts::{is_attempt, is_attempt_of};
use super::job::Job;
use crate::cell::{self, Bench, Contest, Entry, Measured, Refusal, Rhythms, Trouble};
use crate::engine::Image;
use crate::error::{Error, Result};
use crate::guard::{Level, gate};
use crate::plan::{Agenda, Outcome, Unit, dry_run};
use crate::record::archive::{Archive, Evidence};
use crate::record::schema::{Cell, CellKey, Hole};
use crate::report::table;
use crate::stats::sustain::{self, Told};
use crate::ui::View;

/// What a unit takes beyond its phases, in seconds, before one was seen.
const OVERHEAD_S: f64 = 2.0;
/// How long a run waits for the machine to become quiet, at most: before its first unit, and what is
/// left of it before the others.
const PATIENCE: Duration = Duration::from_secs(30);
/// What even a quiet machine is looked at for.
const LOOK: Duration = Duration::from_secs(1);

/// The loop's state.
pub(super) struct Units<'a> {
    job: &'a Job<'a>,
    bench: &'a Bench<'a>,
    built: &'a BTreeMap<String, Image>,
    archive: &'a Archive,
    /// What an earlier run of this archive left.
    finished: Vec<Cell>,
    /// How long slices are.
    rhythms: Rhythms,
    /// How long the run may still wait for quiet.
    patience: Duration,
    ran: usize,
    /// What the units that ran took beyond their phases, in seconds.
    overhead_s: f64,
}

impl<'a> Units<'a> {
    /// Of a new archive, or of one that is gone on with.
    pub(super) fn new(
        job: &'a Job<'a>,
        bench: &'a Bench<'a>,
        built: &'a BTreeMap<String, Image>,
        archive: &'a Archive,
    ) -> Result<Self> {
        let mut units = Self {
            job,
            bench,
            built,
            archive,
            finished: vec![],
            rhythms: Rhythms::default(),
            patience: PATIENCE,
            ran: 0,
            overhead_s: 0.0,
        };
        let finished = archive.finished_cells()?;
        let (whole, half): (Vec<_>, Vec<_>) = finished
            .iter()
            .partition(|(_, cell)| units.is_whole(&finished, &cell.key));
        for (name, _) in half {
            archive.discard_cell(name)?;
        }
        units.finished = whole.into_iter().map(|(_, cell)| cell.clone()).collect();
        for cell in &units.finished {
            units.rhythms.keep(cell);
        }
        Ok(units)
    }

    /// Runs what is left to run; of a search, what follows from what is there.
    pub(super) async fn run(&mut self, mut agenda: Agenda<'_>, holes: &mut Holes) -> Result<()> {
        let (mut place, mut number) = (1, 1);
        loop {
            let left = agenda.left().map(|left| self.seconds_left(left));
            let Some(unit) = agenda.ask() else {
                return Ok(());
            };
            let planned = Planned {
                place,
                number,
                left_s: left,
            };
            agenda.tell(self.unit(&unit, planned, holes).await?);
            place += 1;
            number += unit.cells.len() as u32;
        }
    }

    /// One unit, until it is valid or its attempts are used up.
    async fn unit(&mut self, unit: &Unit, planned: Planned, holes: &mut Holes) -> Result<Outcome> {
        if unit.cells.iter().any(|key| holes.has(key)) {
            holes.spread(unit);
            return Ok(Outcome::Gone);
        }
        let ui = &self.job.context.ui;
        let (mut attempt, mut valid, mut told) = self.attempts_before(unit);
        let title = dry_run::title(unit);
        let contests = self.contests(unit)?;
        while !valid && attempt <= self.job.plan.retries {
            attempt += 1;
            let again = match attempt {
                1 => String::new(),
                more => format!(", attempt {more}"),
            };
            ui.step(&self.heading(&planned, &format!("{title}{again}")));
            let cells: Vec<CellKey> = unit
                .cells
                .iter()
                .map(|key| CellKey {
                    attempt,
                    ..key.clone()
                })
                .collect();
            let names: Vec<String> = contests.iter().map(Contest::contender).collect();
            // Nobody knows how long it takes to become quiet.
            ui.begin(self.view(&planned, None, names.clone()));
            self.wait_for_quiet().await;
            ui.begin(self.view(&planned, planned.left_s, names));
            let measured = self.measure(unit, &cells, &contests).await;
            ui.over();
            let measured = match measured {
                Ok(measured) => measured,
                Err(Trouble::Failed(error)) => return Err(error.at(&title)),
                Err(Trouble::Refused(refusal)) if self.job.keep_going => {
                    ui.warn(&format!("{title}: {}", refusal.reason));
                    holes.fail(&unit.cells[refusal.side], &refusal.reason);
                    holes.spread(unit);
                    return Ok(Outcome::Gone);
                }
                Err(Trouble::Refused(refusal)) => return Err(stopped(&title, &refusal)),
            };
            let written = self.write(unit, planned.number, measured)?;
            for cell in &written {
                ui.step(&format!("  {}", outcome(cell)));
            }
            valid = written.iter().all(|cell| cell.load.valid);
            told = written.first().map_or(told, sustain::told);
        }
        Ok(Outcome::Measured(told))
    }

    /// Which unit, of how many, and how long the rest takes: a search knows neither.
    fn heading(&self, planned: &Planned, title: &str) -> String {
        let place = planned.place;
        match planned.left_s {
            Some(left_s) => format!(
                "[{place}/{}] {title}, {} left",
                self.job.matrix.units.len(),
                dry_run::clock(left_s)
            ),
            None => format!("[{place}] {title}"),
        }
    }

    fn view(&self, planned: &Planned, left_s: Option<f64>, names: Vec<String>) -> View {
        // How many a search has is not known.
        let all = planned.left_s.map_or(0, |_| self.job.matrix.units.len());
        View::new(planned.place - 1, all, left_s, names)
    }

    async fn measure(
        &mut self,
        unit: &Unit,
        cells: &[CellKey],
        contests: &[Contest<'_>],
    ) -> std::result::Result<Vec<Measured>, Trouble> {
        let (plan, ui) = (&self.job.plan, &self.job.context.ui);
        let seconds = plan.unit_seconds(unit);
        let entry = Entry {
            contests,
            cells,
            seconds,
        };
        let start = Instant::now();
        let measured = cell::run(self.bench, entry, plan, &mut self.rhythms, ui).await?;
        self.ran += 1;
        self.overhead_s += (start.elapsed().as_secs_f64() - seconds).max(0.0);
        Ok(measured)
    }

    /// Whether it became quiet is only said here: what runs during a load is judged in its record.
    async fn wait_for_quiet(&mut self) {
        let (cpus, ui) = (self.bench.cpus.cpus(), &self.job.context.ui);
        let start = Instant::now();
        let finding = gate::quiet(&cpus, self.patience, |text| ui.now(text)).await;
        self.patience = self
            .patience
            .saturating_sub(start.elapsed().saturating_sub(LOOK));
        if finding.level == Level::Warn {
            ui.warn(&format!("{}: {}", finding.what, finding.fix));
        }
    }

    /// Writes a unit's cells, the first load's last: an attempt whose first load is there is whole.
    fn write(&self, unit: &Unit, number: u32, measured: Vec<Measured>) -> Result<Vec<Cell>> {
        let mut written: Vec<(usize, Cell)> = Vec::new();
        let (first, later): (Vec<_>, Vec<_>) = measured
            .into_iter()
            .enumerate()
            .partition(|(place, _)| *place < unit.sides());
        for (place, measured) in later.into_iter().chain(first) {
            let Measured {
                cell,
                hlog,
                samples,
                transcript,
                log,
            } = measured;
            let evidence = Evidence {
                hlog: &hlog,
                samples: &samples,
                parity: &transcript,
                target_log: &log,
            };
            let cell = self
                .archive
                .put_cell(number + place as u32, cell, &evidence)?;
            written.push((place, cell));
        }
        written.sort_by_key(|(place, _)| *place);
        Ok(written.into_iter().map(|(_, cell)| cell).collect())
    }

    /// (the last attempt's number, whether one was valid, what it says), of an earlier run.
    fn attempts_before(&self, unit: &Unit) -> (u32, bool, Told) {
        let of = |key: &CellKey| {
            let key = key.clone();
            self.finished
                .iter()
                .filter(move |cell| is_attempt_of(cell, &key))
        };
        let attempts: Vec<u32> = of(&unit.cells[0]).map(|cell| cell.key.attempt).collect();
        let is_valid = |attempt: &u32| {
            let mut cells = unit.cells.iter().flat_map(of);
            cells.all(|cell| cell.key.attempt != *attempt || cell.load.valid)
        };
        let valid = attempts.iter().any(is_valid);
        let last = of(&unit.cells[0]).max_by_key(|cell| cell.key.attempt);
        let told = last.map_or(Told::Invalid, sustain::told);
        (attempts.into_iter().max().unwrap_or(0), valid, told)
    }

    /// Whether every side of the first load of this cell's attempt was written.
    fn is_whole(&self, finished: &[(String, Cell)], key: &CellKey) -> bool {
        let of_key = |unit: &&Unit| unit.cells.iter().any(|planned| is_attempt(key, planned));
        let Some(unit) = self.job.matrix.units.iter().find(of_key) else {
            return true;
        };
        unit.cells[..unit.sides()].iter().all(|side| {
            finished
                .iter()
                .any(|(_, cell)| cell.key.attempt == key.attempt && is_attempt_of(cell, side))
        })
    }

    /// Who takes part, side by side.
    fn contests<'b>(&self, unit: &'b Unit) -> Result<Vec<Contest<'b>>>
    where
        'a: 'b,
    {
        let contest = |key: &'b CellKey| {
            let adapter = self
                .job
                .adapters
                .iter()
                .find(|adapter| adapter.name == key.adapter);
            let workload = self
                .job
                .workloads
                .iter()
                .find(|workload| workload.name == key.workload);
            match (adapter, workload, self.built.get(&key.adapter)) {
                (Some(adapter), Some(workload), Some(image)) => Ok(Contest {
                    adapter,
                    label: &key.label,
                    image,
                    workload,
                }),
                _ => Err(Error::unexpected(format!(
                    "no such adapter or workload: {}",
                    dry_run::title(unit)
                ))),
            }
        };
        unit.cells[..unit.sides()].iter().map(contest).collect()
    }

    /// How long the rest will take: the phases, and what a unit took beyond them so far.
    fn seconds_left(&self, rest: &[Unit]) -> f64 {
        let phases: f64 = rest
            .iter()
            .map(|unit| self.job.plan.unit_seconds(unit))
            .sum();
        let overhead_s = match self.ran {
            0 => OVERHEAD_S,
            ran => self.overhead_s / ran as f64,
        };
        phases + overhead_s * rest.len() as f64
    }
}

/// Where in a run a unit stands.
struct Planned {
    /// From 1.
    place: usize,
    /// Its first cell's.
    number: u32,
    /// How long it and the rest take; not known of a search.
    left_s: Option<f64>,
}

/// What has no number, and why.
pub(super) struct Holes {
    pub(super) list: Vec<Hole>,
    /// Those that somebody should mend, a sentence each.
    pub(super) failures: Vec<String>,
}

impl Holes {
    /// Those that the plan itself shows.
    pub(super) fn new(planned: &[Hole]) -> Self {
        Self {
            list: planned.to_vec(),
            failures: vec![],
        }
    }

    /// All cells of this adapter, label and workload.
    pub(super) fn fail(&mut self, key: &CellKey, reason: &str) {
        let adapter = key.contender();
        self.failures
            .push(format!("{adapter} on {}: {reason}", key.workload));
        self.list.push(Hole {
            adapter,
            workload: key.workload.clone(),
            reason: reason.to_owned(),
        });
    }

    /// A pair that lost a side has no number for the others either.
    fn spread(&mut self, unit: &Unit) {
        let sides = &unit.cells[..unit.sides()];
        let Some(lost) = sides.iter().find(|key| self.has(key)) else {
            return;
        };
        let reason = format!("{} in the same pair has none", lost.contender());
        for key in sides {
            if !self.has(key) {
                self.list.push(Hole {
                    adapter: key.contender(),
                    workload: key.workload.clone(),
                    reason: reason.clone(),
                });
            }
        }
    }

    pub(super) fn has(&self, key: &CellKey) -> bool {
        let adapter = key.contender();
        let is = |hole: &&Hole| hole.adapter == adapter && hole.workload == key.workload;
        self.list.iter().find(is).is_some()
    }
}

/// A cell's main figures in one line, or why it has none.
fn outcome(cell: &Cell) -> String {
    let who = match &cell.key.side {
        None => String::new(),
        Some(_) if cell.key.rate_rps.is_none() => {
            format!(
                "{}, {} connections: ",
                cell.key.contender(),
                cell.key.connections
            )
        }
        Some(_) => format!("{}: ", cell.key.contender()),
    };
    if !cell.load.valid {
        return format!("{who}invalid: {}", cell.load.invalid_reasons.join("; "));
    }
    let figure = |value: Option<f64>| value.map_or("-".to_owned(), table::short);
    let cpu = figure(cell.cpu_us_per_request);
    if cell.key.rate_rps.is_none() {
        let rps = figure(cell.load.achieved_rps);
        return format!("{who}{cpu} CPU us per request, {rps} requests a second in closed loop");
    }
    let response = &cell.load.response_us;
    let health = match cell.healthy {
        Some(true) => "healthy".to_owned(),
        _ => cell.unhealthy_reasons.join("; "),
    };
    let (p50, p99) = (figure(response.p50), figure(response.p99));
    format!("{who}{cpu} CPU us per request, p50 {p50} us, p99 {p99} us, {health}")
}

/// A parity failure stops the run: whatever it would measure, it would not be the same work.
fn stopped(title: &str, refusal: &Refusal) -> Error {
    let log = refusal.log_tail();
    let log = if log.is_empty() {
        String::new()
    } else {
        format!("\nthe end of the target's log:\n{log}")
    };
    Error::incomplete(format!("{title}: {}{log}", refusal.reason)).next(
        "`shootout check NAME` shows every row; --keep-going makes holes of such cells and goes on",
    )
}
