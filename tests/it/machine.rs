//! What this machine cannot do: exit 3, and a sentence that says what to do.

use std::io::ErrorKind;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::docker::{containers_of, socket, turn};
use crate::duel::duelists;
use crate::kit::{Kit, cells, kit, verifies};
use crate::program::{BINARY, Running, program, shootout};

#[test]
fn without_an_engine_every_verb_that_needs_one_says_how_to_start_it() {
    let kit = kit();
    kit.plan("one", "liar", "");
    let verbs = [
        "check liar",
        "build liar",
        "run one",
        "clean --dry-run",
        "doctor",
    ];
    for verb in verbs {
        let run = kit
            .shootout(verb)
            .env("DOCKER_HOST", "unix:///nonexistent.sock");
        run.run()
            .exits(3)
            .says(&["/nonexistent.sock", "sh docker/engine.sh"]);
        let run = kit.shootout(verb).env("DOCKER_HOST", "tcp://127.0.0.1:1");
        run.run()
            .exits(3)
            .says(&["tcp://127.0.0.1:1", "DOCKER_HOST unset or unix:///PATH"]);
    }
    assert!(!kit.path("results").exists(), "nothing was begun");
}

#[test]
fn what_needs_no_engine_works_without_one() {
    let kit = kit();
    kit.plan("one", "liar", "");
    for verb in ["list", "run one --dry-run"] {
        let run = kit
            .shootout(verb)
            .env("DOCKER_HOST", "unix:///nonexistent.sock");
        run.run().exits(0);
    }
}

#[test]
fn without_permission_on_the_socket_it_says_how_to_get_it() {
    use std::os::unix::fs::PermissionsExt;
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: only root can become somebody without permission");
    }
    let _turn = turn();
    let kit = kit();
    let program_file = kit.path("shootout");
    std::fs::copy(BINARY, &program_file).unwrap();
    std::fs::set_permissions(kit.path("."), PermissionsExt::from_mode(0o755)).unwrap();
    let check = program(program_file)
        .args("--kit")
        .arg(kit.path("."))
        .args("check liar");
    let nobody = 65534;
    check
        .user(nobody)
        .run()
        .exits(3)
        .says(&["no permission", "usermod -aG docker"]);
}

#[test]
fn a_full_disk_keeps_what_was_measured_and_the_run_goes_on_once_there_is_room() {
    let kit = kit();
    kit.plan("some", "liar", "repetitions: 3");
    disk_is_full(&kit, "some", 1);
}

#[test]
fn a_disk_that_is_full_between_the_sides_of_a_pair_keeps_whole_pairs() {
    // A pair of two sides has two loads each.
    disk_is_full(&duelists(), "pair", 4);
}

/// Fills the disk as soon as one unit of so many cells is whole.
#[track_caller]
fn disk_is_full(kit: &Kit, plan: &str, unit: usize) {
    let _turn = turn();
    let disk = kit.path("small-disk");
    std::fs::create_dir(&disk).unwrap();
    let Some(_mounted) = Tmpfs::mount(&disk, "8m") else {
        return eprintln!("skipped: this user may not mount a file system");
    };
    let archive = disk.join("archive");
    let mut run = kit
        .shootout(&format!("run {plan} --out"))
        .arg(&archive)
        .start();
    waits_for(&mut run, || cells(&archive).len() >= unit);
    let ballast = disk.join("ballast");
    let filled = std::fs::write(&ballast, vec![1; 16 << 20]);
    assert_eq!(filled.unwrap_err().kind(), ErrorKind::StorageFull);
    let run = run.wait().exits(3);
    let resume = format!("shootout run --resume {}", archive.display());
    run.says(&["No space left", "free some space", &resume]);
    let kept = cells(&archive);
    assert_eq!(kept.len(), unit);
    what_is_whole_holds(&archive);
    std::fs::remove_file(ballast).unwrap();
    goes_on(kit, &archive, &kept);
}

