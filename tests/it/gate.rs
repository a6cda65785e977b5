//! `.ci/gate.sh`, the recipe for somebody's pipeline: a framework that became slower fails it.

use std::fs;

use crate::docker::turn;
use crate::kit::{Kit, kit};
use crate::program::{BINARY, Outcome, program, shootout};

/// Six pairs, the least that give a verdict, and only on what no machine takes for chance.
const PLAN: &str = "\
name: duel
kind: duel
adapters: [liar, liar@honest]
workloads: [ok]
rates_rps: [1000]
connections: 16
metrics: [cpu_us_per_request]
pairs: 6
smallest_effect: 0.2
phases: {baseline: 0.1, warm_up: {seconds: 0.5}, settle: 0.1, load: 2.5, recovery: 0.1}
limits: {target_cpus: 1}
retries: 9
publishable: false
";

#[test]
fn a_pipeline_fails_where_a_framework_became_slower_and_only_there() {
    let _turn = turn();
    let kit = kit();
    kit.write("workloads/plans/duel.yaml", PLAN);
    let first = gate(&kit, "first");
    if first.left_unmeasured() {
        return eprintln!("skipped: too busy a machine for six valid pairs");
    }
    first.exits(0).says(&["the baseline from now on"]);
    let compare = shootout().args("compare --fail-on slower");
    let compare = compare.arg(kit.path("results/baseline"));
    compare.arg(kit.path("results/first")).run().exits(0);
    becomes_slower(&kit);
    let second = gate(&kit, "second");
    if second.left_unmeasured() {
        return eprintln!("skipped: too busy a machine for six valid pairs");
    }
    second.exits(6).says(&[
        "slower in the second archive, and not in the first",
        "the verdicts that differ are above",
    ]);
}

#[test]
fn the_recipe_says_how_it_is_used() {
    let few = program("sh").args(".ci/gate.sh only two").run();
    few.exits(2).says(&["usage: "]);
}

fn gate(kit: &Kit, new: &str) -> Outcome {
    program("sh")
        .arg(".ci/gate.sh")
        .arg(kit.path("results/baseline"))
        .arg(kit.path("results").join(new))
        .args("liar liar@honest")
        .env("SHOOTOUT", BINARY)
        .env("KIT", kit.path("."))
        .run()
}

/// The first side of the two computes something for each request from now on.
fn becomes_slower(kit: &Kit) {
    let path = kit.path("adapters/liar/liar.pl");
    let code = fs::read_to_string(&path).unwrap();
    let begins = "sub serve {\n";
    assert!(code.contains(begins));
    let computes = "    unless (defined $ENV{LIE}) { my $sum = 0; $sum += $_ for 1 .. 20_000 }\n";
    fs::write(&path, code.replace(begins, &format!("{begins}{computes}"))).unwrap();
}
