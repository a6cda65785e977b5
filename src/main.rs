//! Parses the command line, hands over to the verb, and ends with the exit code that it gives.

use std::process::ExitCode;

use clap::Parser;

use shootout::cli::Cli;
use shootout::cmd;

fn main() -> ExitCode {
    match cmd::dispatch(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let exit = error.exit;
            eprintln!("error: {}", error.advised());
            ExitCode::from(exit as u8)
        }
    }
}
