//! A container's cgroup, v1 or v2: what it has used, and the limits that are in force.

use std::path::{Path, PathBuf};

use super::place::{self, Place, Version};
use super::{Roots, field, number};
use crate::error::{Error, Result};

/// The cgroup of one container: a folder per controller, which v2 has all in one place.
#[derive(Clone, Debug)]
pub struct Cgroup {
    cpu: Option<Place>,
    cpuacct: Option<Place>,
    cpuset: Option<Place>,
    memory: Option<Place>,
    pids: Option<Place>,
}

/// A limit as the kernel states it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit<T> {
    /// The kernel does not show it here; that is not the same as no limit.
    Unseen,
    /// There is none.
    Unlimited,
    /// It is this.
    At(T),
}

/// The limits in force: the lowest of the cgroup's own and of its visible parents'.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// The CPUs it may use, as in `0-1,3`; `None` where the kernel does not show it.
    pub cpus: Option<String>,
    /// The quota, in CPUs.
    pub cpu_quota: Limit<f64>,
    /// Memory, in bytes.
    pub memory_bytes: Limit<u64>,
    /// Memory and swap together, in bytes; unseen without swap accounting.
    pub memory_swap_bytes: Limit<u64>,
    /// Processes and threads.
    pub pids: Limit<u64>,
}

impl Cgroup {
    /// The cgroup that a process is in.
    ///
    /// # Errors
    /// Exit 3 where the process is gone or its cgroup can't be reached from here.
    pub fn of_pid(roots: &Roots, pid: u32) -> Result<Self> {
        let process = roots.proc.join(pid.to_string());
        let file = process.join("cgroup");
        let members = std::fs::read_to_string(&file)
            .map_err(|error| elsewhere(format!("cannot read {}: {error}", file.display())))?;
        let members = place::memberships(&members);
        let own = read(&roots.proc.join("self/mountinfo")).unwrap_or_default();
        // What isn't mounted here may be in the process's own view.
        let its = read(&process.join("mountinfo")).unwrap_or_default();
        let (own, mut its) = (place::mounts(&own), place::mounts(&its));
        for mount in &mut its {
            let point = mount.point.strip_prefix("/").unwrap_or(&mount.point);
            mount.point = process.join("root").join(point);
        }
        let find = |controller| {
            place::candidates(controller, &members, &own)
                .into_iter()
                .chain(place::candidates(controller, &members, &its))
                .find(|place| place.dir.is_dir())
        };
        let found = Self {
            cpu: find("cpu"),
            cpuacct: find("cpuacct"),
            cpuset: find("cpuset"),
            memory: find("memory"),
            pids: find("pids"),
        };
        if found.places().next().is_none() {
            return Err(elsewhere(format!(
                "no cgroup of process {pid} is mounted here"
            )));
        }
        Ok(found)
    }

    /// Whether this is the cgroup of the container with this id.
    ///
    /// An engine in a virtual machine reports pids of its own, which name other processes here.
    pub fn is_of_container(&self, id: &str) -> bool {
        !id.is_empty() && self.places().all(|place| place.path.contains(id))
    }

    /// CPU time used since it was created, in microseconds.
    pub fn cpu_us(&self) -> Option<u64> {
        match self.cpuacct.as_ref()?.version {
            Version::V1 => Some(whole(&self.cpuacct, "cpuacct.usage")? / 1000),
            Version::V2 => entry(&self.cpuacct, "cpu.stat", "usage_usec"),
        }
    }

    /// Periods in which its quota throttled it.
    pub fn throttled_periods(&self) -> Option<u64> {
        entry(&self.cpu, "cpu.stat", "nr_throttled")
    }

    /// How long it was throttled, in microseconds, summed over CPUs.
    pub fn throttled_us(&self) -> Option<u64> {
        match self.cpu.as_ref()?.version {
            Version::V1 => Some(entry(&self.cpu, "cpu.stat", "throttled_time")? / 1000),
            Version::V2 => entry(&self.cpu, "cpu.stat", "throttled_usec"),
        }
    }

    /// Memory in use without inactive file cache, in bytes.
    pub fn memory_bytes(&self) -> Option<u64> {
        let (usage, inactive) = match self.memory.as_ref()?.version {
            Version::V1 => ("memory.usage_in_bytes", "total_inactive_file"),
            Version::V2 => ("memory.current", "inactive_file"),
        };
        let inactive = entry(&self.memory, "memory.stat", inactive)?;
        // The two are counted apart: where they contradict each other, nothing is known.
        whole(&self.memory, usage)?.checked_sub(inactive)
    }

