//! One target's samples: everything at a phase's edges, what is cheap in between.

use super::cgroup::Cgroup;
use super::{Roots, process};
use crate::error::Result;
use crate::record::samples::{COLUMNS, Mark, Sample};

/// Reads one target from outside of its container.
#[derive(Clone, Debug)]
pub struct Sampler {
    roots: Roots,
    target: Cgroup,
    agent: Option<Cgroup>,
    main_thread: Option<u32>,
    ksoftirqd: Vec<u32>,
}

impl Sampler {
    /// For the containers whose first processes these are. `main_thread`: one thread serves, namely the
    /// main thread of the target's first process.
    ///
    /// # Errors
    /// Exit 3 where a process is gone or its cgroup can't be reached from here.
    pub fn new(target_pid: u32, agent_pid: Option<u32>, main_thread: bool) -> Result<Self> {
        Self::with_roots(Roots::default(), target_pid, agent_pid, main_thread)
    }

    /// The same where the machine's file systems are mounted elsewhere.
    ///
    /// # Errors
    /// As for [`Sampler::new`].
    pub fn with_roots(
        roots: Roots,
        target_pid: u32,
        agent_pid: Option<u32>,
        main_thread: bool,
    ) -> Result<Self> {
        let agent = agent_pid.map(|pid| Cgroup::of_pid(&roots, pid).map_err(|e| e.at("the agent")));
        Ok(Self {
            target: Cgroup::of_pid(&roots, target_pid).map_err(|e| e.at("the target"))?,
            agent: agent.transpose()?,
            main_thread: main_thread.then_some(target_pid),
            ksoftirqd: process::ksoftirqd(&roots),
            roots,
        })
    }

    /// The target's cgroup: its limits, and whether it is the container's at all.
    pub fn target(&self) -> &Cgroup {
        &self.target
    }

    /// The generator's cgroup, where there is one to be read.
    pub fn agent(&self) -> Option<&Cgroup> {
        self.agent.as_ref()
    }

    /// How long the generator's threads were ready to run and did not, so far, in microseconds.
    pub fn agent_waited_us(&self) -> Option<u64> {
        process::waited_us(&self.roots, &self.agent.as_ref()?.procs())
    }

    /// Everything, at an edge of a phase; under a millisecond, but for PSS.
    pub fn edge(&self, t_s: f64, phase: &str, mark: Mark) -> Sample {
        let mut row = Row::new(t_s, phase, mark);
        // What is divided by time comes first: the time was read just before.
        row.set("cpu_us", self.target.cpu_us());
        let main_thread = self.main_thread;
        row.set(
            "main_thread_us",
            main_thread.and_then(|pid| process::main_thread_us(&self.roots, pid)),
        );
        row.set("agent_cpu_us", self.agent.as_ref().and_then(Cgroup::cpu_us));
        row.set(
            "ksoftirqd_us",
            process::ksoftirqd_us(&self.roots, &self.ksoftirqd),
        );
        row.set("throttled_periods", self.target.throttled_periods());
        row.set("throttled_us", self.target.throttled_us());
        let pids = self.target.procs();
        row.set(
            "involuntary_switches",
            process::involuntary_switches(&self.roots, &pids),
        );
        row.set("oom_kills", self.target.oom_kills());
        self.memory(&mut row, &pids);
        row.0
    }

    /// Memory and CPU time, in between.
    pub fn tick(&self, t_s: f64, phase: &str) -> Sample {
        let mut row = Row::new(t_s, phase, Mark::Tick);
        row.set("cpu_us", self.target.cpu_us());
        self.memory(&mut row, &self.target.procs());
        row.0
    }

    /// CPU time alone, where a load pauses for it: of the main thread too between blocks, where it is
    /// divided by what the block completed.
    pub fn counters(&self, t_s: f64, phase: &str, mark: Mark) -> Sample {
        let mut row = Row::new(t_s, phase, mark);
        row.set("cpu_us", self.target.cpu_us());
        if let (Mark::Block, Some(pid)) = (mark, self.main_thread) {
            row.set("main_thread_us", process::main_thread_us(&self.roots, pid));
        }
        row.0
    }

