//! Plans that the command line makes of one of the kit's. In them nothing is overridden: they are plans
//! of their own.

use super::contender::Contender;
use super::cpus::CpuAsk;
use super::names;
use super::span::Span;
use super::spec::Plan;
use super::sustain::CRITERION;
use crate::error::{Error, Result};

/// What `sustain` asks for besides its targets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked {
    /// The bound of the response p99.
    pub p99: Option<Span>,
    /// The lowest rate.
    pub from: Option<u64>,
    /// The highest.
    pub to: Option<u64>,
}

impl Plan {
    /// The same for another machine: as many CPUs for the target, whichever they are there.
    pub fn elsewhere(mut self) -> Self {
        if let CpuAsk::List(cpus) = &self.limits.target_cpus {
            self.limits.target_cpus = CpuAsk::Count(cpus.len() as u32);
        }
        self.load_cpus = None;
        self
    }

    /// The same at each of the plan's levels of equity.
    pub fn at_its_levels(mut self) -> Result<Self> {
        if self.levels.is_empty() {
            let what = format!("plan {} names no `levels`", self.name);
            let next = "write there which workloads are the same work at each level";
            return Err(Error::usage(what).next(next));
        }
        self.workloads = std::mem::take(&mut self.levels);
        Ok(self)
    }

    /// The same search for other targets, under their names.
    pub fn sustaining(mut self, who: &[Contender], asked: Asked) -> Result<Self> {
        self.name = self.name_of(who);
        self.adapters = who.to_vec();
        if let Some(p99) = asked.p99 {
            let criterion = self.criterion.get_or_insert(CRITERION);
            criterion.p99_ms = p99.0.as_secs_f64() * 1e3;
            self.healthy = *criterion;
        }
        if asked.from.is_some() || asked.to.is_some() {
            let Some(ladder) = &mut self.ladder else {
                let what = format!("plan {} lists its rates: it has no ladder", self.name);
                return Err(Error::usage(what).next("use --rates, or write a `ladder` there"));
            };
            ladder.from = asked.from.unwrap_or(ladder.from);
            ladder.to = asked.to.unwrap_or(ladder.to);
        }
        self.checked()
    }

    /// The same duel between other sides, the last of them the reference, under their names.
    pub fn between(mut self, sides: &[Contender]) -> Result<Self> {
        self.name = self.name_of(sides);
        self.adapters = sides.to_vec();
        self.reference = sides.last().cloned();
        self.levels.clear();
        self.checked()
    }

    fn name_of(&self, who: &[Contender]) -> String {
        let names: Vec<String> = who.iter().map(ToString::to_string).collect();
        names::safe(&format!("{}-{}", self.name, names.join("-")))
    }

    fn checked(self) -> Result<Self> {
        self.check().map_err(|wrong| {
            let place = wrong.place();
            Error::usage(format!("{}, {place}: {}", self.name, wrong.what)).next(wrong.next)
        })?;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::super::spec::tests::{DUEL, SUSTAIN, parse};
    use super::*;

    fn sides(names: &[&str]) -> Vec<Contender> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    #[test]
    fn a_duel_between_others_is_a_plan_of_its_own() {
        let plan = parse(&format!("{DUEL}levels: [ok, hello]\n")).unwrap();
        let made = plan
            .clone()
            .between(&sides(&["nginx", "express@slow"]))
            .unwrap();
        assert_eq!(made.name, "fight-nginx-express-slow");
        assert_eq!(made.reference, Some("express@slow".parse().unwrap()));
        assert_eq!(made.workloads, ["ok"]);
        assert!(made.overridden.is_empty() && made.levels.is_empty());
        assert_eq!(parse(&made.to_yaml().unwrap()).unwrap(), made);

        let made = plan.at_its_levels().unwrap().between(&sides(&["a", "b"]));
        assert_eq!(made.unwrap().workloads, ["ok", "hello"]);
        let many: Vec<String> = (0..26).map(|n| format!("side{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let made = parse(DUEL).unwrap().between(&sides(&many)).unwrap();
        assert!(names::check(&made.name).is_ok(), "{}", made.name);
    }

    #[test]
    fn elsewhere_a_plan_asks_for_as_many_cpus_and_not_for_the_same() {
        let mut plan = parse(DUEL).unwrap();
        plan.limits.target_cpus = CpuAsk::List("2-3".parse().unwrap());
        plan.load_cpus = Some("0-1".parse().unwrap());
        let plan = plan.elsewhere();
        assert_eq!(plan.limits.target_cpus, CpuAsk::Count(2));
        assert_eq!(plan.load_cpus, None);
        assert_eq!(plan.clone().elsewhere(), plan);
    }

    #[test]
    fn a_search_of_others_is_a_plan_of_its_own() {
        let asked = Asked {
            p99: Some("25ms".parse().unwrap()),
            from: Some(2000),
            to: Some(9000),
        };
        let plan = parse(SUSTAIN).unwrap();
        let made = plan
            .clone()
            .sustaining(&sides(&["nginx", "express@slow"]), asked)
            .unwrap();
        assert_eq!(made.name, "knees-nginx-express-slow");
        assert_eq!(
            (made.healthy.p99_ms, made.criterion.unwrap().p99_ms),
            (25.0, 25.0)
        );
        assert_eq!((made.rungs()[0], made.rungs().last()), (2000, Some(&9000)));
        assert!(made.overridden.is_empty());
        assert_eq!(parse(&made.to_yaml().unwrap()).unwrap(), made);
        let low = Asked {
            to: Some(10),
            ..Asked::default()
        };
        let error = plan
            .clone()
            .sustaining(&sides(&["nginx"]), low)
            .unwrap_err();
        assert!(error.what.contains("ladder.to: to 10: expected"), "{error}");
        let listed = Plan {
            ladder: None,
            rates_rps: vec![1000],
            ..plan
        };
        let error = listed.sustaining(&sides(&["nginx"]), asked).unwrap_err();
        assert!(error.what.contains("it has no ladder"), "{error}");
    }

    #[test]
    fn sides_that_make_no_duel_are_refused() {
        for (names, what) in [
            (vec!["express"], "fight-express, adapters: a duel of one"),
            (
                vec!["express", "express"],
                "fight-express-express, adapters[1]: `express` is listed twice",
            ),
        ] {
            let error = parse(DUEL).unwrap().between(&sides(&names)).unwrap_err();
            assert!(error.what.starts_with(what), "{error}");
        }
        let error = parse(DUEL).unwrap().at_its_levels().unwrap_err();
        assert!(
            error.what.contains("plan fight names no `levels`"),
            "{error}"
        );
    }
}
