//! Two runs at the same time leave each other's containers alone.

use crate::docker::turn;
use crate::kit::{kit, verifies};

#[test]
fn two_runs_and_a_check_at_once_all_end_well() {
    let _turn = turn();
    let kit = kit();
    kit.plan(
        "pair",
        "liar",
        "repetitions: 2\nrates_rps: [250]\nretries: 40",
    );
    let archives = ["first", "second"].map(|name| kit.path(&format!("results/{name}")));
    let runs = archives
        .each_ref()
        .map(|archive| kit.shootout("run pair --out").arg(archive).start());
    // Each of these sweeps twice while the runs' containers are there.
    for _ in 0..4 {
        kit.shootout("check liar -w ok").run().exits(0);
    }
    for run in runs {
        run.wait().exits_measured();
    }
    for archive in archives {
        verifies(&archive);
    }
}
