//! What a person sees while the program works: lines on stderr that stay, and on a terminal a few lines
//! below them that change in place. Nothing here goes to stdout.

mod screen;
mod view;

use std::cell::RefCell;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::load::Progress;
use crate::record::samples::Sample;
use screen::Block;
pub use screen::folded;
use view::Side;
pub use view::View;

/// Without a terminal what goes on is written out this often, so that a log shows life.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Volume {
    /// Warnings and errors only.
    Quiet,
    /// Steps too.
    Normal,
    /// And what the tools underneath say.
    Verbose,
}

/// The person at the other end.
pub struct Ui {
    volume: Volume,
    terminal: bool,
    color: bool,
    state: RefCell<State>,
}

struct State {
    view: Option<View>,
    block: Block,
    last_plain: Instant,
}

impl State {
    fn side(&mut self, index: usize) -> Option<&mut Side> {
        self.view.as_mut()?.sides.get_mut(index)
    }
}

impl Ui {
    /// Says so much, in color where it is wanted.
    pub fn new(volume: Volume, color: bool) -> Self {
        let set = |name| std::env::var_os(name).is_some();
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let state = RefCell::new(State {
            view: None,
            block: Block::default(),
            last_plain: Instant::now(),
        });
        Self {
            volume,
            terminal: std::io::stderr().is_terminal() && !set("CI") && !dumb,
            color,
            state,
        }
    }

    /// Whether what is printed may be coloured.
    pub fn color(&self) -> bool {
        self.color
    }

    /// Whether everything is to be shown.
    pub fn is_verbose(&self) -> bool {
        self.volume == Volume::Verbose
    }

    /// A step that stays on the screen.
    pub fn step(&self, text: &str) {
        self.line(Volume::Normal, text);
    }

    /// Something that only the curious want to see.
    pub fn detail(&self, text: &str) {
        self.line(Volume::Verbose, text);
    }

    /// Something that should not be missed.
    pub fn warn(&self, text: &str) {
        let text = if self.color {
            format!("\x1b[33mwarning:\x1b[0m {text}")
        } else {
            format!("warning: {text}")
        };
        self.line(Volume::Quiet, &text);
    }

    /// From here on this is shown, until it is over.
    pub fn begin(&self, view: View) {
        self.state.borrow_mut().view = Some(view);
    }

    /// What was begun is over, or broke off: nothing of it is left on the screen.
    pub fn over(&self) {
        let mut state = self.state.borrow_mut();
        state.view = None;
        write(&state.block.clear(columns()));
    }

    /// What goes on just now; nobody knows for how long.
    pub fn now(&self, text: &str) {
        self.phase(text, None);
    }

    /// A phase begins, that lasts so long where that is known.
    pub fn phase(&self, phase: &str, length: Option<Duration>) {
        let mut state = self.state.borrow_mut();
        let begun = state.view.take();
        let is_begun = begun.is_some();
        let mut view = begun.unwrap_or_else(|| View::new(0, 0, None, vec![]));
        view.enter(phase, length, Instant::now());
        self.draw(&mut state, &view);
        state.view = is_begun.then_some(view);
    }

    /// What a side's generator tells; shown with the next [`Ui::refresh`]. `share` is the share of the
    /// clock that is the side's own.
    pub fn hear(&self, side: usize, progress: Progress, share: f64) {
        if let Some(side) = self.state.borrow_mut().side(side) {
            side.hear(progress, share);
        }
    }

    /// What was read of a side's target; shown with the next [`Ui::refresh`].
    pub fn sample(&self, side: usize, row: &Sample) {
        if let Some(side) = self.state.borrow_mut().side(side) {
            side.sample(row);
        }
    }

    /// Shows it as it is now. It is up to the caller how often: whoever measures does so at most four
    /// times a second.
    pub fn refresh(&self) {
        let mut state = self.state.borrow_mut();
        if let Some(view) = state.view.take() {
            self.draw(&mut state, &view);
            state.view = Some(view);
        }
    }

    fn draw(&self, state: &mut State, view: &View) {
        if self.volume < Volume::Normal {
            return;
        }
        let now = Instant::now();
        if self.terminal {
            // A cursor in the last column would wrap, one in the last row scroll.
            let (columns, rows) = size(std::io::stderr());
            let lines = view.lines(now, columns - 1, rows - 1);
            write(&state.block.replace(&lines, columns));
        } else if state.last_plain.elapsed() >= PLAIN_EVERY {
            state.last_plain = now;
            write(&format!("  {}\n", view.line(now)));
        }
    }

    fn line(&self, volume: Volume, text: &str) {
        if self.volume < volume {
            return;
        }
        let mut state = self.state.borrow_mut();
        state.last_plain = Instant::now();
        let text = if self.terminal {
            state.block.clear(columns()) + &folded(text, columns())
        } else {
            text.to_owned()
        };
        write(&format!("{text}\n"));
    }
}

impl Drop for Ui {
    fn drop(&mut self) {
        self.over();
    }
}

/// In one piece; nobody can be told that stderr is gone.
fn write(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn columns() -> usize {
    size(std::io::stderr()).0
}

/// A terminal's columns and rows; 80 and 24 where nobody told it.
pub fn size(terminal: impl std::os::fd::AsFd) -> (usize, usize) {
    match rustix::termios::tcgetwinsize(terminal) {
        Ok(size) if size.ws_col >= 20 && size.ws_row >= 2 => {
            (size.ws_col.into(), size.ws_row.into())
        }
        _ => (80, 24),
    }
}
