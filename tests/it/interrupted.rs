//! Ctrl-C and `kill -9` at any moment: nothing is left behind, nothing that was measured is lost,
//! and no cell is measured twice.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::docker::{Container, builds_running, containers_of, processes_of, turn};
use crate::duel::{PLAN as PAIR, duelists};
use crate::kit::{Kit, cells, document, kit, verifies};
use crate::program::Running;

/// How often a run is ended before it may go on to its end.
const TIMES: usize = 4;
/// Kills come until so long after a start: a cell of these plans takes less, and a pair of theirs, so that
/// some are whole by then.
const CELL: Duration = Duration::from_secs(6);
const PAIR_OF_CELLS: Duration = Duration::from_secs(25);

#[test]
fn a_run_that_is_interrupted_ends_with_130_and_what_goes_on() {
    let _turn = turn();
    let kit = kit();
    kit.plan("long", "liar", "repetitions: 3");
    let mut finished = Finished::default();
    let archive = kit.path("results/long");
    let mut moments = Moments::new();
    for _ in 0..TIMES {
        let mut run = begin_or_go_on(&kit, &archive);
        // The very first moments belong to the loader, which knows nothing of signals yet.
        hears_signals(&mut run);
        let moment = moments.next(CELL);
        if wait_at_most(&mut run, moment) {
            break;
        }
        let pid = run.pid();
        run.signal(Signal::INT);
        let outcome = run.wait();
        assert_eq!(containers_of(pid).len(), 0, "after {moment:?}\n{outcome}");
        // It may have been just about to end.
        if outcome.status.code() == Some(0) {
            break;
        }
        let outcome = outcome.exits(130).says(&["interrupted"]);
        if archive.join("plan.yaml").exists() {
            let resume = format!("shootout run --resume {}", archive.display());
            outcome.says(&[&resume]);
        }
        finished.are_still_in(&archive);
    }
    completes(&kit, &archive, 3, &finished);
}

#[test]
fn a_runner_that_is_killed_leaves_nothing_that_the_next_run_does_not_clear() {
    let kit = kit();
    kit.plan("long", "liar", "repetitions: 3");
    survives_kills(&kit, TIMES, CELL, 3);
}

/// `cargo test --test it twenty -- --ignored --nocapture`
#[test]
#[ignore = "minutes; the same with fewer kills is not ignored"]
fn a_runner_survives_twenty_kills() {
    let kit = kit();
    kit.plan("long", "liar", "repetitions: 12");
    survives_kills(&kit, 20, CELL, 12);
}

/// Of a duel a kill may fall between the records of two sides.
#[test]
#[ignore = "minutes; that half a pair is none is tested without such luck"]
fn a_duel_survives_twenty_kills() {
    let kit = duelists();
    let pairs = PAIR
        .replace("name: pair", "name: long")
        .replace("pairs: 1", "pairs: 4");
    kit.write("workloads/plans/long.yaml", &pairs);
    // Four pairs and a null one, of two sides with two loads each.
    survives_kills(&kit, 20, PAIR_OF_CELLS, 5 * 4);
}

/// Kills a run of the plan `long` so often, at any moment, and goes on each time: in the end there are so
/// many planned cells, each with one valid record, and nothing is left behind.
#[track_caller]
fn survives_kills(kit: &Kit, times: usize, latest: Duration, planned: usize) {
    let _turn = turn();
    let mut finished = Finished::default();
    let archive = kit.path("results/long");
    let mut moments = Moments::new();
    let mut left: Vec<Container> = vec![];
    let mut kills = 0;
    for _ in 0..times {
        let mut run = begin_or_go_on(kit, &archive);
        let pid = run.pid();
        let moment = moments.next(latest);
        if wait_at_most(&mut run, moment) {
            break;
        }
        run.signal(Signal::KILL);
        run.wait();
        kills += 1;
        generator_ends(pid);
        left.extend(containers_of(pid));
        finished.are_still_in(&archive);
        // Killed so early that nothing was begun: the folder may be there, but no run in it.
        if !archive.join("plan.yaml").exists() {
            let _ = std::fs::remove_dir_all(&archive);
        }
    }
    let whole = cells(&archive).len();
    eprintln!("{kills} kills; {whole} cells were whole after the last, and {planned} are planned");
    let pids = left.iter().map(|one| pid_of(&one.name)).collect::<Vec<_>>();
    completes(kit, &archive, planned, &finished);
    for pid in pids {
        assert_eq!(containers_of(pid).len(), 0, "left behind by {pid}");
    }
    for container in left {
        assert_eq!(processes_of(&container.id), [0; 0], "{}", container.name);
    }
}

