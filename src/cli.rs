//! The command line: what people type, parsed. What the words mean is in INTERFACE's terms.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::load::Arrivals;
use crate::plan::Overrides;
use crate::plan::contender::Contender;
use crate::plan::cpus::CpuList;
use crate::plan::span::Span;
use crate::stats::gate::Gate;

mod examples;

/// Compares web frameworks honestly: equal work proven, open-loop load, archives anyone can recompute.
#[derive(Parser)]
#[command(version, long_version = BUILD, about, after_help = EXIT_CODES, disable_help_subcommand = true)]
pub struct Cli {
    #[command(flatten)]
    /// What every verb takes.
    pub common: Common,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

const EXIT_CODES: &str = "\
Exit codes:
  0 done, and all that was asked holds      4 measured, but incomplete
  1 an unexpected failure                   5 verification failed
  2 command line, plan, adapter is wrong    6 a gate does not hold
  3 this machine cannot do it               130 interrupted";

/// What `--version` says; `-V` says its first line.
const BUILD: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\ncommit   ",
    env!("SHOOTOUT_COMMIT"),
    "\nrustc    ",
    env!("SHOOTOUT_RUSTC"),
    "\ntarget   ",
    env!("SHOOTOUT_TARGET"),
    "\nprofile  ",
    env!("SHOOTOUT_PROFILE"),
);

/// Flags of every verb.
#[derive(Args)]
pub struct Common {
    /// Only warnings and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Also what the tools underneath say
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// When to use colors (NO_COLOR is respected)
    #[arg(
        long,
        global = true,
        value_enum,
        default_value = "auto",
        value_name = "WHEN"
    )]
    pub color: Color,
    /// The folder with adapters, workloads and docker; else the nearest one above the current folder
    #[arg(long, global = true, value_name = "DIR")]
    pub kit: Option<PathBuf>,
    /// One JSON document on stdout, nothing else there
    #[arg(long, global = true)]
    pub json: bool,
}

/// When to use colors.
#[derive(Clone, Copy, ValueEnum)]
#[allow(missing_docs)]
pub enum Color {
    Auto,
    Always,
    Never,
}

/// The verbs.
#[derive(Subcommand)]
pub enum Verb {
    /// What this machine can and cannot measure, and what to do about it
    #[command(after_help = examples::DOCTOR)]
    Doctor,
    /// What adapters, workloads and plans there are
    #[command(after_help = examples::LIST)]
    List {
        /// Only these
        #[arg(value_enum)]
        what: Option<Listed>,
    },
    /// Build images, without measuring anything
    #[command(after_help = examples::BUILD)]
    Build {
        /// Adapters; all that can be built here by default
        adapters: Vec<String>,
    },
    /// Prove adapters by the parity matrix, without load: seconds
    #[command(after_help = examples::CHECK)]
    Check(Check),
    /// A small honest comparison, from nothing to a verified archive
    #[command(after_help = examples::DEMO)]
    Demo(Run),
    /// Run a plan
    #[command(after_help = examples::RUN)]
    Run {
        /// A name in workloads/plans, or a path
        #[arg(required_unless_present = "resume")]
        plan: Option<String>,
        #[command(flatten)]
        /// How.
        run: Run,
        /// Go on with an unfinished archive
        #[arg(long, value_name = "DIR", conflicts_with = "out")]
        resume: Option<PathBuf>,
    },
    /// Is A faster than B: the others of the sides judged against the last, in interleaved pairs
    #[command(after_help = examples::DUEL)]
    Duel(Duel),
    /// The highest rate that keeps p99 under a bound, for each of these targets
    #[command(after_help = examples::SUSTAIN)]
    Sustain(Sustain),
    /// The load engine alone, against a server on this machine
    #[command(after_help = examples::LOAD)]
    Load(Load),
    /// Is the instrument true here: hostile servers, known latency laws, its own ceiling
    #[command(after_help = examples::SELFTEST)]
    Selftest,
    /// Recompute everything in archives, offline
    #[command(after_help = examples::VERIFY)]
    Verify(Verify),
    /// Run an archive's plan again from its own sources, or a plan that others published figures of: which
    /// ratios and verdicts hold here
    #[command(after_help = examples::REPRODUCE)]
    Reproduce(Reproduce),
    /// Two archives: their machines, ratio by ratio, verdict by verdict
    #[command(after_help = examples::COMPARE)]
    Compare(Compare),
    /// Print an archive
    #[command(after_help = examples::REPORT)]
    Report(Report),
    /// Remove what this kit's labels mark, and nothing else
    #[command(after_help = examples::CLEAN)]
    Clean {
        /// Only say what would be removed
        #[arg(long)]
        dry_run: bool,
    },
    /// What a shell completes after `shootout`: a script for it
    #[command(after_help = examples::COMPLETIONS)]
    Completions {
        /// Which shell
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Inside a cell: what the runner tells it, over stdin and stdout
    #[command(hide = true)]
    Agent,
    /// Inside a cell: the service that targets of the workload `upstream` call
    #[command(hide = true)]
    Upstream,
}

/// Shells that can complete.
#[derive(Clone, Copy, ValueEnum)]
#[allow(missing_docs)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// What can be listed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum Listed {
    Adapters,
    Workloads,
    Plans,
}

