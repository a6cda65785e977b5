//! Which CPUs the target gets and which the load: never the same one, and never two threads of one
//! core where that can be avoided.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::de::{Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::yaml::from_text;
use crate::error::{Error, Result};

/// Numbers past this one are mistakes (the kernel's own bound is 8,192 CPUs).
const HIGHEST: u32 = 8191;

/// How a plan asks for all CPUs.
const ALL: &str = "all";
/// Where target and generator find their CPUs themselves, fewer than these leave neither its own.
const LEAST_UNLEASHED: usize = 4;

/// A set of CPUs in the kernel's list format: `0-1,3`. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(BTreeSet<u32>);

impl CpuList {
    /// Of these numbers; none for an empty list.
    pub fn new(cpus: impl IntoIterator<Item = u32>) -> Option<Self> {
        let cpus: BTreeSet<u32> = cpus.into_iter().collect();
        (!cpus.is_empty()).then_some(Self(cpus))
    }

    /// In ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// How many.
    #[allow(clippy::len_without_is_empty)] // it never is
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it holds this one.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }
}

impl FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("`{text}` is not a list of CPUs: expected one like 0-1,3");
        let number = |text: &str| {
            let plain = text.bytes().all(|b| b.is_ascii_digit());
            let number = text.parse().ok().filter(|cpu| plain && *cpu <= HIGHEST);
            number.ok_or_else(bad)
        };
        let mut cpus = BTreeSet::new();
        for part in text.trim().split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (u32, u32) = (number(first)?, number(last)?);
            if first > last {
                return Err(bad());
            }
            cpus.extend(first..=last);
        }
        Ok(Self(cpus))
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for cpu in self.iter() {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == cpu => *last = cpu,
                _ => ranges.push((cpu, cpu)),
            }
        }
        for (index, (first, last)) in ranges.into_iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "," })?;
            if first == last {
                write!(f, "{first}")?;
            } else {
                write!(f, "{first}-{last}")?;
            }
        }
        Ok(())
    }
}

impl Serialize for CpuList {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CpuList {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from_text(from)
    }
}

/// What a plan asks for: in YAML an integer is a count, a string is a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpuAsk {
    /// So many, whichever they are.
    Count(u32),
    /// Exactly these.
    List(CpuList),
    /// Whatever the machine has: no CPU set.
    All,
}

impl fmt::Display for CpuAsk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(1) => f.write_str("any 1 CPU"),
            Self::Count(count) => write!(f, "any {count} CPUs"),
            Self::List(list) => write!(f, "CPUs {list}"),
            Self::All => f.write_str("all CPUs"),
        }
    }
}

impl Serialize for CpuAsk {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => to.serialize_u32(*count),
            Self::List(list) => list.serialize(to),
            Self::All => to.serialize_str(ALL),
        }
    }
}

impl<'de> Deserialize<'de> for CpuAsk {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = CpuAsk;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a number of CPUs (2), a list of them in quotes (\"0-1\"), or all")
            }

            fn visit_u64<E: serde::de::Error>(self, count: u64) -> Result<CpuAsk, E> {
                match u32::try_from(count) {
                    Ok(count) if count > 0 => Ok(CpuAsk::Count(count)),
                    _ => Err(E::invalid_value(
                        serde::de::Unexpected::Unsigned(count),
                        &self,
                    )),
                }
            }

            fn visit_str<E: serde::de::Error>(self, list: &str) -> Result<CpuAsk, E> {
                match list {
                    ALL => Ok(CpuAsk::All),
                    list => list.parse().map(CpuAsk::List).map_err(E::custom),
                }
            }
        }
        from.deserialize_any(Either)
    }
}

/// A CPU that is online, and the core that it is a thread of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Its number.
    pub cpu: u32,
    /// `topology/core_id`: unique within a socket.
    pub core: u32,
    /// `topology/physical_package_id`.
    pub socket: u32,
}

/// Who gets which CPUs in a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allotment {
    /// The target's cpuset.
    pub target: CpuList,
    /// The agent's and the dependencies'.
    pub load: CpuList,
    /// Whether these are CPU sets, and not just all that there are.
    pub pinned: bool,
}