    /// Processes that were killed for memory.
    pub fn oom_kills(&self) -> Option<u64> {
        let file = match self.memory.as_ref()?.version {
            Version::V1 => "memory.oom_control",
            Version::V2 => "memory.events",
        };
        entry(&self.memory, file, "oom_kill")
    }

    /// The processes in it; none where it is gone.
    pub fn procs(&self) -> Vec<u32> {
        let text = self.places().next().and_then(|p| file(p, "cgroup.procs"));
        // Those of a pid namespace that can't be seen from here show as 0.
        text.unwrap_or_default()
            .lines()
            .filter_map(|line| line.parse().ok())
            .filter(|pid| *pid != 0)
            .collect()
    }

    /// The limits in force.
    pub fn limits(&self) -> Limits {
        let (memory_bytes, memory_swap_bytes) = self.memory_limits();
        Limits {
            cpus: self.cpus(),
            cpu_quota: lowest(&self.cpu, |dir, version| match version {
                Version::V1 => quota_v1(
                    &read(&dir.join("cpu.cfs_quota_us"))?,
                    &read(&dir.join("cpu.cfs_period_us"))?,
                ),
                Version::V2 => quota_v2(&read(&dir.join("cpu.max"))?),
            }),
            memory_bytes,
            memory_swap_bytes,
            pids: lowest(&self.pids, |dir, _| max(&read(&dir.join("pids.max"))?)),
        }
    }

    /// Where its own cgroup does not control CPUs, those of the nearest parent that does are in force.
    fn cpus(&self) -> Option<String> {
        let place = self.cpuset.as_ref()?;
        let name = match place.version {
            Version::V1 => "cpuset.effective_cpus",
            Version::V2 => "cpuset.cpus.effective",
        };
        let cpus = parents(place).find_map(|dir| read(&dir.join(name)))?;
        Some(cpus.trim().to_owned()).filter(|cpus| !cpus.is_empty())
    }

    fn memory_limits(&self) -> (Limit<u64>, Limit<u64>) {
        if self
            .memory
            .as_ref()
            .is_some_and(|p| p.version == Version::V1)
        {
            // v1 works out itself what its parents leave, even those that can't be seen from here.
            let stat =
                |key| entry(&self.memory, "memory.stat", key).map_or(Limit::Unseen, bytes_v1);
            return (
                stat("hierarchical_memory_limit"),
                stat("hierarchical_memsw_limit"),
            );
        }
        let v2 = |name| lowest(&self.memory, |dir, _| max(&read(&dir.join(name))?));
        let memory = v2("memory.max");
        (memory, both(memory, v2("memory.swap.max")))
    }

    fn places(&self) -> impl Iterator<Item = &Place> {
        [
            &self.memory,
            &self.pids,
            &self.cpuacct,
            &self.cpu,
            &self.cpuset,
        ]
        .into_iter()
        .flatten()
    }
}

fn elsewhere(what: String) -> Error {
    Error::machine(what).next(
        "the container has ended, or its engine runs elsewhere (a remote engine, Docker Desktop): \
         measure on the machine whose kernel runs the containers, with its /proc and cgroups visible",
    )
}

fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

fn file(place: &Place, name: &str) -> Option<String> {
    read(&place.dir.join(name))
}

/// The whole number that is all of a file.
fn whole(place: &Option<Place>, name: &str) -> Option<u64> {
    file(place.as_ref()?, name)?.trim().parse().ok()
}

/// One entry of a file that has one per line.
fn entry(place: &Option<Place>, name: &str, key: &str) -> Option<u64> {
    number(&file(place.as_ref()?, name)?, key)
}

/// The cgroup's folder and its visible parents', from below.
fn parents(place: &Place) -> impl Iterator<Item = PathBuf> {
    let dirs = place.dir.ancestors();
    dirs.take_while(|dir| dir.starts_with(&place.top))
        .map(Path::to_path_buf)
}

/// The lowest limit of a cgroup and its parents: a parent's binds too.
fn lowest<T: PartialOrd + Copy>(
    place: &Option<Place>,
    limit: impl Fn(&Path, Version) -> Option<Limit<T>>,
) -> Limit<T> {
    let Some(place) = place else {
        return Limit::Unseen;
    };
    let limits = parents(place).filter_map(|dir| limit(&dir, place.version));
    limits.fold(Limit::Unseen, |lowest, next| match (lowest, next) {
        (Limit::At(a), Limit::At(b)) => Limit::At(if b < a { b } else { a }),
        (Limit::At(a), _) | (_, Limit::At(a)) => Limit::At(a),
        (Limit::Unlimited, _) | (_, Limit::Unlimited) => Limit::Unlimited,
        (Limit::Unseen, Limit::Unseen) => Limit::Unseen,
    })
}