/// `check`
#[derive(Args)]
pub struct Check {
    /// Adapters, or variants as NAME@LABEL; all that can be built here by default
    pub adapters: Vec<Contender>,
    /// Only these workloads
    #[arg(short, long, value_name = "WORKLOAD", value_delimiter = ',')]
    pub workloads: Vec<String>,
}

/// `run`, `demo`, `duel`, `sustain` and `reproduce`
#[derive(Args, Clone)]
#[group(skip)]
pub struct Run {
    #[command(flatten)]
    /// What of the plan is changed.
    pub overrides: Overrides,
    /// Where the archive goes; by default a new folder below results/
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Only print the cells in their order, how long they take, and how much disk
    #[arg(long)]
    pub dry_run: bool,
    /// Go on after a build or parity failure; its cells become holes
    #[arg(long)]
    pub keep_going: bool,
    /// Exit 6 unless this holds for the median of every adapter at every load: 'p99_ms < 10',
    /// 'coverage >= 0.99'; may be given several times
    #[arg(long, value_name = "EXPR")]
    pub gate: Vec<Gate>,
}

/// `duel`
#[derive(Args)]
pub struct Duel {
    /// Adapters, or variants as NAME@LABEL; the last is the reference
    #[arg(required = true, num_args = 2.., value_name = "ADAPTER")]
    pub sides: Vec<Contender>,
    /// At what; by default what the plan `duel` says
    #[arg(
        short,
        long = "workload",
        value_name = "WORKLOAD",
        value_delimiter = ','
    )]
    pub workload: Vec<String>,
    /// Requests per second of each side, in its own slices
    #[arg(long, value_name = "RPS")]
    pub rate: Option<u64>,
    /// The same work at each level of equity: bare, and with equal service
    #[arg(long, conflicts_with = "workload")]
    pub levels: bool,
    #[command(flatten)]
    /// How.
    pub run: Run,
}

/// `sustain`
#[derive(Args)]
pub struct Sustain {
    /// Adapters, or variants as NAME@LABEL
    #[arg(required = true, value_name = "ADAPTER")]
    pub targets: Vec<Contender>,
    /// At what; by default what the plan `sustain` says
    #[arg(
        short,
        long = "workload",
        value_name = "WORKLOAD",
        value_delimiter = ','
    )]
    pub workload: Vec<String>,
    /// The response p99 that a held rate keeps, as in 10ms
    #[arg(long, value_name = "TIME")]
    pub p99: Option<Span>,
    /// The lowest rate that is tried
    #[arg(long, value_name = "RPS")]
    pub from: Option<u64>,
    /// The highest
    #[arg(long, value_name = "RPS")]
    pub to: Option<u64>,
    #[command(flatten)]
    /// How.
    pub run: Run,
}

