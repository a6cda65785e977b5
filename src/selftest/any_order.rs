//! Property: whatever a server does in whatever order, the ledger balances and every slot has exactly
//! one outcome.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::cases::outcomes;
use super::rig::{self, Cpus};
use super::server::{Act, Behaviour};
use crate::draw::Draw;
use crate::load::clock::SECOND_NS;

const SCRIPTS: u64 = 200;
const AT_ONCE: u64 = 8;
const MS: u64 = 1_000_000;

/// How often each nonce was asked for, and how often it was answered rightly.
type Kept = Arc<Mutex<BTreeMap<Vec<u8>, (u64, u64)>>>;

/// Draws what is done about each request.
fn anything(seed: u64, kept: Kept) -> Behaviour {
    let mut draw = Draw::new("any order", seed);
    Box::new(move |request, script| {
        let nonce = request.nonce().to_vec();
        let right = [
            &b"HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n"[..],
            &nonce,
        ]
        .concat();
        let mut kept = kept.lock().unwrap();
        let (asked, answered) = kept.entry(nonce).or_default();
        *asked += 1;
        let piece = |bytes: &[u8]| Act::Send(bytes.to_vec().into());
        let cut = draw.below(right.len() as u64) as usize;
        match draw.below(14) {
            0 => script.push_back(piece(b"HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno")),
            1 => script.push_back(piece(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnone")),
            2 => script.push_back(Act::Close),
            3 => script.push_back(Act::Reset),
            4 => {}
            5 => {
                let garbage: Vec<u8> = (0..1 + draw.below(300))
                    .map(|_| draw.below(256) as u8)
                    .collect();
                script.push_back(piece(&garbage));
            }
            6 => script.extend([piece(&right[..cut]), Act::Close]),
            7 => script.extend([piece(&right[..cut]), Act::Pause(MS), Act::Reset]),
            8 => {
                // Right, if the rest comes late enough.
                *answered += 1;
                script.extend([piece(&right), piece(&right[..cut])]);
            }
            9 => script.extend([
                piece(b"HTTP/1.1 100 Continue\r\n\r\n"),
                Act::CloseIdle { fresh: true },
            ]),
            right_one => {
                *answered += 1;
                script.extend([
                    piece(&right[..cut]),
                    Act::Pause(draw.below(MS)),
                    piece(&right[cut..]),
                ]);
                match right_one {
                    10 => script.push_back(Act::Close),
                    11 => script.push_back(Act::CloseIdle { fresh: false }),
                    _ => {}
                }
            }
        }
    })
}

fn holds(seed: u64) {
    let kept = Kept::default();
    let mut spec = rig::spec(1000, 60);
    spec.variants = vec![rig::variant("GET", "{nonce}")];
    (spec.connections, spec.threads) = (4, 1 + (seed % 2) as u32);
    (spec.timeout_ns, spec.spin_ns, spec.seed) = (SECOND_NS / 20, 0, seed);
    let (outcome, _) =
        rig::against(Cpus::choose(), anything(seed, Arc::clone(&kept)), spec).unwrap();
    let (load, what) = (
        &outcome.load,
        outcomes(&outcome.load.ledger, &outcome.load.errors),
    );
    assert!(load.ledger.balances(), "seed {seed}: {what}");
    assert_eq!(load.ledger.scheduled, 60, "seed {seed}: {what}");
    assert_eq!(
        outcome.clocks.response.len(),
        load.ledger.completed,
        "seed {seed}: {what}"
    );
    assert_eq!(
        outcome.clocks.service.len(),
        load.ledger.completed,
        "seed {seed}: {what}"
    );
    let lost = load.ledger.wrong_response + load.ledger.timed_out + load.ledger.failed;
    assert!(
        load.errors.values().sum::<u64>() >= lost,
        "seed {seed}: {what}"
    );

    let kept = kept.lock().unwrap();
    assert!(kept.len() <= 60, "seed {seed}: more requests than slots");
    assert!(
        kept.values().all(|(asked, _)| *asked <= 2),
        "seed {seed}: sent again and again"
    );
    // At most: an answer may cross a timeout, and one that is asked for twice completes once.
    let answered = kept.values().filter(|(_, answered)| *answered > 0).count() as u64;
    assert!(
        load.ledger.completed <= answered,
        "seed {seed}: {what}, {answered} answered rightly"
    );
}

#[test]
fn the_ledger_balances_whatever_the_server_does_in_whatever_order() {
    std::thread::scope(|scope| {
        for first in 0..AT_ONCE {
            scope.spawn(move || (first..SCRIPTS).step_by(AT_ONCE as usize).for_each(holds));
        }
    });
}
