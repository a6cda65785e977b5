//! How much disk an archive takes, before it is there: an estimate, from what archives were seen to hold.
//! Most of it is proof: every request of the parity matrix with its answer, before and after the load.

use super::expect::Expect;
use super::matrix::{Matrix, Unit};
use super::spec::Plan;
use super::workload::{Variant, Workload};

/// An exchange in `parity.json` but for its bodies: two heads, and what JSON adds to them.
const EXCHANGE: f64 = 950.0;
/// How often each variant of the load is asked in a proof, and how many proofs there are.
const ASKED: f64 = 2.0;
const PROOFS: f64 = 2.0;
/// Slots of the load that are kept whole.
const KEPT: f64 = 128.0;
/// A cell's figures: `cell.json`, the same again in the summary, its histograms.
const FIGURES: f64 = 26_000.0;
/// Of each second of load: a line of histogram, two rows of samples.
const SECOND: f64 = 500.0;
/// Of a run: its environment, images, report, and an adapter's packages.
const RUN: f64 = 10_000.0;
const PACKAGES: f64 = 3_000.0;

impl Plan {
    /// The bytes of this plan's archive, without what an attempt more would add; `sources_bytes` is the
    /// length of its sources, which it holds as they are.
    pub fn archive_bytes(
        &self,
        matrix: &Matrix,
        workloads: &[Workload],
        sources_bytes: usize,
    ) -> f64 {
        let units = matrix
            .units
            .iter()
            .map(|unit| self.unit_bytes(unit, workloads));
        let packages = self.adapter_names().len() as f64 * PACKAGES;
        sources_bytes as f64 + RUN + packages + units.sum::<f64>()
    }

    fn unit_bytes(&self, unit: &Unit, workloads: &[Workload]) -> f64 {
        let named = |name: &str| workloads.iter().find(|workload| workload.name == name);
        let cells = unit.cells.iter().enumerate().map(|(index, cell)| {
            // The proofs stand beside a side's first load.
            let proves = index < unit.sides();
            let parity = named(&cell.workload).map(|workload| parity_bytes(workload, proves));
            let seconds = self.load_ns(cell) as f64 / 1e9;
            FIGURES + SECOND * seconds + parity.unwrap_or_default()
        });
        cells.sum()
    }
}

fn parity_bytes(workload: &Workload, proves: bool) -> f64 {
    let exchange = |variant: &Variant| {
        let sent = variant.body.as_ref().map_or(0, String::len);
        EXCHANGE + sent as f64 + expected_bytes(&variant.expect)
    };
    let sum = |rows: &[Variant]| rows.iter().map(exchange).sum::<f64>();
    let variants = workload.variants();
    let kept = KEPT * sum(&variants) / variants.len().max(1) as f64;
    if !proves {
        return kept;
    }
    let others = &workload.parity_rows()[variants.len()..];
    kept + PROOFS * (ASKED * sum(&variants) + sum(others))
}

/// A body as a text within JSON, where its quotes are escaped.
fn expected_bytes(expect: &Expect) -> f64 {
    let written = |text: &str| text.len() + text.matches('"').count();
    let bytes = match (&expect.body, &expect.json) {
        (Some(body), _) => written(body),
        (None, Some(json)) => written(&json.to_string()),
        (None, None) => 0,
    };
    bytes as f64
}

/// As people say it: `950 kB`, `1.7 MB`, `12 MB`.
pub fn size(bytes: f64) -> String {
    match bytes / 1e6 {
        mb if mb < 0.995 => format!("{:.0} kB", bytes / 1e3),
        mb if mb < 9.95 => format!("{mb:.1} MB"),
        mb => format!("{mb:.0} MB"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::adapter::tests::adapter;
    use super::super::spec::tests::{DUEL, parse};
    use super::super::yaml::Source;
    use super::*;
    use crate::error::Error;

    fn workload(body: &str) -> Workload {
        let yaml = format!(
            "title: x\nlevel: 1\nprotocol: http/1.1\nrequests:\n  - {{name: a, path: /, \
             expect: {{status: 200, body: \"{body}\"}}}}\n"
        );
        let none = |path: &str| Err(Error::usage(path));
        Workload::parse("ok", &Source::new("w.yaml", yaml), &none).unwrap()
    }

    #[test]
    fn an_archive_grows_with_its_cells_bodies_seconds_and_sources() {
        let adapters = ["express", "fastify", "node-http"].map(|name| adapter(name, "[ok, hello]"));
        let bytes = |changes: &[(&str, &str)], body: &str, sources| {
            let change = |text: String, (from, to): &(&str, &str)| text.replace(from, to);
            let plan = parse(&changes.iter().fold(DUEL.to_owned(), change)).unwrap();
            let matrix = plan.cells(&adapters).unwrap();
            plan.archive_bytes(&matrix, &[workload(body)], sources)
        };
        let least = bytes(&[], "", 0);
        assert!(bytes(&[("pairs: 6", "pairs: 7")], "", 0) > least + FIGURES);
        assert!(bytes(&[("load: 10", "load: 20")], "", 0) >= least + 10.0 * SECOND);
        assert!(bytes(&[], &"x".repeat(1000), 0) > least + 100_000.0);
        assert_eq!(bytes(&[], "", 1234), least + 1234.0);
    }

    #[test]
    fn sizes_have_two_digits_that_say_something() {
        let said = [3_400.0, 994_000.0, 1_660_000.0, 30_800_000.0].map(size);
        assert_eq!(said, ["3 kB", "994 kB", "1.7 MB", "31 MB"]);
    }
}
