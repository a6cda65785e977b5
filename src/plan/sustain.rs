//! The keys of a plan that looks for the highest rate, and who is searched.

use serde::{Deserialize, Serialize};

use super::adapter::Adapter;
use super::check::{bounds, rate, within};
use super::cpus::CpuAsk;
use super::matrix::{Matrix, Unit};
use super::spec::{Kind, Mode, Plan, forges_bounds};
use super::yaml::{Wrong, at};
use crate::error::Result;
use crate::stats::judge::Healthy;
use crate::stats::sustain::Trial;
use crate::stats::sustain::ladder::{MOST_RUNGS, rungs};

/// What is sustained is kept for people: the published experiment's bound.
pub(super) const CRITERION: Healthy = Healthy {
    coverage: 0.95,
    p99_ms: 10.0,
};
/// Of so many trials the majority decides.
pub(super) const TRIALS: u32 = 3;
/// More trials of each rate are mistakes.
const MOST_TRIALS: u32 = 99;
/// Steps past this one find nothing that people could use.
const LARGEST_STEP: f64 = 10.0;
/// A p99 is known from so many slots on (METHOD, rule 18).
const LEAST_SLOTS: f64 = 1000.0;
/// More threads than any machine has CPUs.
const MOST_THREADS: u64 = 1024;

/// Rates that a search may try, each a step above the one before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ladder {
    /// The lowest rate, and the first that is tried.
    pub from: u64,
    /// The highest.
    pub to: u64,
    /// The step on the way up, as a factor: as many fine ones as it has room for.
    #[serde(default = "coarse")]
    pub coarse: f64,
    /// The step between neighbours, as a factor: how exact the result is.
    #[serde(default = "fine")]
    pub fine: f64,
}

fn coarse() -> f64 {
    1.3
}

fn fine() -> f64 {
    1.05
}

impl Plan {
    /// Writes a search's defaults into the plan, so that its archive says them. What its trials are judged
    /// by is also what makes its cells healthy.
    pub(super) fn resolve_sustain(&mut self) {
        let criterion = *self.criterion.get_or_insert(CRITERION);
        self.trials.get_or_insert(TRIALS);
        if self.healthy == forges_bounds() {
            self.healthy = criterion;
        }
    }

    /// The rates that its search may try, ascending.
    pub fn rungs(&self) -> Vec<u64> {
        match self.ladder {
            Some(Ladder { from, to, fine, .. }) => rungs(from, to, fine),
            None => self.rates_rps.clone(),
        }
    }

    pub(super) fn check_sustain(&self) -> std::result::Result<(), Wrong> {
        self.check_rungs()?;
        let trials = self.trials.unwrap_or(TRIALS);
        within("trials", trials.into(), 1, MOST_TRIALS.into())?;
        if trials.is_multiple_of(2) {
            let what =
                format!("trials {trials}: expected an odd number, so that a majority decides");
            return Err(Wrong::new(at!["trials"], what));
        }
        if let Some(criterion) = &self.criterion {
            bounds("criterion", criterion)?;
            if *criterion != self.healthy {
                let what = "`healthy` differs from `criterion`, by which a sustain plan's cells are judged";
                return Err(Wrong::new(at!["healthy"], what).next("leave it out"));
            }
        }
        let connections = u64::from(self.connections.first());
        within(
            "threads",
            self.threads.into(),
            1,
            MOST_THREADS.min(connections),
        )
        .map_err(|wrong| wrong.next("each thread needs a connection of its own"))?;
        match self.phases.warm_up.rate_rps {
            Some(0) => {
                let what = "rate_rps 0: expected requests a second above 0";
                Err(Wrong::new(at!["phases", "warm_up", "rate_rps"], what))
            }
            _ => Ok(()),
        }
    }

    fn check_rungs(&self) -> std::result::Result<(), Wrong> {
        let lowest = match &self.ladder {
            Some(_) if !self.rates_rps.is_empty() => {
                let what = "`rates_rps` and `ladder`: a search has one of them";
                return Err(Wrong::new(at!["rates_rps"], what).next("leave one of them out"));
            }
            Some(ladder) => {
                ladder.check()?;
                ladder.from
            }
            None => {
                if let Some(index) = self.rates_rps.windows(2).position(|two| two[0] >= two[1]) {
                    let what = format!("{} after a higher rate", self.rates_rps[index + 1]);
                    let wrong = Wrong::new(at!["rates_rps", index + 1], what);
                    return Err(wrong.next("list the rates of a search in ascending order"));
                }
                match self.rates_rps.first() {
                    Some(lowest) => *lowest,
                    None => {
                        let what = "`ladder` is missing: a search needs the rates that it may try";
                        let next =
                            "write it, as in `ladder: {from: 1000, to: 100000}`, or `rates_rps`";
                        return Err(Wrong::new(at!["ladder"], what).next(next));
                    }
                }
            }
        };
        let load_s = self.phases.load.get();
        if (lowest as f64 * load_s) < LEAST_SLOTS {
            let what = format!("{load_s} s at {lowest}/s: a p99 needs {LEAST_SLOTS} slots");
            return Err(Wrong::new(at!["phases", "load"], what)
                .next("raise the lowest rate or `phases.load`"));
        }
        Ok(())
    }