    fn memory(&self, row: &mut Row, pids: &[u32]) {
        row.set("rss_kib", process::rss_kib(&self.roots, pids));
        let bytes = self.target.memory_bytes();
        row.set("cgroup_kib", bytes.map(|bytes| bytes / 1024));
        // PSS costs milliseconds on a CPU that the load needs. Named here are the phases that may have
        // it, so that one added later does not get it unasked.
        if matches!(row.0.phase.as_str(), "baseline" | "recovery") {
            row.set("pss_kib", process::pss_kib(&self.roots, pids));
        }
    }
}

struct Row(Sample);

impl Row {
    fn new(t_s: f64, phase: &str, mark: Mark) -> Self {
        Self(Sample {
            // As the file will have it, so that what is computed from the row and from the file is the same.
            t_s: (t_s * 1e6).round() / 1e6,
            phase: phase.to_owned(),
            mark,
            values: [None; COLUMNS.len()],
        })
    }

    fn set(&mut self, column: &str, value: Option<u64>) {
        let index = COLUMNS.iter().position(|name| *name == column);
        self.0.values[index.expect("a column of samples.csv")] = value;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::record::samples;

    /// A made-up machine in a folder.
    pub(crate) struct Tree {
        folder: tempfile::TempDir,
        pub(crate) roots: Roots,
    }

    impl Tree {
        pub(crate) fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            let roots = Roots {
                proc: at("proc"),
                sys: at("sys"),
                etc: at("etc"),
                dev: at("dev"),
            };
            Self { folder, roots }
        }

        pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
            let path = self.folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        pub(crate) fn dir(&self, path: &str) -> String {
            let path = self.folder.path().join(path);
            std::fs::create_dir_all(&path).unwrap();
            path.to_str().unwrap().to_owned()
        }

        fn processes(&self) {
            let files = [
                ("42/status", "Name:\tno\u{fffd}de\nVmRSS:\t   20000 kB\n"),
                ("43/status", "Name:\tsh\nVmRSS:\t   10000 kB\n"),
                (
                    "42/smaps_rollup",
                    "5-7 ---p 0 00:00 0 [rollup]\nRss: 20000 kB\nPss: 15000 kB\nPss_Dirty: 1 kB\n",
                ),
                (
                    "43/smaps_rollup",
                    "5-7 ---p 0 00:00 0 [rollup]\nRss: 10000 kB\nPss: 5000 kB\n",
                ),
                (
                    "42/task/42/status",
                    "voluntary_ctxt_switches:\t900\nnonvoluntary_ctxt_switches:\t10\n",
                ),
                (
                    "42/task/44/status",
                    "voluntary_ctxt_switches:\t900\nnonvoluntary_ctxt_switches:\t7\n",
                ),
                (
                    "43/task/43/status",
                    "voluntary_ctxt_switches:\t900\nnonvoluntary_ctxt_switches:\t1\n",
                ),
                ("42/task/42/schedstat", "555999 641030309 5545\n"),
                ("70/task/70/schedstat", "555999 2000000 5545\n"),
                ("70/task/71/schedstat", "555999 500999 5545\n"),
                ("14/comm", "ksoftirqd/0\n"),
                ("14/cmdline", ""),
                ("14/schedstat", "100600 1 2\n"),
                ("22/comm", "ksoftirqd/1\n"),
                ("22/cmdline", ""),
                ("22/schedstat", "200000 1 2\n"),
                ("60/comm", "ksoftirqd/2\n"),
                ("60/cmdline", "an impostor\0"),
            ];
            for (path, text) in files {
                self.write(&format!("proc/{path}"), text);
            }
        }
    }