#[test]
fn what_a_killed_check_left_is_named_by_clean_and_cleared_by_the_next_check() {
    let _turn = turn();
    let kit = kit();
    let mut check = kit.shootout("check liar@deaf -w ok").start();
    let pid = check.pid();
    let start = Instant::now();
    let both_run = || {
        containers_of(pid)
            .iter()
            .filter(|one| one.is_running)
            .count()
            == 2
    };
    while !both_run() {
        assert!(!check.has_ended() && start.elapsed() < Duration::from_secs(600));
        std::thread::sleep(Duration::from_millis(20));
    }
    let alive = kit.shootout("clean --dry-run --json").run().exits(0).json();
    check.signal(Signal::KILL);
    check.wait();
    generator_ends(pid);
    let left = containers_of(pid);
    let ended = kit.shootout("clean --dry-run --json").run().exits(0).json();
    for container in &left {
        let name = container.name.trim_start_matches('/');
        let has = |list: &serde_json::Value| list.as_array().unwrap().iter().any(|n| n == name);
        assert!(
            has(&alive["left_alone"]) && !has(&alive["containers"]),
            "{alive}"
        );
        assert!(
            has(&ended["containers"]) && !has(&ended["left_alone"]),
            "{ended}"
        );
    }
    assert_eq!(left.len(), 2, "{left:?}");
    kit.shootout("check liar -w ok").run().exits(0);
    assert_eq!(containers_of(pid).len(), 0);
}

#[test]
fn a_build_that_is_killed_leaves_no_container_after_the_next_check() {
    let _turn = turn();
    let kit = kit();
    // Slow, and like no other: an image that was built once would not be built again.
    let moment = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos();
    let step = format!("sleep 20 && echo {moment}");
    let recipe = format!("FROM shootout/run\nLABEL shootout.image=adapter\nRUN {step}\n");
    let about = std::fs::read_to_string(kit.path("adapters/liar/adapter.yaml")).unwrap();
    kit.write("adapters/slow/adapter.yaml", &about);
    kit.write("adapters/slow/Dockerfile", &recipe);
    let builds = || builds_running(&moment.to_string());
    for signal in [Signal::KILL, Signal::INT] {
        let mut build = kit.shootout("build slow").start();
        let start = Instant::now();
        while builds() == 0 {
            assert!(!build.has_ended() && start.elapsed() < Duration::from_secs(600));
            std::thread::sleep(Duration::from_millis(20));
        }
        build.signal(signal);
        let ended = build.wait();
        if signal == Signal::INT {
            ended.exits(130);
        }
        kit.shootout("check liar -w ok").run().exits(0);
        assert_eq!(builds(), 0, "{signal:?}");
    }
}

#[test]
fn a_check_that_is_interrupted_leaves_nothing() {
    let _turn = turn();
    let kit = kit();
    let check = kit.shootout("check liar@deaf -w ok").start();
    let pid = check.pid();
    let start = Instant::now();
    while containers_of(pid).len() < 2 {
        assert!(start.elapsed() < Duration::from_secs(600));
        std::thread::sleep(Duration::from_millis(20));
    }
    check.signal(Signal::INT);
    check.wait().exits(130);
    assert_eq!(containers_of(pid).len(), 0);
}

fn begin_or_go_on(kit: &Kit, archive: &Path) -> Running {
    if archive.join("plan.yaml").exists() {
        kit.shootout("run --resume").arg(archive).start()
    } else {
        kit.shootout("run long --out").arg(archive).start()
    }
}

