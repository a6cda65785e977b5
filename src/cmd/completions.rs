//! `completions`: what a shell completes after `shootout`.

use clap::{Command, CommandFactory};
use clap_complete::{aot, generate};

use super::print;
use crate::cli::{Cli, Shell};
use crate::error::{Error, Result};

/// Prints the script that teaches a shell this program's verbs and flags.
pub fn completions(shell: Shell) -> Result<()> {
    let mut command = visible(&Cli::command());
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    match shell {
        Shell::Bash => generate(aot::Bash, &mut command, name, &mut script),
        Shell::Zsh => generate(aot::Zsh, &mut command, name, &mut script),
        Shell::Fish => generate(aot::Fish, &mut command, name, &mut script),
    }
    let script = String::from_utf8(script);
    print(&script.map_err(|e| Error::unexpected(format!("the script is no text: {e}")))?)
}

/// The same command without its hidden verbs, which clap_complete would offer too.
fn visible(command: &Command) -> Command {
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    Command::new(env!("CARGO_PKG_NAME"))
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .args(command.get_arguments())
        .subcommands(verbs)
}