    /// What a pinned target and an unleashed one may say of CPUs.
    pub(super) fn check_mode(&self) -> std::result::Result<(), Wrong> {
        let all = self.limits.target_cpus == CpuAsk::All;
        let wrong =
            |what: &str, next| Err(Wrong::new(at!["limits", "target_cpus"], what).next(next));
        match self.mode {
            Mode::Unleashed if !all => wrong(
                "an unleashed target has no CPU set",
                "write `target_cpus: all`, or `mode: pinned`",
            ),
            Mode::Pinned if all => wrong(
                "a pinned target has CPUs of its own, not all",
                "write a number or a list of CPUs, or `mode: unleashed`",
            ),
            _ => Ok(()),
        }
    }

    /// The first trial of everyone who can be searched: the others follow from what it comes to.
    pub(super) fn openers(&self, adapters: &[Adapter]) -> Result<Matrix> {
        let mut matrix = Matrix::default();
        let Some(lowest) = self.rungs().first().copied() else {
            return Ok(matrix);
        };
        for workload in &self.workloads {
            let contenders = self.contenders(workload, adapters, &mut matrix.holes)?;
            let cell = |who| Unit::alone(self.cell(who, workload, self.open(lowest), 1));
            matrix.units.extend(contenders.into_iter().map(cell));
        }
        Ok(matrix)
    }

    /// The cell of a trial.
    pub(super) fn trial(&self, trial: &Trial) -> Option<Unit> {
        let who = trial.who.parse().ok()?;
        let point = self.open(trial.rate_rps);
        Some(Unit::alone(self.cell(
            &who,
            &trial.workload,
            point,
            trial.number,
        )))
    }

    /// Whether its units follow from what the ones before came to.
    pub fn is_search(&self) -> bool {
        self.kind == Kind::Sustain
    }
}

