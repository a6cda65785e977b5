//! The rule of the published experiments, over alternated series of windows in closed loop: A1 B1 A2 B2, or
//! an order that cancels drift, each series in a fresh container. Its value is the median of its windows;
//! windows further apart than 3 % make it "not provable"; and only separation ranks: every series of one
//! side beyond every one of the other. What else is shown with it is for information.

use std::collections::{BTreeMap, BTreeSet};

use super::duel::{DuelRules, Values, word};
use super::groups;
use super::interval::{dispersion, separated};
use super::metric::{Metric, metric};
use super::provable;
use crate::record::schema::{Cell, Verdict};

/// The windows of a series lie no further apart (METHOD, rule 14).
const DISPERSION: f64 = 0.03;
/// Series are laid in blocks of so many, two of each side.
const BLOCK: u32 = 4;
/// Of a side, at least.
const LEAST_SERIES: usize = 2;
/// Of the interval that is shown beside.
const CONFIDENCE: f64 = 0.95;
/// Throughput, by which the published rule ranks, and CPU time, which says more.
const METRICS: [&str; 2] = ["capacity_rps", "cpu_us_per_request"];

/// Two verdicts for each contender and number of connections.
pub fn verdicts(cells: &[Cell], rules: &DuelRules, workload: &str, level: u32) -> Vec<Verdict> {
    let of_workload = |cell: &&Cell| {
        let key = &cell.key;
        key.series.is_some() && key.role == "measure" && key.workload == workload
    };
    let series: Vec<&Cell> = cells.iter().filter(of_workload).collect();
    let mut connections: BTreeSet<u32> = series.iter().map(|cell| cell.key.connections).collect();
    if connections.is_empty() {
        connections.insert(rules.connections);
    }
    let mut all = Vec::new();
    for connections in connections {
        let here = series.iter().copied();
        let here: Vec<&Cell> = here
            .filter(|cell| cell.key.connections == connections)
            .collect();
        for contender in &rules.contenders {
            let sides = [contender, &rules.reference];
            let [a, b] = of_both(&here, sides);
            for metric in METRICS.into_iter().filter_map(metric) {
                let mut verdict = Verdict {
                    a: contender.clone(),
                    b: rules.reference.clone(),
                    workload: workload.to_owned(),
                    level,
                    connections,
                    metric: metric.name.to_owned(),
                    better: metric.better.to_owned(),
                    rule: "published".to_owned(),
                    verdict: "no verdict".to_owned(),
                    confidence: CONFIDENCE,
                    ..Verdict::default()
                };
                match judge(&mut verdict, [&a, &b], metric) {
                    Ok(word) => {
                        verdict.verdict = word.to_owned();
                        verdict.reason = format!(
                            "the sides' series are separated, by the published rule; chance alone \
                             separates them in {} of such sessions",
                            provable::share(provable::separation(verdict.n))
                        );
                    }
                    Err(reason) => verdict.reason = reason,
                }
                all.push(verdict);
            }
        }
    }
    all
}

/// Each side's series by their places, in the blocks that the contender takes part in; the reference has
/// others against others. The last valid attempt speaks for a series.
fn of_both<'a>(series: &[&'a Cell], sides: [&String; 2]) -> [Vec<&'a Cell>; 2] {
    let block = |cell: &Cell| cell.key.series.unwrap_or_default().saturating_sub(1) / BLOCK;
    let own = |cell: &Cell, who: &String| cell.key.contender() == *who;
    let contenders = series.iter().filter(|cell| own(cell, sides[0]));
    let blocks: BTreeSet<u32> = contenders.map(|cell| block(cell)).collect();
    sides.map(|who| {
        let counts =
            |cell: &&Cell| cell.load.valid && own(cell, who) && blocks.contains(&block(cell));
        let mut last: BTreeMap<Option<u32>, &Cell> = BTreeMap::new();
        for cell in series.iter().copied().filter(counts) {
            let kept = last.entry(cell.key.series).or_insert(cell);
            if kept.key.attempt < cell.key.attempt {
                *kept = cell;
            }
        }
        last.into_values().collect()
    })
}

fn judge(
    verdict: &mut Verdict,
    sides: [&[&Cell]; 2],
    metric: &Metric,
) -> Result<&'static str, String> {
    let [a, b] = sides.map(|side| values(side, metric));
    let mut values = Values { a: a?, b: b? };
    let fewest = values.a.len().min(values.b.len());
    if fewest < LEAST_SERIES {
        return Err(format!(
            "{} and {} valid series, and at least {LEAST_SERIES} of each side are needed",
            values.a.len(),
            values.b.len()
        ));
    }
    let separated = separated(&values.a, &values.b) == Some(true);
    // The first of one side goes with the first of the other.
    values.a.truncate(fewest);
    values.b.truncate(fewest);
    values.fill(verdict);
    verdict.separated = Some(separated);
    if metric.closed {
        let most = sides
            .into_iter()
            .flatten()
            .filter_map(|cell| dispersion(&throughputs(cell)?));
        let most = most.fold(0.0, f64::max);
        if most > DISPERSION {
            return Err(format!(
                "not provable: the windows of a series lie {:.1} % apart, and at most {} % is asked for",
                100.0 * most,
                100.0 * DISPERSION
            ));
        }
    }
    match verdict.ratio {
        Some(ratio) if separated => Ok(word(ratio.total_cmp(&1.0), metric)),
        _ => Err("in the noise: the sides' series are not separated".to_owned()),
    }
}

