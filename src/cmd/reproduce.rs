//! `reproduce`: an archive's plan again, from the archive's own sources; or the plan that others published
//! figures of. Then an answer for every ratio and verdict.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::compare::{Named, read};
use super::run::{Begin, claimed, perform, settled, unclaimed, unfinished_plan};
use super::unpacked::Unpacked;
use super::{Context, machine, print, print_json};
use crate::cli;
use crate::error::{Error, Exit, Result};
use crate::load::clock;
use crate::plan::{Kit, Overrides, Plan, Published};
use crate::record::schema::Summary;
use crate::record::source::Source;
use crate::record::sums;
use crate::record::versions::versions;
use crate::report::reproduction;
use crate::stats::reproduce::{self, Claim, Reproduction};

/// What is to be reproduced.
enum Subject {
    Archive {
        path: PathBuf,
        named: Named,
        summary: Box<Summary>,
    },
    Published {
        name: String,
        table: Box<Published>,
        kit: Kit,
    },
}

#[derive(Serialize)]
struct Document {
    there: There,
    here: Named,
    #[serde(flatten)]
    reproduction: Reproduction,
}

/// Where the claims are from.
#[derive(Serialize)]
#[serde(untagged)]
enum There {
    Archive(Named),
    Published {
        published: String,
        title: String,
        source: String,
        differs: Vec<String>,
    },
}

/// Runs the plan, unless an archive to judge by is there already, and answers. What is not reproduced is a
/// result; exit 6 only where that was asked for.
pub fn reproduce(context: &Context, asked: &cli::Reproduce) -> Result<()> {
    let subject = Subject::find(context, &asked.what)?;
    if let Some(path) = &asked.against {
        if asked.run.overrides != Overrides::default() || asked.run.dry_run {
            return Err(
                Error::usage("--against runs nothing: no other flag can change it")
                    .next("leave the flags out, or leave out --against to measure here"),
            );
        }
        return judge(context, subject, path, asked.fail_on);
    }
    if asked.run.dry_run {
        return subject.measure(context, asked, Path::new(""));
    }
    let dir = subject.folder(context, asked)?;
    let outcome = subject.measure(context, asked, &dir);
    match outcome {
        // Whatever it lacks, what it has is judged.
        Err(error) if is_finished(&dir) && matches!(error.exit, Exit::Incomplete | Exit::Gate) => {
            judge(context, subject, &dir, None)?;
            Err(error)
        }
        Err(error) => {
            if asked.resume.is_none() && asked.run.out.is_none() {
                unclaimed(&dir);
            }
            Err(error)
        }
        Ok(()) => judge(context, subject, &dir, asked.fail_on),
    }
}

fn is_finished(dir: &Path) -> bool {
    dir.join(sums::FILE).exists()
}

impl Subject {
    /// A published table by its name, or else an archive, which must hold.
    fn find(context: &Context, what: &str) -> Result<Self> {
        let kit = context.kit();
        let known = match &kit {
            Ok(kit) => kit.published_names()?,
            Err(_) => vec![],
        };
        if let (Ok(kit), true) = (kit, known.iter().any(|name| name == what)) {
            return Ok(Self::Published {
                table: Box::new(kit.published(what)?),
                name: what.to_owned(),
                kit,
            });
        }
        let path = PathBuf::from(what);
        if !path.exists() {
            let published = match &known[..] {
                [] => "there are no published tables here".to_owned(),
                names => format!("published tables: {}", names.join(", ")),
            };
            let what = format!("there is no archive {what}, and no published table of that name");
            return Err(Error::usage(what).next(published));
        }
        let (named, summary) = read(&path)?;
        Ok(Self::Archive {
            path,
            named,
            summary: Box::new(summary),
        })
    }

    /// Where the new archive goes.
    fn folder(&self, context: &Context, asked: &cli::Reproduce) -> Result<PathBuf> {
        if let Some(dir) = asked.resume.as_ref().or(asked.run.out.as_ref()) {
            return Ok(dir.clone());
        }
        let name = match self {
            Self::Published { name, .. } => name.as_str(),
            Self::Archive { summary, .. } => summary.plan["name"].as_str().unwrap_or("archive"),
        };
        // An archive needs no kit beside it: then the results are those of the current folder.
        let root = context.kit().map(|kit| kit.root).unwrap_or_default();
        let stamp = crate::date::stamp(clock::unix_s() as u64);
        claimed(&root.join("results"), &format!("{name}-again-{stamp}"))
    }