impl Allotment {
    /// All of them, each once.
    pub fn cpus(&self) -> Vec<u32> {
        self.target.0.union(&self.load.0).copied().collect()
    }

    /// As the engine is asked for a set: empty for none.
    pub fn set(&self, cpus: &CpuList) -> String {
        if self.pinned {
            cpus.to_string()
        } else {
            String::new()
        }
    }
}

/// Divides the online CPUs: the target gets the last whole cores (interrupts tend to be served by the
/// first), the load all the rest, or what `load_ask` names. A target's free SMT sibling stays idle
/// unless the load would have nothing else.
pub fn allot(online: &[Cpu], ask: &CpuAsk, load_ask: Option<&CpuList>) -> Result<Allotment> {
    let all: BTreeSet<u32> = online.iter().map(|cpu| cpu.cpu).collect();
    if all.len() < 2 {
        return Err(Error::machine(
            "only one CPU is online: the target and the load need one each",
        )
        .next("run on a machine with at least 2 CPUs"));
    }
    if let (CpuAsk::List(target), Some(load)) = (ask, load_ask)
        && let Some(shared) = CpuList::new(target.iter().filter(|cpu| load.contains(*cpu)))
    {
        return Err(Error::usage(format!(
            "CPUs {shared} are asked for by the target and by the load"
        ))
        .next("--target-cpus and --load-cpus must not share a CPU"));
    }
    let reserved = load_ask.map_or_else(BTreeSet::new, |list| list.0.clone());
    if let Some(missing) = CpuList::new(reserved.difference(&all).copied()) {
        return Err(short(
            format!("the load's CPUs {missing} are not online here"),
            online,
            &BTreeSet::new(),
        ));
    }

    let target = match ask {
        CpuAsk::All => return unleashed(all),
        CpuAsk::List(list) => {
            if let Some(missing) = CpuList::new(list.0.difference(&all).copied()) {
                let what = format!("the target's CPUs {missing} are not online here");
                return Err(short(what, online, &reserved));
            }
            list.0.clone()
        }
        CpuAsk::Count(count) => last(online, &reserved, *count as usize),
    };
    let load = load_ask
        .cloned()
        .or_else(|| apart(online, &target))
        .or_else(|| CpuList::new(all.difference(&target).copied()));

    let enough = match ask {
        CpuAsk::Count(count) => target.len() == *count as usize,
        CpuAsk::List(_) | CpuAsk::All => true,
    };
    match (CpuList::new(target), load) {
        (Some(target), Some(load)) if enough => Ok(Allotment {
            target,
            load,
            pinned: true,
        }),
        _ => {
            let count = all.len();
            let what = format!(
                "the target asks for {ask}, and the load needs one more: {count} are online"
            );
            Err(short(what, online, &reserved))
        }
    }
}

/// All to both, where they are enough for both.
fn unleashed(all: BTreeSet<u32>) -> Result<Allotment> {
    if all.len() < LEAST_UNLEASHED {
        let what = format!(
            "an unleashed target needs at least {LEAST_UNLEASHED} CPUs, and {} are online: with fewer it and \
             the generator would take each other's",
            all.len()
        );
        return Err(Error::machine(what).next(
            "run on a larger machine, or write `mode: pinned` with a number of `target_cpus`",
        ));
    }
    Ok(Allotment {
        target: CpuList(all.clone()),
        load: CpuList(all),
        pinned: false,
    })
}

/// The last CPUs that are free, core by core from the last one.
fn last(online: &[Cpu], reserved: &BTreeSet<u32>, count: usize) -> BTreeSet<u32> {
    let mut free: Vec<&Cpu> = online
        .iter()
        .filter(|cpu| !reserved.contains(&cpu.cpu))
        .collect();
    // Cores whose sibling is the load's come last: they are taken only where there is no other.
    let shares = |cpu: &Cpu| {
        online.iter().any(|other| {
            reserved.contains(&other.cpu) && (other.socket, other.core) == (cpu.socket, cpu.core)
        })
    };
    free.sort_by_key(|cpu| (!shares(cpu), cpu.socket, cpu.core, cpu.cpu));
    free.iter().rev().take(count).map(|cpu| cpu.cpu).collect()
}