/// v2 limits swap apart from memory; their sum is what can be used in all.
fn both(memory: Limit<u64>, swap: Limit<u64>) -> Limit<u64> {
    match (memory, swap) {
        (Limit::At(memory), Limit::At(swap)) => Limit::At(memory.saturating_add(swap)),
        (Limit::Unseen, _) | (_, Limit::Unseen) => Limit::Unseen,
        _ => Limit::Unlimited,
    }
}

/// `max` or a number.
fn max(text: &str) -> Option<Limit<u64>> {
    match text.trim() {
        "max" => Some(Limit::Unlimited),
        text => text.parse().ok().map(Limit::At),
    }
}

/// v1 says "no limit" by the greatest number of whole pages, which depends on the page's size.
fn bytes_v1(bytes: u64) -> Limit<u64> {
    if bytes >= 1 << 62 {
        Limit::Unlimited
    } else {
        Limit::At(bytes)
    }
}

fn quota_v1(quota_us: &str, period_us: &str) -> Option<Limit<f64>> {
    match quota_us.trim() {
        "-1" => Some(Limit::Unlimited),
        quota => ratio(quota, period_us.trim()),
    }
}

/// `max 100000` or `50000 100000`, in microseconds.
fn quota_v2(text: &str) -> Option<Limit<f64>> {
    let (quota, period) = text.trim().split_once(' ')?;
    match quota {
        "max" => Some(Limit::Unlimited),
        quota => ratio(quota, period),
    }
}

fn ratio(quota: &str, period: &str) -> Option<Limit<f64>> {
    let (quota, period) = (quota.parse::<u32>().ok()?, period.parse::<u32>().ok()?);
    (period > 0).then(|| Limit::At(f64::from(quota) / f64::from(period)))
}

/// The cgroup controllers that this machine has: name -> 1 or 2, by the interface that carries it.
pub fn controllers(roots: &Roots) -> std::collections::BTreeMap<String, u32> {
    let mounts = place::mounts(&read(&roots.proc.join("self/mountinfo")).unwrap_or_default());
    let mut found = std::collections::BTreeMap::new();
    for mount in mounts {
        match mount.version {
            Version::V1 => found.extend(
                ["cpu", "cpuacct", "cpuset", "memory", "pids"]
                    .into_iter()
                    .filter(|name| mount.options.iter().any(|option| option == name))
                    .map(|name| (name.to_owned(), 1)),
            ),
            Version::V2 => {
                let names = read(&mount.point.join("cgroup.controllers")).unwrap_or_default();
                found.extend(names.split_whitespace().map(|name| (name.to_owned(), 2)));
            }
        }
    }
    found
}

