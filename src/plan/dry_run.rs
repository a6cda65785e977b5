//! What `--dry-run` says of a plan: what runs in which order, how long it takes, and what is missing.

use super::contender::Contender;
use super::disk::size;
use super::matrix::{Matrix, Unit};
use super::spec::{Kind, LEAST_PAIRS, Metric, Plan};
use crate::record::schema::CellKey;
use crate::stats::sustain::{Outlook, SustainRules, window};

/// The fewest slots of which a p99 is published (METHOD, rule 18).
const SLOTS_OF_A_P99: f64 = 1000.0;

impl Plan {
    /// Every unit in its order, the phases of each kind of unit, the holes, the time; and the disk, of
    /// which `archive_bytes` are guessed to be needed. Of a search, whose units follow from each other, only
    /// their bounds are known, by its rules.
    pub fn dry_run(
        &self,
        matrix: &Matrix,
        search: Option<&SustainRules>,
        archive_bytes: f64,
    ) -> String {
        let mut text = match search {
            Some(rules) => self.bounds_text(matrix, rules),
            None => self.total_text(matrix),
        };
        for change in &self.overridden {
            text += &format!("  overridden  {change}\n");
        }
        if search.is_none() {
            text += &format!(
                "  disk  about {} for the archive, as an estimate\n",
                size(archive_bytes)
            );
        }
        text += &self.phases_text(matrix);
        for caution in self.cautions(matrix) {
            text += &format!("  caution  {caution}\n");
        }
        if search.is_none() {
            text += &units_text(matrix);
        }
        for hole in &matrix.holes {
            text += &format!(
                " hole  {}  {}: {}\n",
                hole.workload, hole.adapter, hole.reason
            );
        }
        text
    }

    /// How many cells, and how long they take.
    fn total_text(&self, matrix: &Matrix) -> String {
        let total_s: f64 = matrix
            .units
            .iter()
            .map(|unit| self.unit_seconds(unit))
            .sum();
        let cells = matrix.cells().count();
        let count = match matrix.units.len() {
            units if units == cells => format!("{cells} cells"),
            units => format!("{units} units of {cells} cells"),
        };
        let most = match self.kind {
            Kind::Closed => "at most ",
            _ => "",
        };
        format!(
            "plan {}: {count}, {most}{} of phases (starting and proving a target comes on top)\n",
            self.name,
            clock(total_s)
        )
    }

    /// Between which numbers of cells a search ends, and what its trials can prove.
    fn bounds_text(&self, matrix: &Matrix, rules: &SustainRules) -> String {
        let searches = match matrix.units.len() {
            1 => "1 search".to_owned(),
            count => format!("{count} searches"),
        };
        let rungs = &rules.rungs;
        let (low, high) = (rungs[0], rungs[rungs.len() - 1]);
        let Outlook { fewest, most } = rules.outlook();
        // A warm-up by requests is longest where the rate is lowest.
        let [least, at_most] = [(fewest, high), (most, low)].map(|(trials, rate)| {
            let cells = trials * matrix.units.len();
            let seconds = cells as f64 * self.cell_seconds(rate);
            format!("{cells} cells, {} of phases", clock(seconds))
        });
        format!(
            "plan {}: {searches} among {} rates from {low}/s to {high}/s (starting and proving a target comes \
             on top)\n  at least  {least}\n  at most   {at_most}; more where trials of one rate disagree or \
             are invalid\n  {}\n  mode  {}\n",
            self.name,
            rungs.len(),
            window(rules.load_s, rules.warm_up_s),
            self.mode
        )
    }