    /// Runs the plan into this folder, narrowed by the flags.
    fn measure(&self, context: &Context, asked: &cli::Reproduce, dir: &Path) -> Result<()> {
        match self {
            Self::Archive { path, .. } => {
                let source = Source::open(path).map_err(|e| e.at(path.display()))?;
                let unpacked = Unpacked::of(&source).map_err(|e| e.at(path.display()))?;
                let plan = || {
                    let plan = unpacked.kit.plan(&unpacked.plan.to_string_lossy())?;
                    Ok(plan.elsewhere())
                };
                self.perform(context, asked, &unpacked.kit, plan, dir)
            }
            Self::Published { name, kit, .. } => {
                let plan = || published_plan(kit, name);
                self.perform(context, asked, kit, plan, dir)
            }
        }
    }

    fn perform(
        &self,
        context: &Context,
        asked: &cli::Reproduce,
        kit: &Kit,
        plan: impl FnOnce() -> Result<Plan>,
        dir: &Path,
    ) -> Result<()> {
        let host = machine();
        let resume = asked.resume.as_deref();
        let plan = match resume {
            Some(dir) => unfinished_plan(dir, None, &asked.run)?,
            None => settled(plan()?, &host, &asked.run.overrides)?,
        };
        let begin = Begin {
            resume,
            command: format!("shootout reproduce {} --resume", asked.what),
            prints: false,
        };
        let run = cli::Run {
            out: Some(dir.to_owned()),
            ..asked.run.clone()
        };
        perform(context, kit, host, plan, &run, &begin)
    }

    /// What is claimed, to be held against an archive of here.
    fn claims(&self, here: &Summary, source: &Source) -> Result<Vec<Claim>> {
        match self {
            Self::Archive { summary, .. } => Ok(reproduce::claims(summary)),
            Self::Published { table, .. } => {
                let reference = here.plan.get("reference").and_then(|name| name.as_str());
                Ok(table.claims(reference, &versions(source)?))
            }
        }
    }

    fn named(self) -> There {
        match self {
            Self::Archive { named, .. } => There::Archive(named),
            Self::Published { name, table, .. } => There::Published {
                published: name,
                title: table.title,
                source: table.source,
                differs: table.differs,
            },
        }
    }
}

/// The plan that figures were published of, if it is here.
fn published_plan(kit: &Kit, name: &str) -> Result<Plan> {
    let planned = kit.plans()?;
    if planned.iter().any(|entry| entry.name == name) {
        return kit.plan(name);
    }
    let what = format!("figures of {name} were published, but there is no plan {name} here");
    Err(Error::usage(what).next(format!(
        "write workloads/plans/{name}.yaml, or judge by an archive that is there: \
         `shootout reproduce {name} --against ARCHIVE`"
    )))
}

/// Holds a subject's claims against an archive, and prints the answers.
fn judge(
    context: &Context,
    subject: Subject,
    path: &Path,
    fail_on: Option<cli::FailOnAnswer>,
) -> Result<()> {
    let (here, summary) = read(path)?;
    let source = Source::open(path).map_err(|e| e.at(path.display()))?;
    let claims = subject.claims(&summary, &source)?;
    let reproduction = Reproduction::of(&claims, &summary);
    let document = Document {
        reproduction: match &subject {
            Subject::Archive { summary, .. } => reproduction.besides(summary),
            Subject::Published { .. } => reproduction,
        },
        there: subject.named(),
        here,
    };
    if context.json {
        print_json(&document)?;
    } else {
        print(&text(&document, context.ui.is_verbose()))?;
    }
    match fail_on {
        None => Ok(()),
        Some(cli::FailOnAnswer::NotReproduced) => gate(&document.reproduction),
    }
}

fn gate(reproduction: &Reproduction) -> Result<()> {
    let fails = |what: String| Err(Error::new(Exit::Gate, what));
    match (reproduction.reproduced, reproduction.not_reproduced) {
        (0, 0) => fails("nothing could be judged: nothing says that anything is reproduced".into()),
        (_, 0) => Ok(()),
        (_, count) => fails(format!("{count} ratios are not reproduced")),
    }
}

fn text(document: &Document, all: bool) -> String {
    let id = |named: &Named| named.id.clone().unwrap_or_default();
    let there = match &document.there {
        There::Archive(named) => format!("there  {}  {}\n", named.archive, id(named)),
        There::Published {
            title,
            source,
            differs,
            ..
        } => {
            let differs = differs.iter().map(|line| format!("       - {line}\n"));
            format!(
                "there  {title}\n       {source}\n{}",
                differs.collect::<String>()
            )
        }
    };
    let here = &document.here;
    let here = format!("here   {}  {}\n", here.archive, id(here));
    there + &here + &reproduction::render(&document.reproduction, all)
}

#[cfg(test)]
mod tests;