/// `load`
#[derive(Args)]
pub struct Load {
    /// http://127.0.0.1:PORT/PATH; `{nonce}` becomes 16 new hexadecimal digits in every request
    pub url: String,
    /// Requests per second, at the times of a schedule whatever the server does
    #[arg(long, value_name = "RPS", required_unless_present = "closed", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub rate: Option<u64>,
    /// Closed loop instead: each connection sends as soon as it is free (what a server can do, not
    /// what its users wait)
    #[arg(long, requires = "requests", conflicts_with_all = ["rate", "arrivals"])]
    pub closed: bool,
    /// How many requests the closed loop sends
    #[arg(long, value_name = "N", requires = "closed", value_parser = clap::value_parser!(u64).range(1..))]
    pub requests: Option<u64>,
    /// Also show the closed loop's response times corrected for coordinated omission, after the fact
    #[arg(long, requires = "closed")]
    pub correct_omission: bool,
    /// How the schedule's requests are laid
    #[arg(long, value_name = "HOW", value_enum, default_value = "uniform")]
    pub arrivals: Arrivals,
    /// How long: floor(rate x duration) requests; for a closed loop at most so long [default: 10s]
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Span>,
    /// Load before it that is not counted
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub warmup: Span,
    /// Connections at most
    #[arg(long, value_name = "N", default_value = "32", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub connections: u32,
    /// Threads that share the schedule and the connections
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: u32,
    /// Seed of the nonces and of Poisson arrivals
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// The longest wait for a response
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub timeout: Span,
    /// The method
    #[arg(long, default_value = "GET")]
    pub method: String,
    /// A header, `Name: value`; may be given several times
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub headers: Vec<String>,
    /// The body
    #[arg(long, value_name = "TEXT")]
    pub body: Option<String>,
    /// The status that is right
    #[arg(long, value_name = "STATUS", default_value = "200", value_parser = clap::value_parser!(u16).range(200..=599))]
    pub expect_status: u16,
    /// The body that is right; any by default
    #[arg(long, value_name = "TEXT")]
    pub expect_body: Option<String>,
    /// CPUs of the generator, as in 0-1,3
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<CpuList>,
    /// How long to spin before a request and after it, instead of sleeping
    #[arg(long, value_name = "TIME", default_value = "60us")]
    pub spin: Span,
    /// Where the HdrHistogram log goes; never overwritten
    #[arg(long, value_name = "FILE")]
    pub hlog: Option<PathBuf>,
}

/// `verify`
#[derive(Args)]
pub struct Verify {
    /// Folders or tars
    #[arg(required = true)]
    pub archives: Vec<PathBuf>,
    /// Short archives are fine
    #[arg(long)]
    pub allow_smoke: bool,
    /// The id that the archive must have
    #[arg(long, value_name = "SHA256")]
    pub id: Option<String>,
}

/// `reproduce`
#[derive(Args)]
pub struct Reproduce {
    /// A folder or a tar; or the name of a table in workloads/plans/published
    #[arg(value_name = "ARCHIVE")]
    pub what: String,
    #[command(flatten)]
    /// How.
    pub run: Run,
    /// Go on with a reproduction that was interrupted
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    pub resume: Option<PathBuf>,
    /// Measure nothing: judge by this archive, which is there already
    #[arg(long, value_name = "ARCHIVE", conflicts_with_all = ["resume", "out"])]
    pub against: Option<PathBuf>,
    /// Exit 6 where something is not reproduced; and where nothing can be judged
    #[arg(long, value_enum, value_name = "ANSWER")]
    pub fail_on: Option<FailOnAnswer>,
}

/// Answers that a gate can refuse.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum FailOnAnswer {
    NotReproduced,
}

/// `compare`
#[derive(Args)]
pub struct Compare {
    /// A folder or a tar
    pub first: PathBuf,
    /// Another one, later as a rule
    pub second: PathBuf,
    /// Exit 6 where a comparison of both has this verdict in the second archive, and had another in
    /// the first; and where they have no comparison in common
    #[arg(long, value_enum, value_name = "VERDICT")]
    pub fail_on: Option<FailOn>,
}

/// Verdicts that a gate can refuse.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum FailOn {
    Slower,
}

/// `report`
#[derive(Args)]
pub struct Report {
    /// A folder or a tar
    pub archive: PathBuf,
    /// In which form
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Where it goes; never overwritten
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Forms of a report.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum Format {
    Terminal,
    Md,
    Csv,
    Json,
    Html,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
