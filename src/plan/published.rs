//! Tables that others published, as data: a YAML file that says how to read a CSV, and where it is from.
//! A published table claims the ratios of its rows; whether they hold here, `stats` judges.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::yaml::{Source, Wrong, at};
use crate::error::{Error, Result};
use crate::stats::reproduce::holds::{Range, Shown};
use crate::stats::reproduce::{Claim, Load, Rule, sustained};

/// A table with its reading.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// What was measured.
    pub title: String,
    /// Who published it where and when.
    pub source: String,
    /// The CSV's name, beside this file.
    pub table: String,
    /// Whom the table's ratios are to, unless a plan says another.
    pub reference: String,
    /// Which columns say what a row is of.
    columns: Columns,
    /// Names in the table -> who that is here.
    contenders: BTreeMap<String, Who>,
    /// The workload of all rows, where no column says it.
    #[serde(default)]
    workload: Option<String>,
    /// Values of the column -> what that is here.
    #[serde(default)]
    workloads: BTreeMap<String, Work>,
    /// Connections, where the figures depend on them.
    #[serde(default)]
    connections: Option<u32>,
    /// What is read of each row.
    figures: Vec<Figure>,
    /// What the experiment did otherwise than this kit, to be read beside every answer.
    pub differs: Vec<String>,
    /// The CSV's rows: column -> value.
    #[serde(skip)]
    rows: Vec<BTreeMap<String, String>>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Columns {
    contender: String,
    #[serde(default)]
    runtime: Option<String>,
    #[serde(default)]
    workload: Option<String>,
    #[serde(default)]
    rate_rps: Option<String>,
    #[serde(default)]
    runs: Option<String>,
}

/// Who a name in the table is.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Who {
    adapter: String,
    /// The version that was published; left out where the table does not say it.
    #[serde(default)]
    version: Option<String>,
}

/// What a workload in the table is.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Work {
    /// The same work here.
    #[serde(default)]
    workload: Option<String>,
    /// Why there is none.
    #[serde(default)]
    none: String,
}

/// How a figure stands in the table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Figure {
    /// What it is here: a group's figure, a verdict's metric, `sustained_rps`; else any name.
    figure: String,
    /// How it is shown here.
    #[serde(default = "ranges")]
    rule: Rule,
    /// The column of the median, or of the only value.
    median: String,
    #[serde(default)]
    min: Option<String>,
    #[serde(default)]
    max: Option<String>,
    /// The column of (maximum - minimum) / median, in percent.
    #[serde(default)]
    dispersion_pct: Option<String>,
    /// What values were rounded to.
    #[serde(default)]
    step: f64,
    /// The column of the rate it was measured at, where that is the row's own; rows at different rates
    /// have no ratio.
    #[serde(default)]
    rate_rps: Option<String>,
    /// The rates that were tried: a sustained rate lies between the one that is published and the next.
    #[serde(default)]
    rungs: Vec<f64>,
    /// Why it can't be judged here, whatever is measured.
    #[serde(default)]
    none: String,
}

fn ranges() -> Rule {
    Rule::Ranges
}

/// What an adapter is here, as its adapter.yaml pins it.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct Versions {
    pub framework: String,
    pub runtime: String,
}

impl Published {
    /// Reads a table by its YAML; `csv` gives a file beside it.
    pub fn parse(source: &Source, csv: impl FnOnce(&str) -> Result<Source>) -> Result<Self> {
        let mut published: Self = source.parse()?;
        if published.table.contains('/') {
            let what = format!("`{}`: expected a file beside this one", published.table);
            return Err(source.wrong(Wrong::new(at!["table"], what)));
        }
        let table = csv(&published.table)?;
        published.rows = rows(&table)?;
        published
            .check(&table)
            .map_err(|wrong| source.wrong(wrong))?;
        Ok(published)
    }

    /// Every column that is named is there, figures are numbers or were not published, and every row is
    /// of somebody and of something.
    fn check(&self, table: &Source) -> Result<(), Wrong> {
        if self.rows.is_empty() {
            let what = format!("{} has no rows", table.file);
            return Err(Wrong::new(at!["table"], what));
        }
        for (key, column) in self.columns.named() {
            self.column(column, key == "rate_rps" || key == "runs")
                .map_err(|what| {
                    Wrong::new(at!["columns", key], format!("{}: {what}", table.file))
                })?;
        }
        for (index, figure) in self.figures.iter().enumerate() {
            for (key, column) in figure.columns() {
                let at = || at!["figures", index, key];
                self.column(column, true)
                    .map_err(|what| Wrong::new(at(), format!("{}: {what}", table.file)))?;
            }
        }
        for row in &self.rows {
            let name = &row[&self.columns.contender];
            if !self.contenders.contains_key(name) {
                let what = format!("does not say who `{name}` is, of {}", table.file);
                return Err(Wrong::new(at!["contenders"], what));
            }
            if let Err(what) = self.work(row) {
                return Err(Wrong::new(at!["workloads"], what));
            }
        }
        match self
            .contenders
            .values()
            .any(|who| who.adapter == self.reference)
        {
            true => Ok(()),
            false => Err(Wrong::new(
                at!["reference"],
                format!("`{}` is none of the contenders", self.reference),
            )),
        }
    }

