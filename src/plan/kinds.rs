//! Which keys belong to which kind of plan, and what makes no sense in a duel or a closed loop.

use super::check::{connections, unique, within};
use super::names;
use super::pairs::MOST_SIDES;
use super::spec::{Arrivals, Capacity, Kind, Loop, Metric, Mode, Order, Plan};
use super::yaml::{Step, Wrong, at};

/// More pairs, or series, are mistakes.
const MOST_PAIRS: u32 = 1000;

/// Effects past this one are seen without a duel.
const LARGEST_EFFECT: f64 = 0.5;

/// A closed loop of more would not end.
const MOST_REQUESTS: u64 = 1_000_000_000_000;

impl Plan {
    /// What its kind needs, and what it has no use for.
    pub(super) fn check_kind(&self) -> Result<(), Wrong> {
        self.check_keys()?;
        match self.kind {
            Kind::Duel => self.check_duel(),
            Kind::Closed => self.check_closed(),
            Kind::Sustain => self.check_sustain(),
            Kind::Matrix => Ok(()),
        }
    }

    fn check_keys(&self) -> Result<(), Wrong> {
        use Kind::{Closed, Duel, Matrix, Sustain};
        let kind = self.kind;
        let arrivals = self.arrivals != Arrivals::Uniform;
        let order = self.order != Order::Grouped;
        let unleashed = self.mode != Mode::Pinned;
        let warm_up_rate = self.phases.warm_up.rate_rps.is_some();
        // Whether the plan says it, and which kinds have a use for it.
        let keys: [(&str, bool, &[Kind]); 23] = [
            (
                "rates_rps",
                !self.rates_rps.is_empty(),
                &[Matrix, Duel, Sustain],
            ),
            ("arrivals", arrivals, &[Matrix, Duel, Sustain]),
            ("repetitions", self.repetitions != 1, &[Matrix, Closed]),
            ("order", order, &[Matrix, Closed]),
            ("requests", self.requests.is_some(), &[Closed]),
            ("metrics", !self.metrics.is_empty(), &[Duel]),
            ("reference", self.reference.is_some(), &[Duel]),
            ("pairs", self.pairs != 0, &[Duel]),
            ("null", self.null != 0, &[Duel]),
            ("pairing", self.pairing.is_some(), &[Duel]),
            ("series", self.series.is_some(), &[Duel]),
            ("together", self.together.is_some(), &[Duel]),
            ("slice_ms", self.slice_ms.is_some(), &[Duel]),
            ("smallest_effect", self.smallest_effect.is_some(), &[Duel]),
            ("capacity", self.capacity.is_some(), &[Duel]),
            ("canary", self.canary.is_some(), &[Duel]),
            ("levels", !self.levels.is_empty(), &[Duel]),
            ("ladder", self.ladder.is_some(), &[Sustain]),
            ("criterion", self.criterion.is_some(), &[Sustain]),
            ("trials", self.trials.is_some(), &[Sustain]),
            ("threads", self.threads != 1, &[Sustain]),
            ("mode", unleashed, &[Sustain]),
            ("phases.warm_up.rate_rps", warm_up_rate, &[Sustain]),
        ];
        for (key, said, kinds) in keys {
            if said && !kinds.contains(&kind) {
                let what = format!("`{key}` has no meaning in a plan of `kind: {kind}`");
                let kinds: Vec<String> = kinds.iter().map(Kind::to_string).collect();
                let next = format!("leave it out; it is for `kind: {}`", kinds.join("` or `"));
                let path = key.split('.').map(Step::from);
                return Err(Wrong::new(path.collect(), what).next(next));
            }
        }
        match (self.r#loop, kind) {
            (Loop::Closed, Matrix | Duel | Sustain) => {
                let what = format!("`loop: closed` in a plan of `kind: {kind}`");
                let next = "leave it out, or write `kind: closed`, with `requests`";
                Err(Wrong::new(at!["loop"], what).next(next))
            }
            (Loop::Open, Closed) => {
                let what = "`loop: open` in a plan of `kind: closed`";
                Err(Wrong::new(at!["loop"], what).next("leave it out"))
            }
            _ => Ok(()),
        }
    }