    /// Docker on cgroup v1: separate hierarchies, a v2 line beside them.
    pub(crate) fn v1() -> Tree {
        let tree = Tree::new();
        tree.processes();
        let members = "4:memory:/docker/4b89\n8:pids:/docker/4b89\n3:cpuset:/docker/4b89\n\
                       2:cpuacct:/docker/4b89\n1:cpu:/docker/4b89\n0::/docker/4b89\n";
        tree.write("proc/42/cgroup", members);
        tree.write("proc/70/cgroup", members.replace("4b89", "a9e7"));
        let mut mountinfo = String::new();
        for name in ["memory", "pids", "cpuset", "cpuacct", "cpu"] {
            let point = tree.dir(&format!("cgroup/{name}"));
            mountinfo += &format!("31 23 0:28 / {point} rw - cgroup cgroup rw,{name}\n");
        }
        let point = tree.dir("cgroup/unified/docker/4b89");
        mountinfo += &format!("41 31 0:38 / {point} rw - cgroup2 cgroup2 rw\n");
        tree.write("proc/self/mountinfo", &mountinfo);
        let stat = "inactive_file 5\nhierarchical_memory_limit 536870912\n\
                    hierarchical_memsw_limit 9223372036854771712\ntotal_inactive_file 1000000\n";
        let files = [
            ("cpuacct", "cpuacct.usage", "1234567890\n"),
            (
                "cpu",
                "cpu.stat",
                "nr_periods 9\nnr_throttled 3\nthrottled_time 4000000\n",
            ),
            ("cpu", "cpu.cfs_quota_us", "50000\n"),
            ("cpu", "cpu.cfs_period_us", "100000\n"),
            ("cpuset", "cpuset.effective_cpus", "0\n"),
            ("memory", "memory.usage_in_bytes", "10000000\n"),
            ("memory", "memory.stat", stat),
            (
                "memory",
                "memory.oom_control",
                "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
            ),
            ("memory", "cgroup.procs", "42\n43\n0\n"),
            ("pids", "pids.max", "512\n"),
        ];
        for (controller, name, text) in files {
            tree.write(&format!("cgroup/{controller}/docker/4b89/{name}"), text);
        }
        for (path, text) in [
            ("cpuacct/docker/a9e7/cpuacct.usage", "7000000\n"),
            ("cpu/docker/a9e7/cpu.stat", "nr_throttled 2\n"),
            ("memory/docker/a9e7/cgroup.procs", "70\n"),
        ] {
            tree.write(&format!("cgroup/{path}"), text);
        }
        tree
    }

    /// Docker on cgroup v2 with systemd's names, in a slice that has less memory than was asked for.
    pub(crate) fn v2() -> Tree {
        let tree = Tree::new();
        tree.processes();
        tree.write("proc/42/cgroup", "0::/system.slice/docker-4b89.scope\n");
        let point = tree.dir("cgroup");
        tree.write(
            "proc/self/mountinfo",
            format!("35 22 0:30 / {point} rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"),
        );
        let scope = "docker-4b89.scope/";
        let files = [
            (
                scope,
                "cpu.stat",
                "usage_usec 1234567\nuser_usec 1\nnr_throttled 3\nthrottled_usec 4000\n",
            ),
            (scope, "cpu.max", "max 100000\n"),
            (scope, "memory.current", "10000000\n"),
            (
                scope,
                "memory.stat",
                "anon 1\ninactive_file 1000000\nactive_file 3\n",
            ),
            (
                scope,
                "memory.events",
                "low 0\nmax 7\noom 2\noom_kill 1\noom_group_kill 0\n",
            ),
            (scope, "memory.max", "536870912\n"),
            (scope, "memory.swap.max", "0\n"),
            (scope, "pids.max", "512\n"),
            (scope, "cgroup.procs", "42\n43\n"),
            ("", "memory.max", "268435456\n"),
            ("", "memory.swap.max", "max\n"),
            ("", "cpuset.cpus.effective", "0-1\n"),
        ];
        for (dir, name, text) in files {
            tree.write(&format!("cgroup/system.slice/{dir}{name}"), text);
        }
        tree
    }