/// Whether it ended before its moment came.
fn wait_at_most(run: &mut Running, moment: Duration) -> bool {
    let start = Instant::now();
    while start.elapsed() < moment {
        if run.has_ended() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    false
}

/// Waits until Ctrl-C is caught rather than deadly.
fn hears_signals(run: &mut Running) {
    let start = Instant::now();
    loop {
        let status = std::fs::read_to_string(format!("/proc/{}/status", run.pid()));
        let status = status.unwrap_or_default();
        let caught = status
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:\t"));
        let caught = u64::from_str_radix(caught.unwrap_or("0"), 16).unwrap();
        if caught & 1 << (Signal::INT.as_raw() - 1) != 0 || run.has_ended() {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "it never does");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The agent sees that its runner is gone and ends, with nobody's help.
#[track_caller]
fn generator_ends(pid: u32) {
    let start = Instant::now();
    let runs = |one: &Container| one.is_running && one.name.ends_with("-agent");
    while containers_of(pid).iter().any(runs) {
        assert!(start.elapsed() < Duration::from_secs(10), "it runs on");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// `/shootout-TIME-PID-NUMBER-ROLE`
fn pid_of(container: &str) -> u32 {
    container.split('-').nth(2).unwrap().parse().unwrap()
}

/// Goes on to the end: so many planned cells were measured, each unit validly at most once (a busy machine
/// may leave one without), and those that were finished earlier are unchanged, but for half a pair.
#[track_caller]
fn completes(kit: &Kit, archive: &Path, planned: usize, finished: &Finished) {
    if !archive.join("SHA256SUMS").exists() {
        begin_or_go_on(kit, archive).wait().exits_measured();
    }
    verifies(archive);
    finished.clone().are_still_in(archive);
    let summary = document(archive, "summary.json");
    let cells = summary["cells"].as_array().unwrap();
    let planned_cell = ["repetition", "pair", "side", "role", "loop", "connections"];
    let measured: BTreeSet<String> = cells
        .iter()
        .map(|cell| named(cell, &planned_cell))
        .collect();
    assert_eq!(measured.len(), planned, "{measured:?}");
    // A unit is a cell, or all cells of a pair, of which one that is invalid has all of them measured again.
    let mut attempts: BTreeMap<(String, u64), bool> = BTreeMap::new();
    for cell in cells {
        let unit = named(cell, &["repetition", "pair", "role"]);
        let attempt = (unit, cell["attempt"].as_u64().unwrap());
        *attempts.entry(attempt).or_insert(true) &= cell["valid"] == true;
    }
    let mut valid = BTreeSet::new();
    for ((unit, attempt), is_valid) in attempts {
        let is_first = !is_valid || valid.insert(unit.clone());
        assert!(
            is_first,
            "{unit}: attempt {attempt} is valid, and not the first"
        );
    }
}

/// These of a cell's fields, in one line.
fn named(cell: &Value, fields: &[&str]) -> String {
    let fields: Vec<String> = fields.iter().map(|field| cell[field].to_string()).collect();
    fields.join(" ")
}

/// The cells that were seen whole, and what they held.
#[derive(Clone, Default)]
struct Finished(BTreeMap<PathBuf, Vec<u8>>);

impl Finished {
    #[track_caller]
    fn are_still_in(&mut self, archive: &Path) {
        let read = |path: PathBuf| (path.clone(), std::fs::read(path.join("cell.json")).unwrap());
        let now: BTreeMap<_, _> = cells(archive).into_iter().map(read).collect();
        for (path, bytes) in &self.0 {
            assert_eq!(now.get(path), Some(bytes), "{}", path.display());
        }
        self.0 = now;
        self.forget_half_pairs();
    }

    /// A kill between the records of two sides leaves half a pair: it is measured again.
    fn forget_half_pairs(&mut self) {
        let unit = |cell: &Value| named(cell, &["pair", "role", "attempt"]);
        let read = |bytes: &Vec<u8>| serde_json::from_slice::<Value>(bytes).unwrap();
        let mut sides: BTreeMap<_, usize> = BTreeMap::new();
        for cell in self
            .0
            .values()
            .map(read)
            .filter(|cell| cell["loop"] == "open")
        {
            *sides.entry(unit(&cell)).or_default() += 1;
        }
        self.0.retain(|_, bytes| {
            let cell = read(bytes);
            cell["pair"].is_null() || sides.get(&unit(&cell)) == Some(&2)
        });
    }
}

/// Moments, others in every run of the tests.
struct Moments(u64);

impl Moments {
    fn new() -> Self {
        let since = std::time::UNIX_EPOCH.elapsed().unwrap();
        eprintln!("moments from {}", since.as_nanos());
        Self(since.as_nanos() as u64)
    }

    /// From none to `latest`.
    fn next(&mut self, latest: Duration) -> Duration {
        // Knuth's MMIX generator; the high bits are the good ones.
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        latest * (self.0 >> 32) as u32 / u32::MAX
    }
}