/// The CPUs of the cores that hold none of the target's.
fn apart(online: &[Cpu], target: &BTreeSet<u32>) -> Option<CpuList> {
    let busy: BTreeSet<(u32, u32)> = online
        .iter()
        .filter(|cpu| target.contains(&cpu.cpu))
        .map(|cpu| (cpu.socket, cpu.core))
        .collect();
    CpuList::new(
        online
            .iter()
            .filter(|cpu| !busy.contains(&(cpu.socket, cpu.core)))
            .map(|cpu| cpu.cpu),
    )
}

/// Exit 3 with the override that would run: all cores but the last, or all CPUs but the last.
fn short(what: String, online: &[Cpu], reserved: &BTreeSet<u32>) -> Error {
    let all: BTreeSet<u32> = online.iter().map(|cpu| cpu.cpu).collect();
    let fits = if reserved.is_empty() {
        let end = online
            .iter()
            .max_by_key(|cpu| (cpu.socket, cpu.core))
            .map(|cpu| (cpu.socket, cpu.core));
        let cores = online
            .iter()
            .filter(|cpu| Some((cpu.socket, cpu.core)) != end)
            .map(|cpu| cpu.cpu);
        CpuList::new(cores)
            .or_else(|| CpuList::new(all.iter().copied().take(all.len().saturating_sub(1))))
    } else {
        CpuList::new(all.difference(reserved).copied())
    };
    let error = Error::machine(what);
    match fits {
        Some(list) => error.next(format!(
            "`--target-cpus {list}` runs here; the result is recorded as not comparable"
        )),
        None => error.next("leave the target a CPU: name fewer with --load-cpus"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Exit;

    /// `cores` cores of `threads` threads, numbered as Linux does: first threads first.
    fn machine(cores: u32, threads: u32) -> Vec<Cpu> {
        (0..cores * threads)
            .map(|cpu| Cpu {
                cpu,
                core: cpu % cores,
                socket: 0,
            })
            .collect()
    }

    fn list(text: &str) -> CpuList {
        text.parse().unwrap()
    }

    #[test]
    fn lists_read_and_print() {
        for (text, printed) in [
            ("0", "0"),
            ("0-1,3", "0-1,3"),
            ("3,1,0", "0-1,3"),
            ("0-0", "0"),
            ("2,2-4", "2-4"),
        ] {
            assert_eq!(list(text).to_string(), printed);
            assert_eq!(list(printed), list(text));
        }
        for bad in [
            "",
            ",",
            "1-0",
            "-1",
            "0-",
            "a",
            "0 1",
            "+1",
            "0-8192",
            "4294967296",
        ] {
            assert!(bad.parse::<CpuList>().is_err(), "{bad}");
        }
    }

    #[test]
    fn an_integer_is_a_count_and_a_string_a_list() {
        let read = |text: &str| serde_yaml::from_str::<CpuAsk>(text);
        assert_eq!(read("2").unwrap(), CpuAsk::Count(2));
        assert_eq!(read("\"2\"").unwrap(), CpuAsk::List(list("2")));
        assert_eq!(read("0-1,3").unwrap(), CpuAsk::List(list("0-1,3")));
        for ask in [CpuAsk::Count(2), CpuAsk::List(list("2")), CpuAsk::All] {
            let text = serde_yaml::to_string(&ask).unwrap();
            assert_eq!(read(&text).unwrap(), ask, "{text}");
        }
        for bad in ["0", "-1", "1.5", "true", "\"\""] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_target_gets_the_last_whole_cores() {
        let count = CpuAsk::Count;
        let these = |text| CpuAsk::List(list(text));
        let table = [
            // (cores, threads, ask, load_ask) -> (target, load)
            (2, 1, count(1), None, "1", "0"),
            (4, 1, count(2), None, "2-3", "0-1"),
            (2, 2, count(2), None, "1,3", "0,2"),
            (2, 2, count(1), None, "3", "0,2"), // 1 is 3's sibling: left idle
            (1, 2, count(1), None, "1", "0"),   // siblings, as there is nothing else
            (4, 2, count(3), None, "3,6-7", "0-1,4-5"),
            (2, 2, count(3), None, "1-3", "0"), // the load gets what is left
            (4, 1, these("0"), None, "0", "1-3"),
            (2, 2, these("0"), None, "0", "1,3"),
            (2, 1, these("0"), None, "0", "1"),
            (4, 1, count(2), Some("3"), "1-2", "3"),
            (4, 1, these("0"), Some("1"), "0", "1"),
            (2, 2, count(1), Some("3"), "2", "3"), // not 1, the load's sibling
        ];
        for (cores, threads, ask, load_ask, target, load) in table {
            let load_ask = load_ask.map(list);
            let got = allot(&machine(cores, threads), &ask, load_ask.as_ref()).unwrap();
            assert_eq!(got.target, list(target), "{cores}x{threads} {ask}");
            assert_eq!(got.load, list(load), "{cores}x{threads} {ask}");
        }
    }

    #[test]
    fn an_unleashed_target_shares_all_cpus_where_there_are_enough() {
        let four = allot(&machine(4, 1), &CpuAsk::All, None).unwrap();
        assert_eq!((&four.target, &four.load), (&list("0-3"), &list("0-3")));
        assert_eq!(four.set(&four.target), "", "no set is asked for");
        assert_eq!(four.cpus(), [0, 1, 2, 3], "each once");
        let pinned = allot(&machine(4, 1), &CpuAsk::Count(1), None).unwrap();
        assert_eq!(pinned.set(&pinned.target), "3");
        for cores in [2, 3] {
            let few = allot(&machine(cores, 1), &CpuAsk::All, None).unwrap_err();
            assert_eq!(few.exit, Exit::Machine);
            let what = format!("needs at least 4 CPUs, and {cores} are online");
            assert!(few.what.contains(&what), "{few}");
        }
    }

    #[test]
    fn too_few_cpus_name_the_override_that_runs() {
        let table = [
            (2, 1, CpuAsk::Count(2), None, "--target-cpus 0`"),
            (4, 1, CpuAsk::Count(9), None, "--target-cpus 0-2`"),
            (2, 2, CpuAsk::Count(4), None, "--target-cpus 0,2`"),
            (1, 2, CpuAsk::Count(2), None, "--target-cpus 0`"),
            (2, 1, CpuAsk::List(list("5")), None, "--target-cpus 0`"),
            (2, 1, CpuAsk::List(list("0-1")), None, "--target-cpus 0`"),
            (4, 1, CpuAsk::Count(2), Some("1-3"), "--target-cpus 0`"),
            (4, 1, CpuAsk::Count(1), Some("7"), "--target-cpus 0-2`"),
            (
                2,
                1,
                CpuAsk::Count(1),
                Some("0-1"),
                "fewer with --load-cpus",
            ),
            (1, 1, CpuAsk::Count(1), None, "at least 2 CPUs"),
        ];
        for (cores, threads, ask, load_ask, next) in table {
            let load_ask = load_ask.map(list);
            let error = allot(&machine(cores, threads), &ask, load_ask.as_ref()).unwrap_err();
            assert_eq!(error.exit, Exit::Machine);
            assert!(error.next.contains(next), "{ask}: {error}");
        }
        let shared = allot(
            &machine(4, 1),
            &CpuAsk::List(list("0-1")),
            Some(&list("1-2")),
        );
        assert_eq!(shared.unwrap_err().exit, Exit::Usage);
    }

    #[test]
    fn whatever_is_asked_nothing_is_shared_and_advice_runs() {
        for (cores, threads) in [(2, 1), (3, 1), (8, 1), (1, 2), (2, 2), (4, 2), (3, 4)] {
            let online = machine(cores, threads);
            for count in 1..=cores * threads + 1 {
                match allot(&online, &CpuAsk::Count(count), None) {
                    Ok(Allotment { target, load, .. }) => {
                        assert_eq!(target.len() as u32, count);
                        assert!(target.iter().all(|cpu| !load.contains(cpu)));
                    }
                    Err(error) => {
                        let advised = error.next.split('`').nth(1).unwrap();
                        let advised = list(advised.strip_prefix("--target-cpus ").unwrap());
                        allot(&online, &CpuAsk::List(advised), None).unwrap();
                    }
                }
            }
        }
    }
}