    fn check_closed(&self) -> Result<(), Wrong> {
        let Some(requests) = self.requests else {
            let what = "`requests` is missing: a closed loop ends after so many";
            return Err(
                Wrong::new(at!["requests"], what).next("write it, as in `requests: 1000000`")
            );
        };
        let most = self.connections.0.iter().max().copied().unwrap_or_default();
        within("requests", requests, u64::from(most), MOST_REQUESTS)
            .map_err(|wrong| wrong.next("each connection needs at least one"))
    }

    fn check_duel(&self) -> Result<(), Wrong> {
        self.check_sides()?;
        let metrics: Vec<String> = self.metrics.iter().map(ToString::to_string).collect();
        unique("metrics", &metrics)?;
        self.check_pairing()?;
        if let Some(slice_ms) = self.slice_ms {
            within("slice_ms", slice_ms, 1, 1000)?;
        }
        if let Some(effect) = self.smallest_effect
            && !(0.0..=LARGEST_EFFECT).contains(&effect)
        {
            let what =
                format!("smallest_effect {effect}: expected a share from 0 to {LARGEST_EFFECT}");
            return Err(Wrong::new(at!["smallest_effect"], what).next("0.005 is half a percent"));
        }
        self.check_capacity()?;
        match self.levels[..] {
            [] => Ok(()),
            [_] => Err(Wrong::new(
                at!["levels"],
                "a single level: expected at least two workloads",
            )),
            _ => unique("levels", &self.levels),
        }
    }

    fn check_sides(&self) -> Result<(), Wrong> {
        if self.adapters.len() < 2 {
            let what = "a duel of one: name at least two, the last of them the reference";
            return Err(Wrong::new(at!["adapters"], what));
        }
        if let Some(reference) = &self.reference
            && !self.adapters.contains(reference)
        {
            let known: Vec<String> = self.adapters.iter().map(ToString::to_string).collect();
            let what = format!("`{reference}` is none of the plan's adapters");
            let next = names::advice(&reference.to_string(), &known);
            return Err(Wrong::new(at!["reference"], what).next(next));
        }
        match self.together {
            Some(together) => within("together", together.into(), 2, MOST_SIDES.into()),
            None if self.adapters.len() > MOST_SIDES as usize => {
                let what = format!(
                    "{} sides: at most {MOST_SIDES} are alive at once",
                    self.adapters.len()
                );
                Err(Wrong::new(at!["adapters"], what)
                    .next("write `together: 4`: blocks of so many"))
            }
            None => Ok(()),
        }
    }

    fn check_pairing(&self) -> Result<(), Wrong> {
        if self.is_interleaved() {
            within("pairs", self.pairs.into(), 1, MOST_PAIRS.into())?;
            within("null", self.null.into(), 0, MOST_PAIRS.into())?;
        } else if let Some((key, _)) = [("pairs", self.pairs), ("null", self.null)]
            .iter()
            .find(|(_, count)| *count != 0)
        {
            let what = format!("`{key}` counts interleaved pairs, and the pairing is `series`");
            return Err(Wrong::new(at![*key], what).next("leave it out, or write `pairing: both`"));
        }
        let Some(series) = self.series else {
            return Ok(());
        };
        if !self.has_series() {
            let what = "`series` has no meaning where the pairing is `interleaved`";
            return Err(
                Wrong::new(at!["series"], what).next("leave it out, or write `pairing: both`")
            );
        }
        within("series", series.into(), 2, MOST_PAIRS.into())?;
        if series.is_multiple_of(2) {
            return Ok(());
        }
        let what = format!("series {series}: expected an even number, as ABBA has two a side");
        Err(Wrong::new(at!["series"], what))
    }