/// One value a series.
fn values(series: &[&Cell], metric: &Metric) -> Result<Vec<f64>, String> {
    let value = |cell: &&Cell| {
        let value = if metric.closed {
            let spread = throughputs(cell).and_then(groups::spread);
            spread
                .map(|spread| spread.median)
                .ok_or("a window was not measured".to_owned())
        } else {
            metric.value(cell)
        };
        value.map_err(|why| format!("{} has none: {why}", cell.key.contender()))
    };
    series.iter().map(value).collect()
}

/// Completed per second of each window; none where there are no windows, or one without a request.
fn throughputs(cell: &Cell) -> Option<Vec<f64>> {
    let ends = cell.windows.iter().skip(1).map(|window| window.start_s);
    let ends = ends.chain([cell.load.duration_s]);
    let rates = cell.windows.iter().zip(ends).map(|(window, end_s)| {
        let length_s = end_s - window.start_s;
        (length_s > 0.0 && window.completed > 0).then(|| window.completed as f64 / length_s)
    });
    rates
        .collect::<Option<Vec<f64>>>()
        .filter(|rates| !rates.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::schema::{CellKey, Window};

    /// A series of three windows of 10 s with these throughputs.
    fn series(who: &str, place: u32, rates: [u64; 3], cpu_us: f64) -> Cell {
        let window = |(index, rate)| Window {
            start_s: 10.0 * index as f64,
            completed: 10 * rate,
            cpu_us: None,
        };
        let mut cell = Cell {
            key: CellKey {
                adapter: who.into(),
                workload: "w".into(),
                r#loop: "closed".into(),
                connections: 128,
                role: "measure".into(),
                attempt: 1,
                series: Some(place),
                ..CellKey::default()
            },
            windows: rates.into_iter().enumerate().map(window).collect(),
            cpu_us_per_request: Some(cpu_us),
            ..Cell::default()
        };
        cell.load.valid = true;
        cell.load.duration_s = 30.0;
        cell
    }

    /// ABBA, x in front by 4 %, less CPU by 10 %.
    fn session() -> Vec<Cell> {
        vec![
            series("x", 1, [1040, 1045, 1050], 90.0),
            series("ref", 2, [1000, 1010, 1005], 100.0),
            series("ref", 3, [1001, 1002, 1003], 101.0),
            series("x", 4, [1041, 1043, 1042], 91.0),
        ]
    }

    fn rules() -> DuelRules {
        DuelRules {
            contenders: vec!["x".into()],
            reference: "ref".into(),
            connections: 64,
            ..DuelRules::default()
        }
    }

    fn judged(cells: &[Cell]) -> Vec<Verdict> {
        verdicts(cells, &rules(), "w", 2)
    }

    #[test]
    fn separated_series_rank_and_say_by_which_rule() {
        let all = judged(&session());
        assert_eq!(all.len(), 2);
        for (verdict, ratio) in all.iter().zip([1043.5 / 1003.5, 0.9]) {
            assert_eq!(
                (verdict.verdict.as_str(), verdict.rule.as_str()),
                ("faster", "published")
            );
            assert_eq!((verdict.n, verdict.level, verdict.connections), (2, 2, 128));
            assert_eq!((verdict.separated, verdict.rate_rps), (Some(true), None));
            assert!((verdict.ratio.unwrap() - ratio).abs() < 2e-3, "{verdict:?}");
            assert!(verdict.ci_low < verdict.ratio && verdict.ratio < verdict.ci_high);
            assert!(verdict.reason.contains("33 %"), "{}", verdict.reason);
        }
    }

    #[test]
    fn what_the_published_rule_refuses() {
        type Break = fn(&mut Vec<Cell>);
        // What throughput says, and CPU per request.
        let table: [(&str, &str, Break); 7] = [
            (
                "not provable: the windows of a series lie 3.",
                "",
                |cells| {
                    cells[0].windows[0].completed = 10_130;
                },
            ),
            ("in the noise", "in the noise", |cells| {
                cells[1]
                    .windows
                    .iter_mut()
                    .for_each(|window| window.completed += 600);
                cells[1].cpu_us_per_request = Some(89.0);
            }),
            ("1 and 2 valid series", "1 and 2 valid series", |cells| {
                cells[3].load.valid = false
            }),
            ("0 and 0 valid series", "0 and 0 valid series", Vec::clear),
            ("x has none: a window was not measured", "", |cells| {
                cells[0].windows.clear()
            }),
            ("x has none: a window was not measured", "", |cells| {
                cells[3].windows[2].completed = 0;
            }),
            ("", "ref has none: it was not measured", |cells| {
                cells[2].cpu_us_per_request = None;
            }),
        ];
        for (throughput, cpu, break_it) in table {
            let mut cells = session();
            break_it(&mut cells);
            for (verdict, why) in judged(&cells).iter().zip([throughput, cpu]) {
                let word = if why.is_empty() {
                    "faster"
                } else {
                    "no verdict"
                };
                assert_eq!(verdict.verdict, word, "{why}: {verdict:?}");
                assert!(verdict.reason.contains(why), "{why}: {}", verdict.reason);
            }
        }
    }

    #[test]
    fn a_contender_meets_the_references_series_of_its_own_blocks_and_last_attempts() {
        let mut cells = session();
        // Of another contender's block, and faster than all.
        cells.push(series("ref", 6, [2000, 2000, 2000], 10.0));
        cells.push(series("ref", 7, [2000, 2000, 2000], 10.0));
        let mut retry = cells[0].clone();
        cells[0].windows[0].completed = 1;
        retry.key.attempt = 2;
        cells.push(retry);
        let all = judged(&cells);
        assert!(
            all.iter().all(|v| v.verdict == "faster" && v.n == 2),
            "{all:?}"
        );
    }
}
