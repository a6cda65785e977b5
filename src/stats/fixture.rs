//! The cells of a duel for tests: valid sides whose figures all are alike until a test changes them.

use crate::record::schema::{Block, Cell, CellKey, MaskSeed, Paired, Window};

/// Slices of a pair, in nanoseconds: the short ones.
const SLICE_NS: u64 = 20_000_000;

/// Cells of pairs at 1,000/s on workload `w`, and how to add more.
#[derive(Clone, Default)]
pub struct Session {
    pub cells: Vec<Cell>,
    pairs: u32,
}

impl Session {
    /// So many pairs of these sides, and so many null ones of the last of them.
    pub fn new(sides: &[&str], pairs: u32, null: u32) -> Self {
        let mut session = Self::default();
        session.add("measure", sides, pairs);
        session.add("null", &vec![sides[sides.len() - 1]; sides.len()], null);
        session
    }

    pub fn add(&mut self, role: &str, sides: &[&str], count: u32) {
        for _ in 0..count {
            self.pairs += 1;
            let places = 0..sides.len();
            self.cells
                .extend(places.map(|place| side(role, self.pairs, sides, place)));
        }
    }

    /// Every cell of a role and a place, by their numbers from 0.
    pub fn each(&mut self, role: &str, place: usize, mut change: impl FnMut(usize, &mut Cell)) {
        let letter = letter(place);
        let of =
            |cell: &&mut Cell| cell.key.role == role && cell.key.side.as_ref() == Some(&letter);
        for (number, cell) in self.cells.iter_mut().filter(of).enumerate() {
            change(number, cell);
        }
    }
}

/// One side of a pair: 100 us of CPU a request, whatever the slices, in ten windows.
pub fn side(role: &str, pair: u32, sides: &[&str], place: usize) -> Cell {
    let mut cell = Cell {
        key: CellKey {
            adapter: sides[place].into(),
            workload: "w".into(),
            r#loop: "open".into(),
            rate_rps: Some(1000),
            connections: 32,
            repetition: pair,
            attempt: 1,
            role: role.into(),
            pair: Some(pair),
            side: Some(letter(place)),
            ..CellKey::default()
        },
        paired: Some(Paired {
            sides: sides.iter().map(|side| (*side).to_owned()).collect(),
            mask: MaskSeed {
                slice_ns: SLICE_NS,
                ..MaskSeed::default()
            },
            background_pct: Some(0.5),
            ..Paired::default()
        }),
        cpu_us_per_request: Some(100.0),
        main_thread_us_per_request: Some(90.0),
        ..Cell::default()
    };
    cell.load.valid = true;
    cell.load.ledger.scheduled = 10_000;
    cell.load.response_us.p50 = Some(200.0);
    cell.load.response_us.p99 = Some(900.0);
    cell.load.achieved_rps = Some(17_000.0);
    cell.windows = (0..10)
        .map(|window| Window {
            start_s: f64::from(window),
            completed: 1000,
            cpu_us: Some(100_000.0),
        })
        .collect();
    cell.blocks = (0..20)
        .map(|block| Block {
            start_s: f64::from(block) / 2.0,
            slice_ns: SLICE_NS * if block % 4 == 3 { 5 } else { 1 },
            completed: 500,
            cpu_us: Some(50_000.0),
            main_thread_us: Some(45_000.0),
        })
        .collect();
    cell
}

/// Multiplies all that is known of a side's CPU time.
pub fn scale_cpu(cell: &mut Cell, factor: f64) {
    let wholes = [
        &mut cell.cpu_us_per_request,
        &mut cell.main_thread_us_per_request,
    ];
    let windows = cell.windows.iter_mut().map(|window| &mut window.cpu_us);
    let blocks = cell
        .blocks
        .iter_mut()
        .flat_map(|block| [&mut block.cpu_us, &mut block.main_thread_us]);
    for figure in wholes.into_iter().chain(windows).chain(blocks) {
        *figure = figure.map(|value| value * factor);
    }
}

fn letter(place: usize) -> String {
    char::from(b'a' + place as u8).to_string()
}