impl Ladder {
    fn check(&self) -> std::result::Result<(), Wrong> {
        let Self {
            from,
            to,
            coarse,
            fine,
        } = *self;
        let at = |key: &'static str| at!["ladder", key];
        rate(at("from"), from)?;
        rate(at("to"), to)?;
        if to <= from {
            let what = format!("to {to}: expected a rate above {from}, where the ladder begins");
            return Err(Wrong::new(at("to"), what));
        }
        for (key, step, least) in [("fine", fine, 1.001), ("coarse", coarse, fine)] {
            if !(least..=LARGEST_STEP).contains(&step) {
                let what =
                    format!("{key} {step}: expected a factor from {least} to {LARGEST_STEP}");
                return Err(Wrong::new(at(key), what));
            }
        }
        if rungs(from, to, fine).len() > MOST_RUNGS {
            let what = format!("fine {fine}: more than {MOST_RUNGS} rates from {from} to {to}");
            return Err(Wrong::new(at("fine"), what).next("1.05 is a step of 5 %"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::adapter::tests::adapter;
    use super::super::kinds::tests::refused;
    use super::super::spec::tests::{PLAN, SUSTAIN, parse};
    use super::*;

    #[test]
    fn a_search_is_checked() {
        refused(
            SUSTAIN,
            &[
                (LADDER, "", "1:1: `ladder` is missing"),
                (LADDER, "rates_rps: []\n", "1:1: `ladder` is missing"),
                (
                    LADDER,
                    "rates_rps: [2000, 1000]\n",
                    "5:19: 1000 after a higher rate",
                ),
                (
                    "trials: 3",
                    "rates_rps: [1000]",
                    "7:12: `rates_rps` and `ladder`",
                ),
                ("from: 1000", "from: 0", "5:16: a rate of 0"),
                ("from: 1000", "from: 400", "8:63: 2 s at 400/s: a p99 needs"),
                (
                    "to: 50000",
                    "to: 1000",
                    "5:26: to 1000: expected a rate above",
                ),
                ("to: 50000", "to: 20000000", "5:26: a rate of 20000000"),
                ("fine: 1.05", "fine: 1", "5:52: fine 1: expected a factor"),
                ("fine: 1.05", "fine: .nan", "5:52: fine NaN"),
                ("fine: 1.05", "fine: 1.001", "5:52: fine 1.001: more than"),
                (
                    "coarse: 1.3",
                    "coarse: 1.01",
                    "5:41: coarse 1.01: expected a",
                ),
                (
                    "coarse: 1.3",
                    "corse: 1.3",
                    "5:33: ladder: unknown field `corse`",
                ),
                ("trials: 3", "trials: 2", "7:9: trials 2: expected an odd"),
                ("trials: 3", "trials: 0", "7:9: trials 0: expected 1 to"),
                (
                    "trials: 3",
                    "threads: 0",
                    "7:10: threads 0: expected 1 to 100",
                ),
                ("trials: 3", "threads: 101", "7:10: threads 101: expected 1"),
                (
                    "trials: 3",
                    "criterion: {coverage: 2, p99_ms: 1}",
                    "7:23: coverage 2",
                ),
                (
                    "trials: 3",
                    "healthy: {coverage: 1, p99_ms: 1}",
                    "7:10: `healthy` differs from `criterion`",
                ),
                ("seconds: 1", "seconds: 1, rate_rps: 0", "8:55: rate_rps 0"),
                (
                    "target_cpus: 1",
                    "target_cpus: all",
                    "9:23: a pinned target has CPUs of its own",
                ),
                (
                    "trials: 3",
                    "mode: unleashed",
                    "9:23: an unleashed target has no CPU set",
                ),
                (
                    "trials: 3",
                    "repetitions: 3",
                    "7:14: `repetitions` has no meaning",
                ),
                (
                    "trials: 3",
                    "loop: closed",
                    "7:7: `loop: closed` in a plan of",
                ),
            ],
        );
        for key in [
            "ladder: {from: 1, to: 2}",
            "trials: 3",
            "threads: 2",
            "mode: unleashed",
        ] {
            let error = parse(&format!("{PLAN}{key}\n")).unwrap_err();
            assert!(
                error.what.contains("has no meaning in a plan of"),
                "{error}"
            );
        }
        let warm = PLAN.to_owned() + "phases: {warm_up: {rate_rps: 10}}\n";
        let error = parse(&warm).unwrap_err();
        assert!(
            error
                .what
                .contains("10:30: `phases.warm_up.rate_rps` has no"),
            "{error}"
        );
    }

    const LADDER: &str = "ladder: {from: 1000, to: 50000, coarse: 1.3, fine: 1.05}\n";

    #[test]
    fn a_searchs_defaults_are_written_out_and_read_back() {
        let plan = parse(&SUSTAIN.replace("trials: 3\n", "")).unwrap();
        assert_eq!(
            (plan.trials, plan.criterion),
            (Some(TRIALS), Some(CRITERION))
        );
        assert_eq!(
            plan.healthy, CRITERION,
            "a cell is healthy if its trial held"
        );
        let own = parse(&SUSTAIN.replace("trials: 3", "criterion: {coverage: 1, p99_ms: 5}"));
        let own = own.unwrap();
        assert_eq!(own.healthy.p99_ms, 5.0);
        let unleashed = SUSTAIN.replace("trials: 3", "mode: unleashed");
        let unleashed = unleashed.replace("target_cpus: 1", "target_cpus: all");
        let listed = SUSTAIN.replace(LADDER, "rates_rps: [1000, 2000]\n");
        for plan in [
            plan,
            own,
            parse(&unleashed).unwrap(),
            parse(&listed).unwrap(),
        ] {
            assert_eq!(parse(&plan.to_yaml().unwrap()).unwrap(), plan);
        }
        assert_eq!(parse(&listed).unwrap().rungs(), [1000, 2000]);
    }

    #[test]
    fn who_can_be_searched_is_and_the_others_are_holes() {
        let plan = parse(SUSTAIN).unwrap();
        let mut adapters = ["express", "node-http"].map(|name| adapter(name, "[ok, hello]"));
        adapters[1].not_built = Some("its tool is in no registry".into());
        let matrix = plan.cells(&adapters).unwrap();
        let names: Vec<String> = matrix.cells().map(|cell| cell.contender()).collect();
        assert_eq!(names, ["express", "express@slow"]);
        assert_eq!(matrix.holes.len(), 1);
        assert!(matrix.cells().all(|cell| cell.rate_rps == Some(1000)));
    }
}