    /// Whether all rows have it, as a number where it must be one.
    fn column(&self, column: &str, is_number: bool) -> Result<(), String> {
        for row in &self.rows {
            let value = row
                .get(column)
                .ok_or_else(|| format!("there is no column `{column}`"))?;
            if is_number && !value.is_empty() && value.parse::<f64>().is_err() {
                return Err(format!("`{value}` in column `{column}` is not a number"));
            }
        }
        Ok(())
    }

    /// What a row's workload is here, or in the table where there is none; and why.
    fn work(&self, row: &BTreeMap<String, String>) -> Result<(String, String), String> {
        let Some(column) = &self.columns.workload else {
            let workload = self.workload.clone();
            return workload
                .map(|workload| (workload, String::new()))
                .ok_or_else(|| "neither `workload` nor a column of workloads".to_owned());
        };
        let named = &row[column];
        match self.workloads.get(named) {
            None if self.workloads.is_empty() => Ok((named.clone(), String::new())),
            None => Err(format!("does not say what `{named}` is")),
            Some(work) => Ok(match &work.workload {
                Some(workload) => (workload.clone(), String::new()),
                None => (named.clone(), work.none.clone()),
            }),
        }
    }

    /// Who takes part, as adapters are named here, each once.
    pub fn adapters(&self) -> impl Iterator<Item = &str> {
        let mut names: Vec<&str> = self
            .contenders
            .values()
            .map(|who| who.adapter.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter()
    }

    /// The ratios of the table to a reference, which is its own unless `reference` is in it too.
    /// `versions` are those of the adapters here, by their names.
    pub fn claims(
        &self,
        reference: Option<&str>,
        versions: &BTreeMap<String, Versions>,
    ) -> Vec<Claim> {
        let known = |name: &&str| self.adapters().any(|adapter| adapter == *name);
        let reference = reference.filter(known).unwrap_or(&self.reference);
        let rows: Vec<Row> = self.rows.iter().map(|row| self.row(row)).collect();
        let mut claims = Vec::new();
        for a in rows.iter().filter(|row| row.who.adapter != reference) {
            let same = |b: &&Row| b.who.adapter == reference && b.point() == a.point();
            let Some(b) = rows.iter().find(same) else {
                continue;
            };
            for figure in &self.figures {
                claims.push(self.claim(figure, a, b, versions));
            }
        }
        claims
    }

    fn claim(
        &self,
        figure: &Figure,
        a: &Row,
        b: &Row,
        versions: &BTreeMap<String, Versions>,
    ) -> Claim {
        let own = |row: &Row| figure.rate_rps.as_ref().map(|column| row.number(column));
        let (own_a, own_b) = (own(a), own(b));
        let mut barred: Vec<String> = vec![a.none.clone(), figure.none.clone()];
        barred.extend([a, b].map(|row| row.other_version(versions)));
        if own_a != own_b {
            barred.push("the two were published at different rates".to_owned());
        }
        barred.retain(|why| !why.is_empty());
        let load = match (own_a.flatten(), a.rate_rps, figure.rule) {
            (Some(rate), ..) => Load::At(rate as u64),
            (None, Some(rate), _) => Load::At(rate),
            (None, None, Rule::Published) => Load::Closed,
            (None, None, _) => Load::Any,
        };
        Claim {
            a: a.who.adapter.clone(),
            b: b.who.adapter.clone(),
            workload: a.workload.clone(),
            load,
            connections: self.connections,
            figure: figure.figure.clone(),
            rule: figure.rule,
            there: figure.shown(a, b),
            barred: barred.join("; "),
        }
    }

    fn row<'a>(&'a self, cells: &'a BTreeMap<String, String>) -> Row<'a> {
        let columns = &self.columns;
        let cell = |column: &Option<String>| column.as_ref().map(|column| cells[column].as_str());
        let (workload, none) = self.work(cells).unwrap_or_default();
        Row {
            who: &self.contenders[&cells[&columns.contender]],
            runtime: cell(&columns.runtime),
            workload,
            none,
            rate_rps: cell(&columns.rate_rps).and_then(|rate| rate.parse().ok()),
            runs: cell(&columns.runs).and_then(|runs| runs.parse().ok()),
            cells,
        }
    }
}

/// A row of the table, as it is meant here.
struct Row<'a> {
    who: &'a Who,
    runtime: Option<&'a str>,
    workload: String,
    none: String,
    rate_rps: Option<u64>,
    runs: Option<u32>,
    cells: &'a BTreeMap<String, String>,
}

