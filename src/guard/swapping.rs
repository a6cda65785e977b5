//! Swapping: the machine is short of memory, and a wait for a disk is in somebody's response.

use super::{Guard, Level, Seen, Sight, When};

/// A page now and then is housekeeping; this many, a MiB or more, are a shortage.
const PAGES: u64 = 256;

/// See the module.
pub const GUARD: Guard = Guard {
    id: "swapping",
    reads: "pages moved from and to swap",
    when: When::During,
    fires: Level::Fail,
    fix: "close other programs, and switch swap off while measuring: swapoff -a",
    judge,
};

fn judge(seen: &Seen) -> Sight {
    let moved = |pages: u64| {
        (pages > PAGES).then(|| format!("the machine moved {pages} pages from and to swap"))
    };
    Sight::of(seen.grown(|reading| reading.swapped_pages).map(moved))
}
