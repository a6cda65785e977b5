//! One short file per verb.

use std::io::IsTerminal;

use crate::awake;
use crate::cli::{Cli, Color, Common, Verb};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::plan::Kit;
use crate::sample::Roots;
use crate::sample::host::Host;
use crate::ui::{self, Ui, Volume};

mod attempts;
mod build;
mod check;
mod clean;
mod compare;
mod completions;
mod doctor;
mod documents;
mod interrupts;
mod job;
mod list;
mod load;
mod report;
mod reproduce;
mod run;
mod selftest;
mod units;
mod unpacked;
mod verify;

/// What every verb is given.
pub struct Context {
    ui: Ui,
    json: bool,
    kit: Option<std::path::PathBuf>,
}

impl Context {
    fn kit(&self) -> Result<Kit> {
        Kit::find(self.kit.as_deref())
    }
}

/// Runs a verb.
pub fn dispatch(cli: Cli) -> Result<()> {
    let context = context(cli.common);
    match cli.verb {
        Verb::Doctor => doctor::doctor(&context),
        Verb::List { what } => list::list(&context, what),
        Verb::Build { adapters } => build::build(&context, &adapters),
        Verb::Check(check) => check::check(&context, &check),
        Verb::Demo(run) => run::run(&context, Some("demo"), &run, None),
        Verb::Run { plan, run, resume } => {
            run::run(&context, plan.as_deref(), &run, resume.as_deref())
        }
        Verb::Duel(duel) => run::duel(&context, &duel),
        Verb::Sustain(sustain) => run::sustain(&context, &sustain),
        Verb::Load(load) => load::load(&context, &load),
        Verb::Selftest => selftest::selftest(&context),
        Verb::Verify(verify) => verify::verify(&context, &verify),
        Verb::Reproduce(asked) => reproduce::reproduce(&context, &asked),
        Verb::Compare(compare) => compare::compare(&context, &compare),
        Verb::Report(report) => report::report(&context, &report),
        Verb::Clean { dry_run } => clean::clean(&context, dry_run),
        Verb::Completions { shell } => completions::completions(shell),
        Verb::Agent => crate::agent::serve(),
        Verb::Upstream => crate::upstream::serve(),
    }
}

fn context(common: Common) -> Context {
    let volume = match (common.quiet, common.verbose) {
        (true, _) => Volume::Quiet,
        (_, true) => Volume::Verbose,
        _ => Volume::Normal,
    };
    let color = match common.color {
        Color::Always => true,
        Color::Never => false,
        // https://no-color.org: any value that is not empty.
        Color::Auto => {
            std::io::stdout().is_terminal()
                && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        }
    };
    Context {
        ui: Ui::new(volume, color),
        json: common.json,
        kit: common.kit,
    }
}

/// The machine as whatever measures has it: with CPUs that are kept awake, where that is allowed.
fn machine() -> Host {
    awake::keep();
    Host::read(&Roots::default())
}

/// Prints a document for scripts.
fn print_json(document: &impl serde::Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(document)
        .map_err(|e| Error::unexpected(format!("cannot write JSON: {e}")))?;
    print(&format!("{text}\n"))
}

/// Prints to stdout; a reader that went away (`| head`) is no failure.
fn print(text: &str) -> Result<()> {
    use std::io::{ErrorKind, Write};
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Error::io("write", std::path::Path::new("stdout"), &error)),
    }
}

/// Prints lines for people: on a terminal they are wrapped between words.
fn print_folded(text: &str) -> Result<()> {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        return print(text);
    }
    let (columns, _) = ui::size(&stdout);
    print(&format!("{}\n", ui::folded(text, columns)))
}

/// The engine, with what earlier runs left in it cleared away.
async fn swept_engine() -> Result<Engine> {
    let engine = Engine::connect().await?;
    engine.sweep().await?;
    Ok(engine)
}