/// Whether swap is counted with memory on v1, without which a limit on both can't be set; `None` where
/// v1 does not control memory.
pub fn swap_accounting_v1(roots: &Roots) -> Option<bool> {
    let mounts = place::mounts(&read(&roots.proc.join("self/mountinfo"))?);
    let memory = mounts.into_iter().find(|mount| {
        mount.version == Version::V1 && mount.options.iter().any(|option| option == "memory")
    })?;
    let stat = read(&memory.point.join("memory.stat"))?;
    Some(field(&stat, "hierarchical_memsw_limit").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sampler::tests::{Tree, v1, v2};

    #[test]
    fn a_cgroup_of_version_1_is_read() {
        let tree = v1();
        let cgroup = Cgroup::of_pid(&tree.roots, 42).unwrap();
        assert_eq!(cgroup.cpu_us(), Some(1_234_567));
        assert_eq!(cgroup.throttled_periods(), Some(3));
        assert_eq!(cgroup.throttled_us(), Some(4_000));
        assert_eq!(cgroup.memory_bytes(), Some(9_000_000));
        assert_eq!(cgroup.oom_kills(), Some(1));
        assert_eq!(cgroup.procs(), [42, 43]);
        assert!(cgroup.is_of_container("4b89"));
        assert!(!cgroup.is_of_container("77") && !cgroup.is_of_container(""));
        assert_eq!(
            cgroup.limits(),
            Limits {
                cpus: Some("0".into()),
                cpu_quota: Limit::At(0.5),
                memory_bytes: Limit::At(536_870_912),
                memory_swap_bytes: Limit::Unlimited,
                pids: Limit::At(512),
            }
        );
    }

    #[test]
    fn a_cgroup_of_version_2_is_read() {
        let tree = v2();
        let cgroup = Cgroup::of_pid(&tree.roots, 42).unwrap();
        assert_eq!(cgroup.cpu_us(), Some(1_234_567));
        assert_eq!(cgroup.throttled_periods(), Some(3));
        assert_eq!(cgroup.throttled_us(), Some(4_000));
        assert_eq!(cgroup.memory_bytes(), Some(9_000_000));
        assert_eq!(cgroup.oom_kills(), Some(1));
        assert_eq!(cgroup.procs(), [42, 43]);
        assert_eq!(
            cgroup.limits(),
            Limits {
                // Not controlled here: the parent's are in force.
                cpus: Some("0-1".into()),
                cpu_quota: Limit::Unlimited,
                // The parent leaves less than the cgroup's own limit.
                memory_bytes: Limit::At(268_435_456),
                memory_swap_bytes: Limit::At(268_435_456),
                pids: Limit::At(512),
            }
        );
    }

    #[test]
    fn what_the_kernel_does_not_show_is_none_and_never_zero() {
        let tree = Tree::new();
        let mount = tree.dir("cgroup");
        tree.write("proc/42/cgroup", "0::/docker/4b89\n");
        tree.write(
            "proc/self/mountinfo",
            format!("35 22 0:30 / {mount} rw - cgroup2 cgroup2 rw\n"),
        );
        assert_eq!(Cgroup::of_pid(&tree.roots, 42).unwrap_err().exit as u8, 3);
        assert_eq!(Cgroup::of_pid(&tree.roots, 41).unwrap_err().exit as u8, 3);
        tree.dir("cgroup/docker/4b89");
        let cgroup = Cgroup::of_pid(&tree.roots, 42).unwrap();
        let all = |cgroup: &Cgroup| {
            [
                cgroup.cpu_us(),
                cgroup.throttled_periods(),
                cgroup.throttled_us(),
                cgroup.memory_bytes(),
                cgroup.oom_kills(),
            ]
        };
        assert_eq!(all(&cgroup), [None; 5]);
        assert!(cgroup.procs().is_empty());
        assert_eq!(cgroup.limits().memory_swap_bytes, Limit::Unseen);
        assert_eq!(cgroup.limits().cpu_quota, Limit::Unseen);
        for name in [
            "cpu.stat",
            "memory.current",
            "memory.stat",
            "memory.events",
            "cpu.max",
        ] {
            tree.write(
                &format!("cgroup/docker/4b89/{name}"),
                "usage_usec x\n\0 7\n-1",
            );
        }
        assert_eq!(all(&cgroup), [None; 5]);
        assert_eq!(cgroup.limits().cpu_quota, Limit::Unseen);
    }

    #[test]
    fn a_cgroup_that_only_the_process_sees_is_reached_through_it() {
        let tree = Tree::new();
        tree.write("proc/42/cgroup", "0::/docker/4b89\n");
        tree.write(
            "proc/42/mountinfo",
            "601 600 0:30 /docker/4b89 /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
        );
        tree.write("proc/42/root/sys/fs/cgroup/cpu.stat", "usage_usec 5\n");
        let cgroup = Cgroup::of_pid(&tree.roots, 42).unwrap();
        assert_eq!(cgroup.cpu_us(), Some(5));
    }

    #[test]
    fn limits_are_read_as_the_kernel_writes_them() {
        assert_eq!(max("max\n"), Some(Limit::Unlimited));
        assert_eq!(max("512\n"), Some(Limit::At(512)));
        assert_eq!(max(""), None);
        assert_eq!(bytes_v1(9_223_372_036_854_771_712), Limit::Unlimited);
        assert_eq!(bytes_v1(9_223_372_036_854_710_272), Limit::Unlimited); // pages of 64 KiB
        assert_eq!(quota_v1("-1\n", "100000\n"), Some(Limit::Unlimited));
        assert_eq!(quota_v1("150000\n", "100000\n"), Some(Limit::At(1.5)));
        assert_eq!(quota_v1("150000", "0"), None);
        assert_eq!(quota_v2("max 100000\n"), Some(Limit::Unlimited));
        assert_eq!(quota_v2("50000 100000\n"), Some(Limit::At(0.5)));
        assert_eq!(quota_v2("50000"), None);
        assert_eq!(both(Limit::At(5), Limit::At(0)), Limit::At(5));
        assert_eq!(both(Limit::At(5), Limit::Unlimited), Limit::Unlimited);
    }

    #[test]
    fn this_process_has_a_cgroup() {
        let roots = Roots::default();
        let cgroup = Cgroup::of_pid(&roots, std::process::id()).unwrap();
        let before = cgroup.cpu_us().expect("CPU time is always counted");
        let until = std::time::Instant::now() + std::time::Duration::from_millis(50);
        while std::time::Instant::now() < until {
            std::hint::black_box(0);
        }
        assert!(cgroup.cpu_us().unwrap() > before);
        assert!(cgroup.procs().contains(&std::process::id()));
        assert!(cgroup.limits().cpus.is_some());
        assert!(!controllers(&roots).is_empty());
    }
}