#[test]
fn an_engine_that_is_lost_ends_the_run_and_the_next_one_clears_up_and_goes_on() {
    let kit = kit();
    kit.plan("some", "liar", "repetitions: 2");
    engine_is_lost(&kit, "some", 1);
}

#[test]
fn an_engine_that_is_lost_within_a_pair_loses_that_pair_alone() {
    engine_is_lost(&duelists(), "pair", 4);
}

/// Cuts the line to the engine once a unit of so many cells is whole and the next one is under way.
#[track_caller]
fn engine_is_lost(kit: &Kit, plan: &str, unit: usize) {
    let _turn = turn();
    let archive = kit.path("results/lost");
    let line = Line::to_the_engine(&kit.path("engine.sock"));
    let run = kit.shootout(&format!("run {plan} --out")).arg(&archive);
    let host = format!("unix://{}", kit.path("engine.sock").display());
    let mut run = run.env("DOCKER_HOST", host).start();
    let pid = run.pid();
    waits_for(&mut run, || {
        cells(&archive).len() >= unit && containers_of(pid).len() >= 2
    });
    line.cut();
    let run = run.wait().exits(3);
    let resume = format!("shootout run --resume {}", archive.display());
    run.says(&["sh docker/engine.sh", &resume]);
    let kept = cells(&archive);
    what_is_whole_holds(&archive);
    goes_on(kit, &archive, &kept);
    assert_eq!(containers_of(pid).len(), 0);
}

#[track_caller]
fn waits_for(run: &mut Running, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(!run.has_ended() && start.elapsed() < Duration::from_secs(600));
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// An unfinished archive is none, and what was measured for it can be recomputed.
#[track_caller]
fn what_is_whole_holds(archive: &Path) {
    let verify = shootout().args("verify --allow-smoke").arg(archive);
    verify
        .run()
        .exits(5)
        .says(&["the run broke off after", "they hold"]);
}

/// To a whole archive, in which what was kept is unchanged. On a busy machine a unit may be left without a
/// valid run; all else must hold.
#[track_caller]
fn goes_on(kit: &Kit, archive: &Path, kept: &[PathBuf]) {
    let read = |cell: &PathBuf| std::fs::read(cell.join("cell.json")).unwrap();
    let before: Vec<Vec<u8>> = kept.iter().map(read).collect();
    let run = kit.shootout("run --resume").arg(archive).run();
    run.exits_measured();
    assert!(cells(archive).len() > kept.len());
    assert_eq!(before, kept.iter().map(read).collect::<Vec<_>>());
    verifies(archive);
}

/// A socket that leads to the engine's, until it is cut.
struct Line {
    ends: Arc<Mutex<Vec<UnixStream>>>,
    listener: UnixListener,
}

impl Line {
    fn to_the_engine(at: &Path) -> Self {
        let listener = UnixListener::bind(at).unwrap();
        let ends: Arc<Mutex<Vec<UnixStream>>> = Arc::default();
        let (accepting, all) = (listener.try_clone().unwrap(), Arc::clone(&ends));
        std::thread::spawn(move || {
            for near in accepting.incoming() {
                let Ok(near) = near else { return };
                let far = UnixStream::connect(socket()).unwrap();
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    std::thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Write);
                    });
                }
                all.lock().unwrap().extend([near, far]);
            }
        });
        Self { ends, listener }
    }

    fn cut(self) {
        // SHUT_RD on a listener refuses whoever comes and ends the accepting thread.
        rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both).unwrap();
        for end in self.ends.lock().unwrap().iter() {
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

/// A small file system, unmounted when it is dropped.
struct Tmpfs<'a>(&'a Path);

impl<'a> Tmpfs<'a> {
    fn mount(at: &'a Path, size: &str) -> Option<Self> {
        let options = format!("size={size}");
        let line = ["-t", "tmpfs", "-o", &options, "shootout-test"];
        mount(&line, at).then_some(Self(at))
    }
}

impl Drop for Tmpfs<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

fn mount(options: &[&str], at: &Path) -> bool {
    let status = Command::new("mount").args(options).arg(at).status();
    status.is_ok_and(|status| status.success())
}
