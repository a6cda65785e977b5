//! Adding an adapter touches its own folder only.

use crate::docker::turn;
use crate::kit::{document, kit, verifies};

#[test]
fn a_new_folder_is_listed_built_checked_and_run_and_not_for_publication() {
    let _turn = turn();
    let kit = kit();
    let text = std::fs::read_to_string(kit.path("adapters/liar/adapter.yaml")).unwrap();
    kit.write(
        "adapters/newcomer/adapter.yaml",
        &text.replace("Liar", "Newcomer"),
    );
    for file in ["Dockerfile", "liar.pl"] {
        let from = kit.path("adapters/liar").join(file);
        std::fs::copy(from, kit.path("adapters/newcomer").join(file)).unwrap();
    }
    let listed = kit.shootout("list adapters --json").run().exits(0).json();
    let newcomer = &listed[1];
    assert_eq!(newcomer["name"], "newcomer");
    assert_eq!(newcomer["kind"], "adapter");
    assert_eq!(newcomer["language"], "Perl");
    assert_eq!(newcomer["workloads"], serde_json::json!(["ok", "hello"]));
    assert_eq!(
        (&newcomer["state"], &newcomer["reason"]),
        (&"ready".into(), &().into())
    );

    let built = kit.shootout("build newcomer --json").run().exits(0).json();
    let is_new = |image: &serde_json::Value| image["source"] == "adapters/newcomer";
    assert!(built.as_array().unwrap().iter().any(is_new), "{built}");
    kit.shootout("check newcomer").run().exits(0);

    // All that a plan needs for publication, but for its length and the sources.
    kit.plan("new", "newcomer", "publishable: true");
    let archive = kit.path("results/new");
    kit.shootout("run new --out")
        .arg(&archive)
        .run()
        .exits_measured();
    verifies(&archive);
    let summary = document(&archive, "summary.json");
    assert_eq!(summary["publishable"], false);
    let reasons = summary["unpublishable_reasons"].to_string();
    assert!(
        reasons.contains("sources differ from SHA256SUMS: adapters/newcomer/"),
        "{reasons}"
    );
    let environment = document(&archive, "environment.json");
    assert_eq!(environment["sources"], "modified");
    let modified = environment["modified"].as_array().unwrap();
    assert!(
        modified
            .iter()
            .all(|path| path.as_str().unwrap().starts_with("adapters/newcomer/"))
    );
}

#[test]
fn a_recipe_that_does_not_build_is_told_with_its_last_lines_and_hides_no_other() {
    let _turn = turn();
    let kit = kit();
    let text = std::fs::read_to_string(kit.path("adapters/liar/adapter.yaml")).unwrap();
    kit.write("adapters/broken/adapter.yaml", &text);
    let recipe =
        "FROM shootout/run\nLABEL shootout.image=adapter\nRUN echo the last line; exit 9\n";
    kit.write("adapters/broken/Dockerfile", recipe);
    let build = kit.shootout("build").run().exits(4);
    let told = [
        "adapters/broken could not be built",
        "the last line",
        "shootout build broken -v",
        "1 of 2",
    ];
    build.says(&told);
    kit.plan("both", "broken, liar", "");
    let archive = kit.path("results/both");
    let run = kit.shootout("run both --out").arg(&archive).run().exits(4);
    run.says(&["adapters/broken could not be built", "the last line"]);
    assert!(!archive.exists(), "nothing was begun");
    let run = kit
        .shootout("run both --keep-going --out")
        .arg(&archive)
        .run()
        .exits(4);
    run.says(&["adapters/broken could not be built"]);
    verifies(&archive);
    let summary = document(&archive, "summary.json");
    assert_eq!(summary["holes"].as_array().unwrap().len(), 1);
    assert_eq!(summary["holes"][0]["adapter"], "broken");
    assert_eq!(summary["groups"][0]["adapter"], "liar");
}
