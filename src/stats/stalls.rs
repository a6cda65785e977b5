//! Latencies that look like the protocol's and not like any server's: timers of TCP, and servers that have
//! nothing in common but a figure.

use crate::record::schema::{Group, Stall};

/// Where timers of TCP put responses, in milliseconds: a delayed acknowledgement waits 40 ms on Linux, 200
/// at most (RFC 1122, 4.2.3.2), and with Nagle's algorithm the other side waits for it. What comes on top
/// is the time to serve.
const TIMERS_MS: [(f64, f64); 2] = [(39.5, 44.0), (199.0, 208.0)];
/// Quantiles, each beside the next one.
const QUANTILES: [&str; 4] = ["p50", "p90", "p99", "p999"];
/// So many servers with the same figure are no coincidence,
const SERVERS: usize = 3;
/// where it is the same within this share,
const SAME: f64 = 0.01;
/// and not just what the machine itself takes.
const LEAST_US: f64 = 2000.0;

/// What is suspicious in these groups, in their order.
pub fn stalls(groups: &[Group]) -> Vec<Stall> {
    let timers = groups.iter().filter_map(timer);
    let point = |group: &Group| (group.workload.clone(), group.rate_rps, group.connections);
    let points = groups.chunk_by(|a, b| point(a) == point(b));
    let same = points.flat_map(|groups| ["p50", "p99"].into_iter().flat_map(|q| alike(groups, q)));
    timers.chain(same).collect()
}

/// Two neighbouring quantiles at the same timer: a tenth of the responses or more, all alike, is no tail.
fn timer(group: &Group) -> Option<Stall> {
    let clustered = |pair: &&[&str]| {
        TIMERS_MS.iter().any(|(low, high)| {
            let at_timer = |us: f64| (low * 1e3..=high * 1e3).contains(&us);
            pair.iter()
                .all(|quantile| us(group, quantile).is_some_and(at_timer))
        })
    };
    let pair = QUANTILES.windows(2).find(clustered)?;
    let at = us(group, pair[0])?;
    Some(stall(
        &[group],
        pair[0],
        at,
        format!(
            "{} and {} lie together where TCP's delayed acknowledgement puts them: does the server send head \
             and body apart, without TCP_NODELAY?",
            pair[0], pair[1]
        ),
    ))
}

/// Servers of one load point that share a figure.
fn alike(groups: &[Group], quantile: &'static str) -> Vec<Stall> {
    let mut known: Vec<(f64, &Group)> = groups
        .iter()
        .filter_map(|group| Some((us(group, quantile)?, group)))
        .filter(|(us, _)| *us >= LEAST_US)
        .collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut found = Vec::new();
    let mut rest = &known[..];
    while let Some((least, _)) = rest.first() {
        let same = rest.partition_point(|(us, _)| *us <= least * (1.0 + SAME));
        let (together, others) = rest.split_at(same);
        let mut adapters: Vec<&str> = together.iter().map(|(_, g)| g.adapter.as_str()).collect();
        adapters.sort_unstable();
        adapters.dedup();
        if adapters.len() >= SERVERS {
            let all: Vec<&Group> = together.iter().map(|(_, group)| *group).collect();
            let reason = format!(
                "{} servers have the same {quantile} within 1 %: something that they share sets it, not they",
                adapters.len()
            );
            found.push(stall(&all, quantile, *least, reason));
            rest = others;
        } else {
            rest = &rest[1..];
        }
    }
    found
}

fn us(group: &Group, quantile: &str) -> Option<f64> {
    let figure = group.figures.get(&format!("response_us.{quantile}"));
    Some(figure.copied()??.median)
}

fn stall(groups: &[&Group], quantile: &str, us: f64, reason: String) -> Stall {
    let name = |group: &&Group| match group.label.as_str() {
        "" => group.adapter.clone(),
        label => format!("{}@{label}", group.adapter),
    };
    let mut who: Vec<String> = groups.iter().map(name).collect();
    who.sort();
    Stall {
        who,
        workload: groups[0].workload.clone(),
        rate_rps: groups[0].rate_rps,
        quantile: quantile.to_owned(),
        us,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::schema::Spread;

    /// One adapter's p50, p90, p99 and p999 in milliseconds.
    fn group(adapter: &str, ms: [f64; 4]) -> Group {
        let figure = |(quantile, ms): (&str, f64)| {
            let us = ms * 1e3;
            let spread = Spread {
                median: us,
                min: us,
                max: us,
            };
            (format!("response_us.{quantile}"), Some(spread))
        };
        Group {
            adapter: adapter.into(),
            workload: "ok".into(),
            rate_rps: Some(1000),
            figures: QUANTILES.into_iter().zip(ms).map(figure).collect(),
            ..Group::default()
        }
    }

    #[test]
    fn responses_at_a_timer_of_tcp_are_flagged() {
        for (ms, flagged) in [
            ([0.1, 40.1, 40.9, 41.3], Some("p90")),
            ([40.2, 43.9, 90.0, 95.0], Some("p50")),
            ([0.1, 0.2, 200.3, 207.9], Some("p99")),
            ([0.1, 0.2, 40.5, 90.0], None), // one alone is a tail that happens to pass there
            ([30.0, 39.0, 45.0, 60.0], None),
            ([0.1, 41.0, 201.0, 300.0], None),
        ] {
            let found = stalls(&[group("a", ms)]);
            let quantile = found.first().map(|stall| stall.quantile.as_str());
            assert_eq!(quantile, flagged, "{ms:?}");
        }
    }

    #[test]
    fn servers_with_nothing_in_common_but_a_figure_are_flagged() {
        let p99 = |adapter: &str, ms: f64| group(adapter, [0.1, 0.2, ms, 2.0 * ms]);
        let flagged = |groups: &[Group]| -> Vec<Vec<String>> {
            stalls(groups).into_iter().map(|stall| stall.who).collect()
        };
        let same = [
            p99("c", 12.05),
            p99("a", 12.0),
            p99("b", 12.1),
            p99("d", 13.0),
        ];
        assert_eq!(flagged(&same), [["a", "b", "c"]]);
        assert!(flagged(&same[..2]).is_empty(), "two may be alike");
        let fast = ["a", "b", "c"].map(|adapter| p99(adapter, 0.5));
        assert!(flagged(&fast).is_empty(), "the machine itself");
        let mut labels = [p99("a", 12.0), p99("a", 12.0), p99("b", 12.0)];
        labels[1].label = "slow".into();
        assert!(
            flagged(&labels).is_empty(),
            "variants of one are not unrelated"
        );
        let mut apart = same.clone();
        apart[0].rate_rps = Some(2000);
        assert!(flagged(&apart).is_empty(), "only at the same load");
    }

    #[test]
    fn where_a_figure_is_null_nothing_is_said() {
        let mut null = group("a", [40.1, 40.2, 40.3, 40.4]);
        null.figures.values_mut().for_each(|figure| *figure = None);
        assert!(stalls(&[null, Group::default()]).is_empty());
    }
}
