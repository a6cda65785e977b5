//! Every way in which a command can end badly, a row each: the exit code, what was wrong and where, and what
//! to do next. Rows that need an engine, or a machine that is broken, are in `machine.rs` and `interrupted.rs`;
//! that no error is without advice is held beside [`shootout::error::Error`] itself.

use crate::kit::{Kit, kit};
use crate::program::{Outcome, program, shootout};

/// Nothing listens there.
const NO_ENGINE: &str = "unix:///nonexistent.sock";

/// What is typed, its exit code, what was wrong and where, what to do next. `KIT` is the kit's folder.
type Row = (&'static str, i32, &'static [&'static str], &'static str);

#[rustfmt::skip] // a row is a line
const ROWS: &[Row] = &[
    // 2: the command line
    ("", 2, &["Usage: shootout"], "--help"),
    ("runn smoke", 2, &["unrecognized subcommand 'runn'"], "similar subcommand exists: 'run'"),
    ("run", 2, &["required arguments were not provided", "<PLAN>"], "--help"),
    ("run smoke --raets 5", 2, &["unexpected argument '--raets'"], "'--rates'"),
    ("run smoke --load soon", 2, &["'soon'", "--load"], "500ms"),
    ("run one --target-cpus 1 --load-cpus 1", 2, &["plan one as overridden, load_cpus: CPUs 1 are the target's too"], "VERB --help"),
    ("completions tcsh", 2, &["'tcsh'"], "bash, zsh, fish"),
    ("report x --format pdf", 2, &["'pdf'"], "html"),
    ("load http://10.0.0.1/ --rate 1", 2, &["http://10.0.0.1/"], "a server on this machine"),
    ("load http://127.0.0.1:1/ --rate 1 -H x", 2, &["\"x\" is not a header"], "`Name: value`"),
    ("load http://127.0.0.1:1/ --rate 1 --threads 64", 2, &["64 threads for 32 connections"], "--connections"),
    ("load http://127.0.0.1:1/ --rate 1 --hlog KIT/SHA256SUMS", 2, &["SHA256SUMS exists"], "another name for --hlog"),
    // 2: the kit, and what people wrote in it
    ("--kit / list", 2, &["/ is not a kit"], "--kit DIR"),
    ("run nothing", 2, &["there is no plan `nothing`"], "there are: "),
    ("run smokes", 2, &["there is no plan `smokes`"], "did you mean `smoke`?"),
    ("run no/such.yaml", 2, &["there is no no/such.yaml"], "`shootout list`"),
    ("run KIT/binary.yaml", 2, &["binary.yaml is not UTF-8"], "save it as UTF-8"),
    ("run key", 2, &["key.yaml:11:1", "unknown field `rate_rps`"], "did you mean `rates_rps`?"),
    ("run value", 2, &["value.yaml:11:13", "a rate of 0"], "expected 1 to"),
    ("run nobody", 2, &["nobody.yaml:3:12", "no adapter `lair`"], "did you mean `liar`?"),
    ("run lair", 2, &["there is no plan `lair`"], "there are: "),
    ("check lair", 2, &["there is no adapter `lair`"], "did you mean `liar`?"),
    ("check liar -w okay", 2, &["there is no workload `okay`"], "there are: "),
    ("check typo", 2, &["adapters/typo/adapter.yaml:5:1", "unknown field `prot`"], "did you mean `port`?"),
    ("build nowhere", 2, &["nowhere is not built here: there is no compiler"], "`shootout list adapters`"),
    ("check liar -w broken", 2, &["workloads/broken/workload.yaml:1:1", "missing field"], "workloads/README.md"),
    ("run one --resume KIT", 2, &["holds no run that was begun"], "the interrupted run printed"),
    ("run --resume KIT/begun --load 5s", 2, &["no flag can change it"], "leave the flags out"),
    ("run other --resume KIT/begun", 2, &["is of the plan one, not of other"], "--resume needs no plan"),
    ("duel liar liar", 2, &["duel-liar-liar, adapters[1]: `liar` is listed twice"], "--help"),
    ("report KIT/nothing -o KIT/SHA256SUMS", 5, &["nothing: cannot read it"], "shootout verify"),
    // 3: this machine
    ("run one --target-cpus 4095 --load-cpus 0", 3, &["4095"], "CPU"),
    ("load http://127.0.0.1:1/ --rate 1 --cpus 999", 3, &["cannot run on CPUs [999]"], "has online"),
    ("check liar", 3, &["no Docker engine answers at", "/nonexistent.sock"], "sh docker/engine.sh"),
    ("build", 3, &["no Docker engine answers"], "sh docker/engine.sh"),
    ("run one", 3, &["no Docker engine answers"], "sh docker/engine.sh"),
    ("clean", 3, &["no Docker engine answers"], "sh docker/engine.sh"),
    ("doctor", 3, &["FAIL  engine"], "each line that says FAIL"),
    // 4: measured, but incomplete
    ("load http://127.0.0.1:1/ --rate 100 --duration 0.2s --warmup 0s", 4, &["the run is invalid"], "is the server up"),
    // 5: verification failed
    ("verify KIT/nothing", 5, &["nothing: NOT verified", "cannot read it"], "names the file"),
    ("verify KIT", 5, &["NOT verified"], "names the file"),
    ("verify KIT/SHA256SUMS", 5, &["NOT verified"], "names the file"),
    ("compare KIT/nothing KIT", 5, &["nothing: "], "`shootout verify`"),
    ("report KIT", 5, &["summary.json"], "`shootout verify`"),
];

#[test]
fn every_error_says_what_was_wrong_and_where_and_what_to_do_next() {
    let kit = broken();
    for (line, code, wrong, next) in ROWS {
        let line = line.replace("KIT", &kit.path("").display().to_string());
        let line = line.replace("//", "/").replace("http:/", "http://");
        let command = if line.starts_with("--kit") {
            shootout().args(&line)
        } else {
            kit.shootout(&line)
        };
        let run = command.env("DOCKER_HOST", NO_ENGINE).run();
        let run = run.exits(*code).says(wrong).says(&[next]);
        is_told_well(&run);
    }
}

/// One message on stderr, and advice below it.
#[track_caller]
fn is_told_well(run: &Outcome) {
    let told = run.stderr.split_once("error: ");
    let lines = told.map_or(run.stderr.as_str(), |(_, told)| told).trim();
    assert!(lines.lines().count() > 1, "no advice: {run}");
    assert!(!run.stderr.contains("panicked"), "{run}");
}

/// A kit in which something of each kind is wrong.
fn broken() -> Kit {
    let kit = kit();
    kit.plan("one", "liar", "");
    kit.plan("key", "liar", "rate_rps: [1]\nrates_rps: [1]");
    kit.plan("value", "liar", "rates_rps: [0]");
    kit.plan("nobody", "lair", "");
    let duel = "rates_rps: [500]\nmetrics: [cpu_us_per_request]\npairs: 6";
    kit.plan("duel", "liar, liar@honest", duel);
    let plan = kit.path("workloads/plans/duel.yaml");
    let text = std::fs::read_to_string(&plan).unwrap();
    let text = text
        .replace("kind: matrix", "kind: duel")
        .replace("repetitions: 1\n", "");
    std::fs::write(&plan, text).unwrap();
    let adapter = std::fs::read_to_string(kit.path("adapters/liar/adapter.yaml")).unwrap();
    kit.write(
        "adapters/typo/adapter.yaml",
        &adapter.replace("port:", "prot:"),
    );
    let not_built = format!("{adapter}not_built: there is no compiler\n");
    kit.write("adapters/nowhere/adapter.yaml", &not_built);
    kit.write("workloads/broken/workload.yaml", "title: x\nlevel: 4\n");
    let plan = std::fs::read_to_string(kit.path("workloads/plans/one.yaml")).unwrap();
    kit.write("begun/plan.yaml", &plan);
    std::fs::write(kit.path("binary.yaml"), [0xff, 0xfe, 0]).unwrap();
    kit
}

#[test]
fn what_is_interrupted_says_what_came_of_it() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", server.local_addr().unwrap());
    let line = format!("load {url} --rate 10 --duration 60s --warmup 0s --timeout 100ms");
    // `timeout` sends what Ctrl-C does, once the load has begun.
    let load = program("timeout")
        .args("--signal=INT 2")
        .arg(crate::program::BINARY);
    let run = load.args(&line).run();
    run.exits(124)
        .says(&["ended early, after", "the figures above"]);
}