    /// Half a microsecond is rounded up by one rule and to an even digit by another: a cell's CPU share was
    /// once of a microsecond more than its archive said.
    #[test]
    fn a_row_is_read_back_as_it_was_taken_whatever_the_clock_said() {
        let tree = v1();
        let sampler = Sampler::with_roots(tree.roots.clone(), 42, Some(70), true).unwrap();
        let rows: Vec<Sample> = (0..1000_u32)
            .map(|us| sampler.tick(12.042 + (f64::from(us) + 0.5) * 1e-6, "load"))
            .collect();
        assert_eq!(samples::read(&samples::write(&rows)).unwrap(), rows);
    }

    #[test]
    fn an_edge_has_everything_a_tick_what_is_cheap_and_a_pause_cpu_time_alone() {
        let tree = v1();
        let sampler = Sampler::with_roots(tree.roots.clone(), 42, Some(70), true).unwrap();
        let edge = sampler.edge(1.5, "baseline", Mark::Start);
        assert_eq!((edge.t_s, edge.mark), (1.5, Mark::Start));
        let expected = [
            1_234_567, 555, 3, 4_000, 18, 1, 30_000, 20_000, 8_789, 7_000, 300,
        ];
        assert_eq!(edge.values, expected.map(Some));
        for phase in ["load", "settle", "warm_up"] {
            let edge = sampler.edge(2.0, phase, Mark::End);
            assert_eq!(edge.get("pss_kib"), None, "{phase}");
            assert_eq!(edge.get("rss_kib"), Some(30_000), "{phase}");
        }
        let table = [("load", 3), ("baseline", 4), ("recovery", 4)];
        for (phase, read) in table {
            let tick = sampler.tick(3.0, phase);
            assert_eq!(tick.mark, Mark::Tick);
            assert_eq!(tick.values.iter().flatten().count(), read, "{phase}");
        }
        let table = [
            (Mark::Block, "load", Some(555)),
            (Mark::Slice, "background", None),
        ];
        for (mark, phase, main_thread_us) in table {
            let row = sampler.counters(4.0, phase, mark);
            assert_eq!((row.phase.as_str(), row.mark), (phase, mark));
            assert_eq!(row.get("cpu_us"), Some(1_234_567));
            assert_eq!(row.get("main_thread_us"), main_thread_us, "{phase}");
            let read = 1 + usize::from(main_thread_us.is_some());
            assert_eq!(row.values.iter().flatten().count(), read, "{phase}");
        }
    }

    #[test]
    fn what_was_not_asked_for_or_is_gone_is_none() {
        let tree = v2();
        let sampler = Sampler::with_roots(tree.roots.clone(), 42, None, false).unwrap();
        let edge = sampler.edge(0.0, "load", Mark::Start);
        assert_eq!(edge.get("agent_cpu_us"), None);
        assert_eq!(edge.get("main_thread_us"), None);
        assert_eq!(edge.get("cpu_us"), Some(1_234_567));
        std::fs::remove_dir_all(tree.folder.path().join("cgroup")).unwrap();
        let tick = sampler.tick(1.0, "load");
        assert!(tick.values.iter().all(Option::is_none));
        let error = Sampler::with_roots(tree.roots.clone(), 42, None, false).unwrap_err();
        assert!(error.to_string().starts_with("the target: "), "{error}");
    }

    #[test]
    fn this_process_is_sampled() {
        let own = std::process::id();
        let sampler = Sampler::new(own, Some(own), true).unwrap();
        let edge = sampler.edge(0.0, "baseline", Mark::Start);
        for column in [
            "cpu_us",
            "rss_kib",
            "pss_kib",
            "agent_cpu_us",
            "involuntary_switches",
        ] {
            assert!(edge.get(column).is_some(), "{column}");
        }
    }
}
