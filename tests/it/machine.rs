//! What this machine cannot do: exit 3, and a sentence that says what to do.

use std::io::ErrorKind;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::docker::{containers_of, socket, turn};
use crate::kit::{cells, kit, verifies};
use crate::program::{BINARY, program};

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
    let _turn = turn();
    let kit = kit();
    kit.plan("some", "liar", "repetitions: 3");
    let disk = kit.path("small-disk");
    std::fs::create_dir(&disk).unwrap();
    let Some(_mounted) = Tmpfs::mount(&disk, "8m") else {
        return eprintln!("skipped: this user may not mount a file system");
    };
    let archive = disk.join("archive");
    let mut run = kit.shootout("run some --out").arg(&archive).start();
    let start = Instant::now();
    while cells(&archive).is_empty() {
        assert!(!run.has_ended() && start.elapsed() < Duration::from_secs(600));
        std::thread::sleep(Duration::from_millis(10));
    }
    let ballast = disk.join("ballast");
    let filled = std::fs::write(&ballast, vec![1; 16 << 20]);
    assert_eq!(filled.unwrap_err().kind(), ErrorKind::StorageFull);
    let run = run.wait().exits(3);
    let resume = format!("shootout run --resume {}", archive.display());
    run.says(&["No space left", "free some space", &resume]);
    assert_eq!(cells(&archive).len(), 1);
    std::fs::remove_file(ballast).unwrap();
    kit.shootout("run --resume").arg(&archive).run().exits(0);
    assert!(cells(&archive).len() >= 3);
    verifies(&archive);
}

#[test]
fn an_engine_that_is_lost_ends_the_run_and_the_next_one_clears_up_and_goes_on() {
    let _turn = turn();
    let kit = kit();
    kit.plan("some", "liar", "repetitions: 2");
    let archive = kit.path("results/some");
    let line = Line::to_the_engine(&kit.path("engine.sock"));
    let run = kit.shootout("run some --out").arg(&archive);
    let host = format!("unix://{}", kit.path("engine.sock").display());
    let mut run = run.env("DOCKER_HOST", host).start();
    let pid = run.pid();
    let start = Instant::now();
    while cells(&archive).is_empty() || containers_of(pid).len() < 2 {
        assert!(!run.has_ended() && start.elapsed() < Duration::from_secs(600));
        std::thread::sleep(Duration::from_millis(10));
    }
    line.cut();
    let run = run.wait().exits(3);
    let resume = format!("shootout run --resume {}", archive.display());
    run.says(&["sh docker/engine.sh", &resume]);
    kit.shootout("run --resume").arg(&archive).run().exits(0);
    assert_eq!(containers_of(pid).len(), 0);
    verifies(&archive);
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
