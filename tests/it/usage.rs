//! What users wrote is wrong: exit 2, where, and what was expected. None of it needs an engine.

use crate::kit::kit;
use crate::program::shootout;

/// Nothing listens there: whatever would need an engine exits with 3.
const NO_ENGINE: &str = "unix:///nonexistent.sock";

#[test]
fn a_plan_that_is_wrong_is_refused_with_file_line_and_what_was_expected() {
    let kit = kit();
    for (changes, place, what) in [
        (
            "rate_rps: [1]",
            "wrong.yaml:12:1",
            "unknown field `rate_rps`",
        ),
        (
            "rates_rps: [0]",
            "wrong.yaml:11:13",
            "a rate of 0: expected 1 to",
        ),
        (
            "seed: 1\nseed: 2",
            "wrong.yaml:13:1",
            "duplicate key `seed`",
        ),
        ("workloads: [okk]", "wrong.yaml:11:13", "did you mean `ok`?"),
        (
            "order: sorted",
            "wrong.yaml:12:8",
            "unknown variant `sorted`",
        ),
    ] {
        kit.plan("wrong", "liar", changes);
        let run = kit.shootout("run wrong").env("DOCKER_HOST", NO_ENGINE);
        run.run().exits(2).says(&[place, what]);
    }
    kit.plan("wrong", "lair, liar@nobody", "");
    let run = kit.shootout("run wrong").run().exits(2);
    run.says(&[
        "wrong.yaml:3:12",
        "no adapter `lair`",
        "did you mean `liar`?",
    ]);
    kit.plan("wrong", "liar@nobody", "");
    let run = kit.shootout("run wrong").run().exits(2);
    run.says(&["no label `nobody`", "body"]);
}

#[test]
fn names_that_do_not_exist_are_answered_with_those_that_do() {
    let kit = kit();
    for (line, told) in [
        ("check lair", "did you mean `liar`?"),
        ("check liar@stauts", "did you mean `status`?"),
        ("check liar -w okk", "did you mean `ok`?"),
        ("build lair", "did you mean `liar`?"),
        ("run smok", "did you mean `smoke`?"),
        ("run none/such.yaml", "there is no none/such.yaml"),
        ("run --resume none", "holds no run that was begun"),
    ] {
        let run = kit.shootout(line).env("DOCKER_HOST", NO_ENGINE);
        run.run().exits(2).says(&[told]);
    }
    shootout()
        .args("--kit / list")
        .run()
        .exits(2)
        .says(&["not a kit"]);
}

#[test]
fn an_adapter_that_is_wrong_is_refused_with_file_and_line_and_hides_no_other() {
    let kit = kit();
    let text = std::fs::read_to_string(kit.path("adapters/liar/adapter.yaml")).unwrap();
    kit.write(
        "adapters/typo/adapter.yaml",
        &text.replace("port:", "prot:"),
    );
    let check = kit.shootout("check typo").env("DOCKER_HOST", NO_ENGINE);
    let what = ["adapters/typo/adapter.yaml:5:1", "unknown field `prot`"];
    check.run().exits(2).says(&what);
    let listed = kit.shootout("list adapters --json").run().exits(0).json();
    assert_eq!(listed[0]["state"], "ready");
    assert_eq!(listed[1]["state"], "not built");
    assert!(listed[1]["reason"].as_str().unwrap().contains("prot"));
}

#[test]
fn a_run_that_was_begun_is_changed_by_no_flag() {
    let kit = kit();
    kit.plan("one", "liar", "");
    let plan = std::fs::read_to_string(kit.path("workloads/plans/one.yaml")).unwrap();
    kit.write("begun/plan.yaml", &plan);
    let run = kit
        .shootout("run --load 5s --resume")
        .arg(kit.path("begun"));
    run.run().exits(2).says(&["no flag can change it"]);
    let run = kit.shootout("run other --resume").arg(kit.path("begun"));
    run.run().exits(2).says(&["is of the plan one"]);
}