    /// A line for each kind of unit, in the order in which they come.
    fn phases_text(&self, matrix: &Matrix) -> String {
        let mut lines: Vec<String> = Vec::new();
        for unit in &matrix.units {
            let phases: Vec<String> = self
                .unit_phases(unit)
                .iter()
                .map(|(name, seconds)| format!("{name} {} s", short(*seconds)))
                .collect();
            let sides = match unit.sides() {
                1 => String::new(),
                sides => format!("{sides} sides "),
            };
            let line = format!(
                "  {sides}at {}  {}\n",
                load_text(&unit.cells[0]),
                phases.join(", ")
            );
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines.concat()
    }

    /// What this plan can't show, though nothing in it is wrong.
    fn cautions(&self, matrix: &Matrix) -> Vec<String> {
        let mut cautions = Vec::new();
        if self.kind != Kind::Duel || !self.is_interleaved() {
            return cautions;
        }
        if self.pairs < LEAST_PAIRS {
            cautions.push(format!(
                "pairs: {}, and with fewer than {LEAST_PAIRS} no verdict can come",
                self.pairs
            ));
        }
        if self.null == 0 {
            cautions
                .push("no null pairs: nothing will show whether order alone ranks here".to_owned());
        }
        let most = matrix.units.iter().map(Unit::sides).max().unwrap_or(1);
        let slowest = self.rates_rps.iter().min().copied().unwrap_or_default();
        let slots = slowest as f64 * self.phases.load.get() / most as f64;
        if self.metrics.contains(&Metric::ResponseP99Us) && slots < SLOTS_OF_A_P99 {
            cautions.push(format!(
                "no p99: {most} sides share {} s of load, at {slowest}/s fewer than \
                 {SLOTS_OF_A_P99} slots for each",
                self.phases.load
            ));
        }
        cautions
    }
}

/// A line for each unit: its first cell's number, and what it is of.
fn units_text(matrix: &Matrix) -> String {
    let firsts = || matrix.units.iter().map(|unit| &unit.cells[0]);
    let width = |field: fn(&CellKey) -> usize| firsts().map(field).max().unwrap_or(0);
    let workloads = width(|cell| cell.workload.len());
    let loads = width(|cell| load_text(cell).len());
    let mut text = String::new();
    let mut number = 1;
    for unit in &matrix.units {
        let first = &unit.cells[0];
        text += &format!(
            "{number:>5}  {:workloads$}  {:>loads$}  #{}  {}\n",
            first.workload,
            load_text(first),
            first.repetition,
            who(unit)
        );
        number += unit.cells.len();
    }
    text
}

/// A unit in one line: `hello 1000/s #2  pair 3  a express, b node-http`.
pub fn title(unit: &Unit) -> String {
    let first = &unit.cells[0];
    format!(
        "{} {} #{}  {}",
        first.workload,
        load_text(first),
        first.repetition,
        who(unit)
    )
}

/// Who is measured, and in what part: `express`, `pair 3  a express, b node-http`.
fn who(unit: &Unit) -> String {
    let first = &unit.cells[0];
    let part = match (first.pair, first.series) {
        (Some(pair), _) => format!("pair {pair}"),
        (_, Some(series)) => format!("series {series}"),
        _ => String::new(),
    };
    let role = if first.role == "measure" {
        ""
    } else {
        &first.role
    };
    let sides = unit.cells.iter().take(unit.sides()).map(|cell| {
        let contender = Contender {
            adapter: cell.adapter.clone(),
            label: cell.label.clone(),
        };
        match &cell.side {
            Some(letter) => format!("{letter} {contender}"),
            None => contender.to_string(),
        }
    });
    let sides: Vec<String> = sides.collect();
    let mut words = vec![part, role.to_owned(), sides.join(", ")];
    words.retain(|word| !word.is_empty());
    words.join("  ")
}

fn load_text(cell: &CellKey) -> String {
    match cell.rate_rps {
        Some(rate) => format!("{rate}/s"),
        None => format!("{} connections, closed", cell.connections),
    }
}

/// At most three decimals, and none that say nothing.
fn short(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

/// Whole seconds as people say them: `1 h 05 min`, `2 min 30 s`, `50 s`.
pub fn clock(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s:02} s"),
        (h, m, _) => format!("{h} h {m:02} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::adapter::Adapter;
    use super::super::adapter::tests::adapter;
    use super::super::spec::tests::{CLOSED, DUEL, SUSTAIN, parse, plan};
    use super::*;
    use crate::record::planned::Planned;

    fn adapters() -> [Adapter; 3] {
        ["express", "fastify", "node-http"].map(|name| adapter(name, "[ok, hello]"))
    }

    #[test]
    fn a_dry_run_shows_cells_phases_and_time() {
        let (mut plan, mut adapters) = (plan(), adapters());
        adapters[0].workloads = vec!["ok".into()];
        plan.phases.warm_up.min_requests = 3000;
        plan.adapters = vec!["express".parse().unwrap(), "fastify".parse().unwrap()];
        plan.overridden.push("load: 9 -> 60".into());
        let matrix = plan.cells(&adapters).unwrap();
        let text = plan.dry_run(&matrix, None, 1.7e6);
        assert!(
            text.starts_with("plan small: 18 cells, 36 min 00 s of phases"),
            "{text}"
        );
        assert!(text.contains("  overridden  load: 9 -> 60\n"));
        assert!(text.contains("  disk  about 1.7 MB for the archive, as an estimate\n"));
        assert!(text.contains("at 100/s  baseline 1.5 s, warm-up 30 s, settle 6 s, load 60 s"));
        assert!(text.contains(" hole  hello  express: does not serve this workload\n"));
        let listed: Vec<&str> = text.lines().filter(|line| line.contains('#')).collect();
        assert_eq!(listed.len(), 18);
        for (line, cell) in listed.iter().zip(matrix.cells()) {
            assert!(line.ends_with(&format!("#{}  {}", cell.repetition, cell.adapter)));
        }
        assert_eq!([clock(49.6), clock(150.0)], ["50 s", "2 min 30 s"]);
        assert_eq!(clock(3900.0), "1 h 05 min");
    }

    #[test]
    fn a_closed_loops_dry_run_says_that_its_time_is_a_bound() {
        let plan = parse(CLOSED).unwrap();
        let text = plan.dry_run(&plan.cells(&adapters()).unwrap(), None, 0.0);
        assert!(
            text.starts_with("plan loops: 12 cells, at most 22 min 30 s"),
            "{text}"
        );
        let line = "  at 25 connections, closed  baseline 1.5 s, warm-up 15 s, settle 6 s, \
                    load at most 60 s, recovery 30 s\n";
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn a_searchs_dry_run_says_its_bounds_and_what_it_can_prove() {
        let plan = parse(SUSTAIN).unwrap();
        let rules = Planned::read(&plan.to_yaml().unwrap())
            .unwrap()
            .sustain
            .unwrap();
        assert_eq!(
            rules.rungs,
            plan.rungs(),
            "read alike from the archive's plan"
        );
        let Outlook { fewest, most } = rules.outlook();
        let text = plan.dry_run(&plan.cells(&adapters()).unwrap(), Some(&rules), 0.0);
        let cells = |trials: usize| {
            format!(
                "{} cells, {} of phases",
                3 * trials,
                clock(18.0 * trials as f64)
            )
        };
        for line in [
            &*format!(
                "plan knees: 3 searches among {} rates from 1000/s to 50000/s (",
                rules.rungs.len()
            ),
            &*format!("\n  at least  {}\n", cells(fewest)),
            &*format!("\n  at most   {}; more where trials", cells(most)),
            "\n  held for 2 s of load after 1 s of warm-up",
            "nothing is claimed beyond that time\n  mode  pinned\n",
            "\n  at 1000/s  baseline 1 s, warm-up 1 s, settle 1 s, load 2 s, recovery 1 s\n",
        ] {
            assert!(text.contains(line), "{line:?} is not in\n{text}");
        }
        assert!(!text.contains('#'), "no cell is known beforehand: {text}");
    }

    #[test]
    fn a_duels_dry_run_shows_its_units() {
        let plan = parse(&DUEL.replace("together: 3", "together: 2\npairing: both")).unwrap();
        let text = plan.dry_run(&plan.cells(&adapters()).unwrap(), None, 0.0);
        for line in [
            "plan fight: 30 units of 130 cells, 12 min 26 s of phases",
            "  at 1000/s  baseline 1 s, warm-up 5 s, settle 1 s, load 10 s, recovery 1 s\n",
            "  2 sides at 1000/s  baseline 1 s, first warm-up 0.3 s, warm-up 5 s, settle 1 s, load 10 s, background 2 s, \
             capacity 8 s, recovery 1 s\n",
            "    1  ok                 1000/s  #1  canary  node-http\n",
            "    8  ok                 1000/s  #1  pair 2  null  a node-http, b node-http\n",
            "  pair 3  a express, b node-http\n",
            "  pair 12  a fastify, b node-http\n",
            "  124  ok  8 connections, closed  #2  series 3  express\n",
            "  130  ok                 1000/s  #2  canary  node-http\n",
        ] {
            assert!(text.contains(line), "{line:?} is not in\n{text}");
        }
        assert!(!text.contains("caution"), "{text}");
    }

    #[test]
    fn what_a_duel_cannot_show_is_said_beforehand() {
        let cautions = |changes: &[(&str, &str)]| {
            let mut text = DUEL.to_owned();
            for (good, bad) in changes {
                assert!(text.contains(good), "{good}");
                text = text.replace(good, bad);
            }
            let plan = parse(&text).unwrap();
            plan.cautions(&plan.cells(&adapters()).unwrap())
        };
        assert!(cautions(&[]).is_empty());
        let few = cautions(&[("pairs: 6", "pairs: 5"), ("null: 4", "null: 0")]);
        assert!(few[0].starts_with("pairs: 5, and with fewer than 6 no verdict"));
        assert!(few[1].starts_with("no null pairs"));
        let short = cautions(&[("load: 10", "load: 2.9")]);
        assert!(
            short[0].starts_with("no p99: 3 sides share 2.9 s of load"),
            "{short:?}"
        );
    }
}
