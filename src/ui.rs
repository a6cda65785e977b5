//! What a person sees while the program works: lines on stderr, and on a terminal one line that
//! changes in place. Nothing here goes to stdout.

use std::cell::RefCell;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Without a terminal a changing line is written out this often, so that a log shows life.
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
    on_line: bool,
    last_plain: Instant,
}

impl Ui {
    /// Says so much, in color where it is wanted.
    pub fn new(volume: Volume, color: bool) -> Self {
        let terminal = std::io::stderr().is_terminal() && std::env::var_os("CI").is_none();
        let state = RefCell::new(State {
            on_line: false,
            last_plain: Instant::now(),
        });
        Self {
            volume,
            terminal,
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

    /// What goes on just now; the next line takes its place.
    pub fn now(&self, text: &str) {
        if self.volume < Volume::Normal {
            return;
        }
        let mut state = self.state.borrow_mut();
        if self.terminal {
            let width = terminal_width().saturating_sub(1);
            let text: String = text
                .chars()
                .filter(|c| !c.is_control())
                .take(width)
                .collect();
            eprint!("\r\x1b[K{text}");
            let _ = std::io::stderr().flush();
            state.on_line = true;
        } else if state.last_plain.elapsed() >= PLAIN_EVERY {
            state.last_plain = Instant::now();
            eprintln!("  {text}");
        }
    }

    fn line(&self, volume: Volume, text: &str) {
        if self.volume < volume {
            return;
        }
        let mut state = self.state.borrow_mut();
        if std::mem::take(&mut state.on_line) {
            eprint!("\r\x1b[K");
        }
        state.last_plain = Instant::now();
        eprintln!("{text}");
    }
}

impl Drop for Ui {
    fn drop(&mut self) {
        if self.state.borrow().on_line {
            eprint!("\r\x1b[K");
        }
    }
}

fn terminal_width() -> usize {
    rustix::termios::tcgetwinsize(std::io::stderr()).map_or(80, |size| size.ws_col.max(20).into())
}
