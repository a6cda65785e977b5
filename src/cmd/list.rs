//! `list`: what there is, and what cannot be built.

use serde::Serialize;

use super::{Context, print_folded, print_json};
use crate::cli::Listed;
use crate::error::Result;
use crate::plan::kit::Entry;
use crate::plan::spec::Kind;
use crate::plan::{Adapter, Plan, Workload};

/// A line of the list, as scripts read it.
#[derive(Serialize)]
struct Item {
    name: String,
    kind: &'static str,
    title: String,
    language: Option<String>,
    workloads: Vec<String>,
    state: &'static str,
    reason: Option<String>,
}

/// Prints adapters, workloads and plans, or one kind of them.
pub fn list(context: &Context, what: Option<Listed>) -> Result<()> {
    let kit = context.kit()?;
    let wanted = |kind| what.is_none_or(|what| what == kind);
    let mut items: Vec<Item> = Vec::new();
    if wanted(Listed::Adapters) {
        items.extend(
            kit.adapters()?
                .into_iter()
                .map(|entry| item("adapter", entry, of_adapter)),
        );
    }
    if wanted(Listed::Workloads) {
        items.extend(
            kit.workloads()?
                .into_iter()
                .map(|entry| item("workload", entry, of_workload)),
        );
    }
    if wanted(Listed::Plans) {
        items.extend(
            kit.plans()?
                .into_iter()
                .map(|entry| item("plan", entry, of_plan)),
        );
    }
    if context.json {
        print_json(&items)
    } else {
        print_folded(&table(&items))
    }
}

fn item<T>(kind: &'static str, entry: Entry<T>, fill: fn(&mut Item, T)) -> Item {
    let mut item = Item {
        name: entry.name,
        kind,
        title: String::new(),
        language: None,
        workloads: vec![],
        state: "ready",
        reason: None,
    };
    match entry.loaded {
        Ok(loaded) => fill(&mut item, loaded),
        Err(error) => (item.state, item.reason) = ("not built", Some(error.what)),
    }
    item
}

fn of_adapter(item: &mut Item, adapter: Adapter) {
    let Adapter {
        framework, runtime, ..
    } = &adapter;
    item.title = format!(
        "{} {} on {} {}",
        adapter.title, framework.version, runtime.name, runtime.version
    );
    item.language = Some(adapter.language);
    item.workloads = adapter.workloads;
    if let Some(reason) = adapter.not_built {
        (item.state, item.reason) = ("not built", Some(reason));
    }
}

fn of_workload(item: &mut Item, workload: Workload) {
    item.title = format!("{} (level {})", workload.title, workload.level);
}

fn of_plan(item: &mut Item, plan: Plan) {
    let adapters: Vec<String> = plan.adapters.iter().map(ToString::to_string).collect();
    let rates: Vec<String> = plan
        .rates_rps
        .iter()
        .map(|rate| format!("{rate}/s"))
        .collect();
    let (rates, connections) = (rates.join(", "), &plan.connections);
    let how = match plan.kind {
        Kind::Duel => format!("a duel at {rates}, {} pairs", plan.pairs),
        Kind::Closed => format!("closed loops of {connections} connections"),
        Kind::Matrix | Kind::Sustain => format!("at {rates}, {} repetitions", plan.repetitions),
    };
    item.title = format!("{}, {how}", adapters.join(", "));
    item.workloads = plan.workloads;
}

fn table(items: &[Item]) -> String {
    let width = items.iter().map(|item| item.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    let mut kind = "";
    for item in items {
        if item.kind != kind {
            kind = item.kind;
            text += &format!("{}{kind}s\n", if text.is_empty() { "" } else { "\n" });
        }
        let workloads = if item.workloads.is_empty() {
            String::new()
        } else {
            format!(": {}", item.workloads.join(", "))
        };
        let what = match &item.reason {
            Some(reason) => format!("{}: {reason}", item.state),
            None => format!("{}{workloads}", item.title),
        };
        text += &format!("  {:width$}  {what}\n", item.name);
    }
    text
}
