//! `report --format html`: one file that opens anywhere, made from the archive alone. It holds no
//! address of anything else, and is the same for the same archive, byte for byte.

mod chart;
mod clocks;
mod dots;
mod figures;
mod grid;
mod markup;
mod parity;
mod scale;
mod sustain;

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::record::details::{Adapter, Details};
use crate::record::schema::{Group, Hole, Summary};
use crate::report::lists::{self, List, facts, inline};
use crate::report::table::{self, load_point, plain};
use crate::report::verdicts;
use clocks::Drawn;
use grid::{Cell, Row, folded, grid, list};
use markup::{Html, fill, tag};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The whole file. The id is none for an archive that is not finished.
pub fn render(summary: &Summary, details: &Details, id: Option<&str>) -> String {
    let title = summary.plan.get("name").and_then(|name| name.as_str());
    let title = Html::text(&plain(title.unwrap_or("unnamed plan")));
    let smoke = if summary.publishable {
        ""
    } else {
        "--allow-smoke "
    };
    let pinned = id.map_or_else(String::new, |id| format!("--id {id} "));
    let generator = &summary.generator;
    let by = format!("{} {}", generator.name, generator.version);
    let holes = [
        ("policy", Html::text(&policy())),
        ("title", title.clone()),
        ("heading", title),
        ("style", Html::file(STYLE)),
        ("script", Html::file(SCRIPT)),
        ("by", Html::text(&by)),
        (
            "id",
            Html::text(id.unwrap_or("none: the archive is not finished")),
        ),
        ("pinned", Html::text(&pinned)),
        ("asked", asked(summary)),
        ("inconclusive", lists_of(&lists::before(summary))),
        ("publication", publication(summary)),
        ("verdicts", verdicts_section(summary)),
        ("workloads", workloads(summary, details)),
        ("notes", lists_folded(&lists::after(summary))),
        ("parity", parity::parity(summary, details)),
        ("limits", limits(summary)),
        ("adapters", adapters(details)),
        (
            "environment",
            facts_table("The machine", &facts("", &summary.environment)),
        ),
        (
            "plan",
            facts_table("The plan, resolved", &facts("", &summary.plan)),
        ),
        (
            "cells",
            figures::cells("Every cell, every attempt", summary, details),
        ),
        ("smoke", Html::text(smoke)),
    ];
    fill(PAGE, &holes).as_str().to_owned()
}

/// No address is allowed, and no script but this program's: whatever an archive holds, a page made
/// from it runs nothing of it and tells nobody.
fn policy() -> String {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    )
}

/// What the plan says, in the order in which people ask.
fn asked(summary: &Summary) -> Html {
    const ASKED: [(&str, &str); 22] = [
        ("kind", "What is made of it"),
        ("adapters", "Who"),
        ("reference", "Judged against"),
        ("workloads", "At what"),
        ("loop", "Loop"),
        ("rates_rps", "Rates, req/s"),
        ("ladder", "Rates that were searched"),
        ("criterion", "Held means"),
        ("trials", "Trials of a rate"),
        ("mode", "Mode"),
        ("threads", "Generator threads"),
        ("connections", "Connections"),
        ("requests", "Requests"),
        ("repetitions", "Fresh containers each"),
        ("pairs", "Pairs"),
        ("null", "Pairs of the null test"),
        ("pairing", "Pairing"),
        ("metrics", "Metrics, fixed beforehand"),
        ("smallest_effect", "Smallest effect of interest"),
        ("healthy", "Healthy means"),
        ("limits", "Limits"),
        ("overridden", "Overridden by hand"),
    ];
    let row = |(key, words): (&str, &str)| {
        let value = inline(summary.plan.get(key)?);
        let term = tag("dt").text(words);
        (!value.is_empty()).then(|| term.then(&tag("dd").text(&value)))
    };
    tag("dl").html(&ASKED.into_iter().filter_map(row).collect())
}

fn publication(summary: &Summary) -> Html {
    let may = summary.publishable && summary.comparable;
    let words = if may {
        "These numbers may be published: the plan allows it, and all that it asks for was kept."
    } else {
        "These numbers are not for publication."
    };
    let class = if may { "fine" } else { "alert" };
    tag("p").set("class", class).text(words)
}

/// With every line in sight: what can't be concluded is never folded away.
fn lists_of(lists: &[List]) -> Html {
    lists_as(lists, list)
}

/// Where a list is longer than a screen, folded: a guard may fire in every cell.
fn lists_folded(lists: &[List]) -> Html {
    const MANY: usize = 12;
    lists_as(lists, |items| match items.len() {
        ..=MANY => list(items),
        many => folded(&format!("{many} lines"), &list(items)),
    })
}

fn lists_as(lists: &[List], show: impl Fn(&[String]) -> Html) -> Html {
    let lists = lists.iter().filter(|(_, items)| !items.is_empty());
    let html: Html = lists
        .map(|(title, items)| tag("h3").text(title).then(&show(items)))
        .collect();
    if html.as_str().is_empty() {
        return tag("p").text("Nothing to say here.");
    }
    html
}

fn verdicts_section(summary: &Summary) -> Html {
    let tables = verdicts::tables(summary);
    if tables.is_empty() {
        return tag("p").text("This plan asked for figures, not for verdicts: no adapter is called faster than another.");
    }
    let table = |table: &verdicts::Table| {
        let forest = tag("div").set("class", "charts").html(&dots::forest(table));
        let all = folded("All that these verdicts rest on", &figures::verdicts(table));
        let heading = tag("h3").text(&table.title);
        heading
            .then(&figures::matrix(table))
            .then(&forest)
            .then(&all)
    };
    let legend: Html = verdicts::LEGEND
        .iter()
        .map(|line| tag("p").text(line))
        .collect();
    let tables = tables.iter().map(table).collect::<Html>().then(&legend);
    tables.then(&figures::prices(&summary.prices))
}

