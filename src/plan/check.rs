//! What makes no sense in a plan, whether it was written so or overridden.

use std::collections::BTreeSet;
use std::fmt::Display;

use super::cpus::{CpuAsk, CpuList};
use super::names;
use super::spec::{Kind, Plan};
use super::yaml::{Step, Wrong, at};
use crate::stats::judge::Healthy;

/// Rates past this one are mistakes.
const HIGHEST_RPS: u64 = 10_000_000;

/// All connections go from one address to one other: the kernel has some 28,000 ports for them.
const MOST_CONNECTIONS: u64 = 20_000;

impl Plan {
    /// What makes no sense in it, the first thing found.
    pub(super) fn check(&self) -> Result<(), Wrong> {
        names::check(&self.name).map_err(|what| Wrong::new(at!["name"], what))?;
        unique("adapters", &self.adapters)?;
        unique("workloads", &self.workloads)?;
        self.check_rates()?;
        self.check_connections()?;
        within("repetitions", u64::from(self.repetitions), 1, 1000)?;
        if self.timeout.0.is_zero() {
            return Err(Wrong::new(
                at!["timeout"],
                "a timeout of 0: expected one like 5s",
            ));
        }
        self.check_kind()?;
        self.check_limits()?;
        self.check_mode()?;
        bounds("healthy", &self.healthy)
    }

    fn check_rates(&self) -> Result<(), Wrong> {
        if matches!(self.kind, Kind::Matrix | Kind::Duel) {
            unique("rates_rps", &self.rates_rps)?;
        }
        for (index, rate) in self.rates_rps.iter().enumerate() {
            let path = at!["rates_rps", index];
            self::rate(path.clone(), *rate)?;
            if *rate as f64 * self.phases.load.get() < 1.0 {
                let what = format!("{rate}/s for {} s schedules no request", self.phases.load);
                return Err(Wrong::new(path, what).next("raise the rate or `phases.load`"));
            }
        }
        Ok(())
    }

    fn check_connections(&self) -> Result<(), Wrong> {
        match self.connections.0[..] {
            // Written without brackets, so that it has no index.
            [one] => within("connections", one.into(), 1, MOST_CONNECTIONS),
            ref several if several.len() < 2 || self.kind == Kind::Closed => {
                connections(&at!["connections"], several)
            }
            _ => {
                let what = "a list of connections: expected one number";
                Err(Wrong::new(at!["connections"], what)
                    .next("leave one, or write `kind: closed`, where each is a load point"))
            }
        }
    }

    fn check_limits(&self) -> Result<(), Wrong> {
        let limits = &self.limits;
        if let Some(quota) = limits.cpu_quota
            && !(quota.is_finite() && (0.01..=8192.0).contains(&quota))
        {
            let what = format!("cpu_quota {quota}: expected CPUs, at least 0.01");
            return Err(Wrong::new(at!["limits", "cpu_quota"], what));
        }
        // The engine refuses less than 6 MiB.
        within_limits("memory_mib", limits.memory_mib, 6, 1 << 30)?;
        within_limits("pids", limits.pids, 1, 1 << 22)?;
        if let (CpuAsk::List(target), Some(load)) = (&limits.target_cpus, &self.load_cpus)
            && let Some(shared) = CpuList::new(target.iter().filter(|cpu| load.contains(*cpu)))
        {
            let what = format!("CPUs {shared} are the target's too: nothing is shared");
            return Err(Wrong::new(at!["load_cpus"], what));
        }
        Ok(())
    }
}

/// Bounds on a target, under this key.
pub(super) fn bounds(key: &str, bounds: &Healthy) -> Result<(), Wrong> {
    let Healthy { coverage, p99_ms } = bounds;
    if !(0.0..=1.0).contains(coverage) {
        let what = format!("coverage {coverage}: expected a share from 0 to 1");
        return Err(Wrong::new(at![key, "coverage"], what));
    }
    if !(*p99_ms > 0.0 && p99_ms.is_finite()) {
        let what = format!("p99_ms {p99_ms}: expected milliseconds above 0");
        return Err(Wrong::new(at![key, "p99_ms"], what));
    }
    Ok(())
}

/// A rate at its place.
pub(super) fn rate(path: Vec<Step>, rate: u64) -> Result<(), Wrong> {
    if (1..=HIGHEST_RPS).contains(&rate) {
        return Ok(());
    }
    let what = format!("a rate of {rate}: expected 1 to {HIGHEST_RPS} requests a second");
    Err(Wrong::new(path, what))
}

pub(super) fn unique<T: Ord + Display>(key: &str, list: &[T]) -> Result<(), Wrong> {
    unique_at(&at![key], key, list)
}

fn unique_at<T: Ord + Display>(path: &[Step], key: &str, list: &[T]) -> Result<(), Wrong> {
    if list.is_empty() {
        return Err(Wrong::new(
            path.to_vec(),
            format!("`{key}` is empty: name at least one"),
        ));
    }
    let mut seen = BTreeSet::new();
    match list.iter().position(|item| !seen.insert(item)) {
        Some(index) => {
            let what = format!("`{}` is listed twice", list[index]);
            Err(Wrong::new([path, &at![index]].concat(), what))
        }
        None => Ok(()),
    }
}

/// A list of connections, each a load point.
pub(super) fn connections(path: &[Step], list: &[u32]) -> Result<(), Wrong> {
    unique_at(path, "connections", list)?;
    for (index, connections) in list.iter().enumerate() {
        let path = [path, &at![index]].concat();
        bounded(
            path,
            "connections",
            (*connections).into(),
            1,
            MOST_CONNECTIONS,
        )?;
    }
    Ok(())
}

