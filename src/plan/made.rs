//! Plans that the command line makes of one of the kit's. In them nothing is overridden: they are plans
//! of their own.

use super::contender::Contender;
use super::cpus::CpuAsk;
use super::names;
use super::spec::Plan;
use crate::error::{Error, Result};

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

    /// The same duel between other sides, the last of them the reference, under their names.
    pub fn between(mut self, sides: &[Contender]) -> Result<Self> {
        let sides_text: Vec<String> = sides.iter().map(ToString::to_string).collect();
        self.name = names::safe(&format!("{}-{}", self.name, sides_text.join("-")));
        self.adapters = sides.to_vec();
        self.reference = sides.last().cloned();
        self.levels.clear();
        self.check().map_err(|wrong| {
            let place = wrong.place();
            Error::usage(format!("{}, {place}: {}", self.name, wrong.what)).next(wrong.next)
        })?;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::super::spec::tests::{DUEL, parse};
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