/// Each workload: its table, then its charts, load point by load point.
fn workloads(summary: &Summary, details: &Details) -> Html {
    if !summary.sustained.is_empty() {
        return sustain::sustain(summary);
    }
    let numbers = numbers(summary);
    let drawn: Vec<Drawn> = (summary.groups.iter().zip(&details.groups))
        .map(|(group, details)| (group, details, numbers[&(&*group.adapter, &*group.label)]))
        .collect();
    if drawn.is_empty() {
        return tag("p").set("class", "alert").text("Nothing was measured.");
    }
    let workloads = drawn.chunk_by(|a, b| a.0.workload == b.0.workload);
    workloads.map(|groups| workload(summary, groups)).collect()
}

/// Every adapter and label has a colour of its own, the same in all charts.
fn numbers(summary: &Summary) -> BTreeMap<(&str, &str), usize> {
    let names = summary
        .groups
        .iter()
        .map(|g| (g.adapter.as_str(), g.label.as_str()));
    let mut numbers: BTreeMap<_, usize> = names.map(|name| (name, 0)).collect();
    numbers
        .values_mut()
        .enumerate()
        .for_each(|(i, number)| *number = i);
    numbers
}

fn workload(summary: &Summary, groups: &[Drawn]) -> Html {
    let workload = plain(&groups[0].0.workload);
    let caption = format!("{workload} ({})", table::level(groups[0].0.level));
    let mut by_name: Vec<(&Group, usize)> = groups.iter().map(|(g, _, n)| (*g, *n)).collect();
    by_name.sort_by_key(|(g, number)| (*number, &g.sides, g.rate_rps, g.connections));
    let rows: Vec<&Group> = by_name.iter().map(|(group, _)| *group).collect();
    let of_workload =
        |hole: &&Hole| hole.workload == groups[0].0.workload || hole.workload.is_empty();
    let holes: Vec<&Hole> = summary.holes.iter().filter(of_workload).collect();
    let others = figures::other_figures(&format!("{workload}: all other figures"), &rows);
    let mut by_point = groups.to_vec();
    by_point.sort_by(|a, b| at(a.0).cmp(&at(b.0)));
    let points = by_point.chunk_by(|a, b| at(a.0) == at(b.0));
    let open: Vec<(&Group, usize)> = by_name
        .into_iter()
        .filter(|(group, _)| group.rate_rps.is_some())
        .collect();
    let parts = [
        tag("h3").text(&caption),
        figures::main_figures(&caption, &rows, &holes),
        folded("All other figures", &others),
        points.map(|groups| point(summary, groups)).collect(),
        dots::over_rates(&open).unwrap_or_default(),
    ];
    tag("section").html(&parts.into_iter().collect())
}

/// What is drawn together: a load point, and those who were alive together at it.
fn at(group: &Group) -> (impl Ord + '_, &[String]) {
    (table::point(group), &group.sides)
}

fn point(summary: &Summary, groups: &[Drawn]) -> Html {
    let group = groups[0].0;
    let (workload, connections) = (plain(&group.workload), group.connections);
    let load = load_point(group.rate_rps);
    let mut heading = format!("{workload} {load}, {connections} connections");
    if !group.sides.is_empty() {
        heading += &format!("; alive together: {}", plain(&group.sides.join(", ")));
    }
    let named: Vec<(&Group, usize)> = groups.iter().map(|(g, _, n)| (*g, *n)).collect();
    let dots = dots::cpu(&named).then(&dots::memory(&named));
    let parts = [
        tag("h4").text(&heading),
        tag("div").set("class", "charts").html(&dots),
        clocks::percentiles(groups),
        folded("By second", &clocks::courses(groups, &summary.cells)),
    ];
    parts.into_iter().collect()
}

/// The limits that were read back, and in how many cells.
fn limits(summary: &Summary) -> Html {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for cell in &summary.cells {
        let limits = &cell.limits;
        let quota = limits
            .cpu_quota
            .map_or("none".to_owned(), |quota| format!("{quota} CPUs"));
        let words = format!(
            "target on CPU {}, load on CPU {}, quota {quota}, {} MiB of memory, {} processes and threads",
            plain(&limits.target_cpus),
            plain(&limits.load_cpus),
            limits.memory_mib,
            limits.pids
        );
        *seen.entry(words).or_default() += 1;
    }
    let lines = seen
        .into_iter()
        .map(|(words, cells)| format!("{words}: {cells} cells"));
    list(&lines.collect::<Vec<String>>())
}

fn adapters(details: &Details) -> Html {
    let row = |adapter: &Adapter| {
        let words = [
            &adapter.title,
            &adapter.language,
            &adapter.framework,
            &adapter.runtime,
        ];
        Row {
            class: "",
            name: plain(&adapter.name),
            cells: words.map(|words| Cell::Words(plain(words))).into(),
        }
    };
    let rows: Vec<Row> = details.adapters.iter().map(row).collect();
    let columns = ["adapter", "title", "language", "framework", "runtime"];
    grid("The adapters, as pinned", &columns, &rows)
}

fn facts_table(caption: &str, facts: &[(String, String)]) -> Html {
    let row = |(at, value): &(String, String)| Row {
        class: "",
        name: at.clone(),
        cells: vec![Cell::Words(value.clone())],
    };
    let rows: Vec<Row> = facts.iter().map(row).collect();
    folded(caption, &grid(caption, &["what", "value"], &rows))
}

#[cfg(test)]
mod tests;