pub(super) fn within(key: &str, value: u64, least: u64, most: u64) -> Result<(), Wrong> {
    bounded(at![key], key, value, least, most)
}

fn within_limits(key: &str, value: u64, least: u64, most: u64) -> Result<(), Wrong> {
    bounded(at!["limits", key], key, value, least, most)
}

fn bounded(path: Vec<Step>, key: &str, value: u64, least: u64, most: u64) -> Result<(), Wrong> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let what = format!("{key} {value}: expected {least} to {most}");
    Err(Wrong::new(path, what))
}

#[cfg(test)]
mod tests {
    use super::super::spec::tests::{PLAN, parse};

    #[test]
    fn every_mistake_is_refused_at_its_place() {
        let table = [
            ("name: small", "name: a/b", "1:7: `a/b` is not a name"),
            (
                "kind: matrix",
                "kind: grid",
                "2:7: kind: unknown variant `grid`",
            ),
            (
                "kind: matrix",
                "kind: matrix\npair: 6",
                "3:1: unknown field `pair`",
            ),
            (
                "kind: matrix",
                "kind: matrix\nkind: matrix",
                "3:1: duplicate key `kind`",
            ),
            (
                "kind: matrix",
                "kind: matrix\narrivals: bursts",
                "3:11: arrivals: unknown variant `bursts`",
            ),
            (
                "kind: matrix",
                "kind: matrix\nmode: unleashed",
                "3:7: `mode` has no meaning in a plan of",
            ),
            (
                "kind: matrix",
                "kind: matrix\ntimeout: 5d",
                "3:10: timeout: `5d` is not a length of time",
            ),
            (
                "kind: matrix",
                "kind: matrix\ntimeout: 0s",
                "3:10: a timeout of 0",
            ),
            (
                "kind: matrix",
                "kind: matrix\nseed: -1",
                "3:7: seed: invalid",
            ),
            (
                "kind: matrix",
                "kind: matrix\nhealthy: {coverage: 2, p99_ms: 1}",
                "3:21: coverage 2",
            ),
            (
                "kind: matrix",
                "kind: matrix\nhealthy: {coverage: 1, p99_ms: 0}",
                "3:32: p99_ms 0",
            ),
            (
                "kind: matrix",
                "kind: matrix\nphases: {load: -1}",
                "3:16: phases.load: invalid",
            ),
            (
                "kind: matrix",
                "kind: matrix\nphases: {laod: 1}",
                "3:10: phases: unknown field `laod`",
            ),
            (
                "kind: matrix",
                "kind: matrix\nphases: {load: 0}",
                "6:13: 100/s for 0 s schedules no request",
            ),
            (
                "[node-http, express@slow]",
                "[node-http, Express]",
                "3:23: adapters[1]: `Express` is not a name",
            ),
            (
                "[node-http, express@slow]",
                "[express@]",
                "3:12: adapters[0]: `express@`: expected a label",
            ),
            (
                "[node-http, express@slow]",
                "[nginx, nginx]",
                "3:19: `nginx` is listed twice",
            ),
            (
                "[node-http, express@slow]",
                "[]",
                "3:11: `adapters` is empty",
            ),
            ("[ok, hello]", "[ok, ok]", "4:17: `ok` is listed twice"),
            ("[100, 1000]", "[100, 0]", "5:18: a rate of 0"),
            (
                "[100, 1000]",
                "[100, 1e3]",
                "5:18: rates_rps[1]: invalid type",
            ),
            ("[100, 1000]", "[100, 100]", "5:18: `100` is listed twice"),
            ("[100, 1000]", "[]", "5:12: `rates_rps` is empty"),
            ("connections: 32", "connections: 0", "6:14: connections 0"),
            (
                "connections: 32",
                "connections: 30000",
                "6:14: connections 30000",
            ),
            ("connections: 32\n", "", "1:1: missing field `connections`"),
            (
                "connections: 32",
                "connections: [8, 9]",
                "6:14: a list of connections: expected one number",
            ),
            (
                "connections: 32",
                "connections: many",
                "6:14: connections: invalid type: string \"many\", expected a number",
            ),
            ("repetitions: 3", "repetitions: 0", "7:14: repetitions 0"),
            (
                "target_cpus: 1",
                "target_cpus: 0",
                "9:16: limits.target_cpus: invalid value",
            ),
            (
                "target_cpus: 1",
                "target_cpus: 1-0",
                "9:16: limits.target_cpus: `1-0` is not a list",
            ),
            (
                "target_cpus: 1",
                "target_cpus: '0'\nload_cpus: 0-1",
                "10:12: CPUs 0 are the target's",
            ),
            (
                "target_cpus: 1",
                "target_cpus: 1\n  cpu_quota: 0",
                "10:14: cpu_quota 0",
            ),
            (
                "target_cpus: 1",
                "target_cpus: 1\n  cpu_quota: .nan",
                "10:14: cpu_quota NaN",
            ),
            (
                "target_cpus: 1",
                "target_cpus: 1\n  memory_mib: 5",
                "10:15: memory_mib 5",
            ),
            (
                "target_cpus: 1",
                "target_cpus: 1\n  pids: 0",
                "10:9: pids 0",
            ),
            (
                "target_cpus: 1",
                "target_cpus: 1\n  swap_mib: 0",
                "10:3: limits: unknown field `swap_mib`",
            ),
        ];
        for (good, bad, expected) in table {
            assert!(PLAN.contains(good), "{good}");
            let error = parse(&PLAN.replace(good, bad)).unwrap_err();
            let expected = format!("p.yaml:{expected}");
            assert!(error.what.starts_with(&expected), "{bad}: {}", error.what);
            assert_eq!(error.exit, crate::error::Exit::Usage);
        }
    }
}