impl Row<'_> {
    fn point(&self) -> (&str, Option<u64>) {
        (&self.workload, self.rate_rps)
    }

    /// None where the cell is empty.
    fn number(&self, column: &str) -> Option<f64> {
        self.cells[column].parse().ok()
    }

    /// Another first number is another program, whatever it is called; empty where it is the same.
    fn other_version(&self, versions: &BTreeMap<String, Versions>) -> String {
        let Who { adapter, version } = self.who;
        let Some(here) = versions.get(adapter) else {
            return String::new();
        };
        let published = [
            (version.as_deref(), &here.framework),
            (self.runtime, &here.runtime),
        ];
        for (there, here) in published {
            if let Some(there) = there
                && first_number(there) != first_number(here)
            {
                return format!("{adapter} was published as {there}, and is {here} here");
            }
        }
        String::new()
    }
}

fn first_number(version: &str) -> Option<&str> {
    let start = version.find(|c: char| c.is_ascii_digit())?;
    let rest = &version[start..];
    let end = rest.find(|c: char| !c.is_ascii_digit());
    Some(&rest[..end.unwrap_or(rest.len())])
}

impl Columns {
    fn named(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let some = [
            ("runtime", &self.runtime),
            ("workload", &self.workload),
            ("rate_rps", &self.rate_rps),
            ("runs", &self.runs),
        ];
        let some = some.into_iter();
        let some = some.filter_map(|(key, column)| Some((key, column.as_deref()?)));
        std::iter::once(("contender", self.contender.as_str())).chain(some)
    }
}

impl Figure {
    fn columns(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let some = [
            ("min", &self.min),
            ("max", &self.max),
            ("dispersion_pct", &self.dispersion_pct),
            ("rate_rps", &self.rate_rps),
        ];
        let some = some.into_iter();
        let some = some.filter_map(|(key, column)| Some((key, column.as_deref()?)));
        std::iter::once(("median", self.median.as_str())).chain(some)
    }

    /// The ratio of two rows, as far as the table says it.
    fn shown(&self, a: &Row, b: &Row) -> Shown {
        let (Some(of_a), Some(of_b)) = (self.extent(a), self.extent(b)) else {
            return Shown::nothing("a value was not published");
        };
        if self.rule == Rule::Sustained {
            return sustained::shown(of_a, of_b);
        }
        let range = of_a.over(of_b);
        let medians = a.number(&self.median).zip(b.number(&self.median));
        let ratio = medians.map(|(a, b)| a / b);
        let claim = range.side();
        let why = match claim {
            Some(_) => "",
            None => "what was published of the two has values in common",
        };
        // A single value says which is more; how far from it another one would lie nobody knows.
        let is_known = a.runs.is_some() && b.runs.is_some();
        Shown {
            ratio: ratio.filter(|ratio| ratio.is_finite()),
            range: Some(range).filter(|_| is_known),
            claim,
            why: why.to_owned(),
        }
    }

    /// Where a row's value lies: its repetitions, widened by half of what they were rounded to.
    fn extent(&self, row: &Row) -> Option<Range> {
        let median = row.number(&self.median)?;
        if self.rule == Rule::Sustained {
            let mut above = self.rungs.iter().copied().filter(|rung| *rung > median);
            return Some(Range {
                low: median,
                high: above.next(),
            });
        }
        let column = |column: &Option<String>| column.as_ref().and_then(|name| row.number(name));
        let spread = column(&self.dispersion_pct).map_or(0.0, |percent| percent / 100.0 * median);
        let low = column(&self.min).unwrap_or(median - spread);
        let high = column(&self.max).unwrap_or(median + spread);
        let half = self.step / 2.0;
        Some(Range::new((low - half).max(0.0), high + half))
    }
}

/// Reads a CSV without quotes: a header, and as many values in each row.
fn rows(table: &Source) -> Result<Vec<BTreeMap<String, String>>> {
    let mut lines = table.text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let mut rows = Vec::new();
    for (index, line) in lines.enumerate() {
        let values: Vec<&str> = line.split(',').collect();
        if values.len() != header.len() || line.contains('"') {
            let (found, line) = (values.len(), index + 2);
            let expected = header.len();
            return Err(Error::usage(format!(
                "{}:{line}: {found} values: expected {expected} without quotes, as in the header",
                table.file
            )));
        }
        let named = header.iter().zip(values);
        rows.push(
            named
                .map(|(name, value)| ((*name).to_owned(), value.to_owned()))
                .collect(),
        );
    }
    Ok(rows)
}

#[cfg(test)]
mod tests;