#[test]
fn a_flag_that_makes_no_sense_is_refused() {
    let kit = kit();
    kit.plan("one", "liar", "");
    for flags in [
        "--rates 0",
        "--load soon",
        "--adapters nobody",
        "--target-cpus x",
        "--what",
    ] {
        let run = kit.shootout(&format!("run one {flags}"));
        run.env("DOCKER_HOST", NO_ENGINE).run().exits(2);
    }
}

#[test]
fn a_search_that_makes_no_sense_is_refused() {
    let kit = kit();
    let plan = "name: sustain\nkind: sustain\nadapters: [liar]\nworkloads: [ok]\n\
                ladder: {from: 1000, to: 4000}\nconnections: 8\nphases: {load: 2}\nlimits: {target_cpus: 1}\n";
    kit.write("workloads/plans/sustain.yaml", plan);
    for (line, said) in [
        ("sustain", "required"),
        ("sustain liar liar", "`liar` is listed twice"),
        ("sustain lair", "did you mean `liar`?"),
        ("sustain liar@stauts", "did you mean `status`?"),
        ("sustain liar -w okk", "did you mean `ok`?"),
        (
            "sustain liar --p99 0ms",
            "p99_ms 0: expected milliseconds above 0",
        ),
        ("sustain liar --p99 soon", "not a length of time"),
        ("sustain liar --to 500", "expected a rate above 1000"),
        ("sustain liar --trials 2", "expected an odd number"),
        ("sustain liar --load 0.5s", "a p99 needs 1000 slots"),
    ] {
        let run = kit.shootout(line).env("DOCKER_HOST", NO_ENGINE);
        run.run().exits(2).says(&[said]);
    }
    let dry = kit.shootout("sustain liar@honest --p99 25ms --to 2000 --dry-run");
    let dry = dry.env("DOCKER_HOST", NO_ENGINE).run().exits(0);
    dry.says(&[
        "plan sustain-liar-honest: 1 search among",
        "1000/s to 2000/s (",
    ]);
}

#[test]
fn a_duel_that_makes_no_sense_is_refused() {
    let kit = kit();
    let plan = "name: duel\nkind: duel\nadapters: [liar, liar@status]\nworkloads: [ok]\n\
        rates_rps: [500]\nconnections: 8\nmetrics: [cpu_us_per_request]\npairs: 6\n\
        limits: {target_cpus: 1}\n";
    kit.write("workloads/plans/duel.yaml", plan);
    for (line, told) in [
        ("duel liar", "2 values required"),
        ("duel liar liar", "`liar` is listed twice"),
        ("duel lair liar", "did you mean `liar`?"),
        ("duel liar liar@stauts", "did you mean `status`?"),
        ("duel liar liar@status -w okk", "did you mean `ok`?"),
        (
            "duel liar liar@status -w ok --levels",
            "cannot be used with",
        ),
        ("duel liar liar@status --levels", "names no `levels`"),
        ("duel liar liar@status --rate 0", "a rate of 0"),
        ("duel liar liar@status --pairs 0", "pairs 0: expected 1 to"),
        (
            "duel liar liar@status --reference nobody",
            "`nobody` is none of the plan's adapters",
        ),
        (
            "duel liar liar@status --repetitions 3",
            "`repetitions` has no meaning in a plan",
        ),
    ] {
        let run = kit.shootout(line).env("DOCKER_HOST", NO_ENGINE);
        run.run().exits(2).says(&[told]);
    }
    let run = kit.shootout("duel liar@status liar --pairs 3 --dry-run");
    let run = run.env("DOCKER_HOST", NO_ENGINE).run().exits(0);
    run.says(&[
        "plan duel-liar-status-liar: 3 units of 6 cells",
        "overridden  pairs: 6 -> 3",
        "pairs: 3, and with fewer than 6 no verdict can come",
        "pair 3  a liar@status, b liar",
    ]);
}