    fn check_capacity(&self) -> Result<(), Wrong> {
        let asked = self.metrics.contains(&Metric::CapacityRps);
        match &self.capacity {
            None if asked && self.is_interleaved() => {
                let what =
                    "`capacity` is missing: the metric capacity_rps is measured in its closed loop";
                let next = "write it, as in `capacity: {connections: [25, 50, 100], load: 4}`";
                Err(Wrong::new(at!["capacity"], what).next(next))
            }
            Some(_) if !asked => {
                let what = "`capacity` is for the metric capacity_rps, which is not asked for";
                Err(Wrong::new(at!["capacity"], what)
                    .next("add it to `metrics`, or leave this out"))
            }
            Some(Capacity { load, .. }) if load.get() == 0.0 => Err(Wrong::new(
                at!["capacity", "load"],
                "a load of 0 s: expected seconds above 0",
            )),
            Some(capacity) => connections(&at!["capacity", "connections"], &capacity.connections),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
pub(in crate::plan) mod tests {
    use super::super::spec::tests::{CLOSED, DUEL, PLAN, parse};
    use super::*;

    /// Each change of a plan that makes it wrong, and what is said.
    pub(in crate::plan) fn refused(plan: &str, table: &[(&str, &str, &str)]) {
        parse(plan).unwrap();
        for (good, bad, expected) in table {
            assert!(plan.contains(good), "{good}");
            let error = parse(&plan.replace(good, bad)).unwrap_err();
            let expected = format!("p.yaml:{expected}");
            assert!(error.what.starts_with(&expected), "{bad}: {}", error.what);
            assert_eq!(error.exit, crate::error::Exit::Usage);
        }
    }

    #[test]
    fn a_key_that_the_kind_has_no_use_for_is_refused() {
        for key in [
            "requests: 9",
            "metrics: [capacity_rps]",
            "reference: node-http",
            "pairs: 6",
            "null: 6",
            "pairing: both",
            "series: 2",
            "together: 2",
            "slice_ms: 20",
            "smallest_effect: 0.01",
            "capacity: {connections: [1], load: 1}",
            "canary: {adapter: node-http, workload: ok}",
            "levels: [ok, hello]",
        ] {
            let error = parse(&format!("{PLAN}{key}\n")).unwrap_err();
            let name = key.split(':').next().unwrap();
            let column = name.len() + 3;
            assert!(
                error
                    .what
                    .starts_with(&format!("p.yaml:10:{column}: `{name}")),
                "{error}"
            );
            assert!(
                error
                    .what
                    .ends_with("has no meaning in a plan of `kind: matrix`"),
                "{error}"
            );
            assert!(
                error.next.starts_with("leave it out; it is for `kind: "),
                "{error}"
            );
        }
        for (plan, kind, keys) in [
            (
                DUEL,
                "duel",
                ["repetitions: 2", "order: shuffled", "requests: 5"],
            ),
            (
                CLOSED,
                "closed",
                ["rates_rps: [5]", "arrivals: poisson", "slice_ms: 20"],
            ),
        ] {
            for key in keys {
                let error = parse(&format!("{plan}{key}\n")).unwrap_err();
                let expected = format!("has no meaning in a plan of `kind: {kind}`");
                assert!(error.what.ends_with(&expected), "{key}: {error}");
            }
        }
    }

    #[test]
    fn a_loop_is_its_kinds() {
        for (plan, line, expected) in [
            (
                PLAN,
                "loop: closed",
                "10:7: `loop: closed` in a plan of `kind: matrix`",
            ),
            (
                DUEL,
                "loop: closed",
                "15:7: `loop: closed` in a plan of `kind: duel`",
            ),
            (
                CLOSED,
                "loop: open",
                "8:7: `loop: open` in a plan of `kind: closed`",
            ),
        ] {
            let error = parse(&format!("{plan}{line}\n")).unwrap_err();
            assert_eq!(error.what, format!("p.yaml:{expected}"));
        }
    }

    #[test]
    fn a_closed_loop_is_checked() {
        let plan = parse(CLOSED).unwrap();
        assert_eq!(plan.r#loop, Loop::Closed, "implied");
        assert_eq!(parse(&format!("{CLOSED}loop: closed\n")).unwrap(), plan);
        refused(
            CLOSED,
            &[
                ("requests: 1000\n", "", "1:1: `requests` is missing"),
                (
                    "requests: 1000",
                    "requests: 199",
                    "6:11: requests 199: expected 200 to",
                ),
                ("[25, 100, 200]", "[25, 25]", "5:19: `25` is listed twice"),
                ("[25, 100, 200]", "[25, 0]", "5:19: connections 0"),
                ("[25, 100, 200]", "[]", "5:14: `connections` is empty"),
            ],
        );
    }

    #[test]
    fn a_duel_is_checked() {
        refused(
            DUEL,
            &[
                (
                    "[express, fastify, node-http]",
                    "[express]",
                    "3:11: a duel of one",
                ),
                (
                    "pairs: 6",
                    "reference: nginx\npairs: 6",
                    "8:12: `nginx` is none of the plan's",
                ),
                (
                    "metrics: [cpu_us_per_request, response_p99_us, capacity_rps]",
                    "metrics: []",
                    "7:10: `metrics` is empty",
                ),
                (
                    "[cpu_us_per_request, response",
                    "[response_p99_us, response",
                    "7:28: `response_p99_us` is listed twice",
                ),
                (
                    "[cpu_us_per_request",
                    "[cpu",
                    "7:11: metrics[0]: unknown variant `cpu`",
                ),
                ("pairs: 6", "pairs: 0", "8:8: pairs 0: expected 1 to"),
                ("null: 4", "null: 1001", "9:7: null 1001"),
                (
                    "together: 3",
                    "together: 1",
                    "10:11: together 1: expected 2 to 26",
                ),
                (
                    "together: 3",
                    "slice_ms: 0",
                    "10:11: slice_ms 0: expected 1 to 1000",
                ),
                (
                    "together: 3",
                    "smallest_effect: 0.6",
                    "10:18: smallest_effect 0.6: expected a share",
                ),
                (
                    "together: 3",
                    "smallest_effect: .nan",
                    "10:18: smallest_effect NaN",
                ),
                (
                    "together: 3",
                    "series: 2",
                    "10:9: `series` has no meaning where",
                ),
                (
                    "together: 3",
                    "pairing: both\nseries: 3",
                    "11:9: series 3: expected an even",
                ),
                (
                    "together: 3",
                    "pairing: series",
                    "8:8: `pairs` counts interleaved pairs",
                ),
                ("together: 3", "levels: [ok]", "10:9: a single level"),
                (
                    "together: 3",
                    "levels: [ok, ok]",
                    "10:14: `ok` is listed twice",
                ),
                ("load: 4", "load: 0", "11:41: a load of 0 s"),
                ("[25, 50]", "[25, 25]", "11:30: `25` is listed twice"),
                ("[25, 50]", "[0]", "11:26: connections 0"),
                ("[25, 50]", "[]", "11:25: `connections` is empty"),
                (
                    ", capacity_rps]",
                    "]",
                    "11:11: `capacity` is for the metric capacity_rps",
                ),
                (
                    "capacity: {connections: [25, 50], load: 4}\n",
                    "",
                    "1:1: `capacity` is missing",
                ),
                ("rates_rps: [1000]\n", "", "1:1: `rates_rps` is empty"),
                (
                    "connections: 8",
                    "connections: [8, 9]",
                    "6:14: a list of connections",
                ),
            ],
        );
        let many: Vec<String> = (0..27).map(|n| format!("a{n}")).collect();
        let many = DUEL.replace("express, fastify, node-http", &many.join(", "));
        assert!(parse(&many).is_ok(), "blocks of 3");
        let error = parse(&many.replace("together: 3\n", "")).unwrap_err();
        assert!(error.what.contains("27 sides: at most 26"), "{error}");
    }

    #[test]
    fn a_duels_defaults_are_written_out() {
        let plan = parse(DUEL).unwrap();
        assert_eq!(plan.reference.as_ref().unwrap().adapter, "node-http");
        assert_eq!((plan.smallest_effect, plan.series), (Some(0.005), None));
        assert!(plan.is_interleaved() && !plan.has_series());
        let text = plan.to_yaml().unwrap();
        assert!(text.contains("smallest_effect: 0.005") && text.contains("reference: node-http"));
        let both = parse(&format!("{DUEL}pairing: both\n")).unwrap();
        assert_eq!(both.series, Some(2));
    }
}
