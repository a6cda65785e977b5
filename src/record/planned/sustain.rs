//! What a search fixed before anything was measured, and how large its images are, as the files of an
//! archive say.

use std::collections::BTreeMap;

use serde_yaml::Value;

use super::{count, counts, seconds};
use crate::error::{Error, Result};
use crate::record::compare;
use crate::record::schema::ImageSize;
use crate::record::source::Source;
use crate::stats::sustain::SustainRules;
use crate::stats::sustain::ladder::{MOST_RUNGS, rungs, stride};

/// Trials of a rate, and the steps of a ladder, where a plan says none.
const TRIALS: u64 = 3;
const COARSE: f64 = 1.3;
const FINE: f64 = 1.05;
/// More trials of a rate than any plan has.
const MOST_TRIALS: u64 = 99;

/// Of a plan that looks for the highest rate.
pub(super) fn rules(plan: &Value) -> Result<SustainRules> {
    let bad = |key: &str, what: &str| Error::unverified(format!("{key}: expected {what}"));
    let names = |key: &str| {
        let list = plan.get(key).and_then(Value::as_sequence);
        let names = list.into_iter().flatten().map(Value::as_str);
        let names: Option<Vec<String>> = names.map(|name| name.map(str::to_owned)).collect();
        names.ok_or_else(|| bad(key, "a list of names"))
    };
    let (rungs, stride) = rates(plan)?;
    let trials = plan.get("trials").map_or(Some(TRIALS), Value::as_u64);
    let trials = trials.filter(|trials| (1..=MOST_TRIALS).contains(trials));
    // One number of connections is written without a list.
    let connections = plan.get("connections").unwrap_or(&Value::Null);
    let connections = connections.get(0).unwrap_or(connections).as_u64();
    let small = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    let phases = plan.get("phases");
    let load = phases.and_then(|phases| phases.get("load"));
    let warm_up = phases.and_then(|phases| phases.get("warm_up")?.get("seconds"));
    Ok(SustainRules {
        contenders: names("adapters")?,
        workloads: names("workloads")?,
        rungs,
        stride,
        trials: small(trials.ok_or_else(|| bad("trials", "a number"))?),
        connections: small(connections.unwrap_or_default()),
        threads: small(count(plan, "threads").max(1)),
        mode: plan
            .get("mode")
            .and_then(Value::as_str)
            .unwrap_or("pinned")
            .to_owned(),
        seed: plan.get("seed").and_then(Value::as_u64).unwrap_or(1),
        load_s: load.and_then(seconds).unwrap_or_default(),
        warm_up_s: warm_up.and_then(seconds).unwrap_or_default(),
    })
}

/// The rates of the ladder, or those that are listed, and how many a step on the way up skips.
fn rates(plan: &Value) -> Result<(Vec<u64>, usize)> {
    let Some(ladder) = plan.get("ladder") else {
        let listed = counts(plan.get("rates_rps"));
        return match listed.is_empty() || listed.len() > MOST_RUNGS {
            true => Err(Error::unverified("rates_rps: expected rates, or a ladder")),
            false => Ok((listed, 1)),
        };
    };
    let step = |key: &str, otherwise| ladder.get(key).map_or(Some(otherwise), Value::as_f64);
    let [from, to] = ["from", "to"].map(|key| count(ladder, key));
    match (step("coarse", COARSE), step("fine", FINE)) {
        (Some(coarse), Some(fine)) if 0 < from && from < to && fine > 1.0 => {
            Ok((rungs(from, to, fine), stride(coarse, fine)))
        }
        _ => Err(Error::unverified(
            "ladder: expected from, to, coarse and fine, ascending",
        )),
    }
}

/// How large each adapter's image is, by the adapter's name; none for a list that is of another form.
/// What an image has of its own are the layers beyond those of the largest other one that it starts from.
pub(super) fn image_sizes(source: &Source) -> Result<BTreeMap<String, ImageSize>> {
    let images = source.read("images.json")?;
    let images = compare::parse(&images)?;
    let list = images.as_array().map(Vec::as_slice).unwrap_or_default();
    let images: Vec<Image> = list.iter().filter_map(Image::of).collect();
    let sized = images.iter().filter_map(|image| {
        let adapter = image.source.strip_prefix("adapters/")?;
        let below = images.iter().filter(|other| image.starts_from(other));
        let shared = below.map(|other| other.bytes).fold(0.0, f64::max);
        let mib = |bytes: f64| bytes / (1024.0 * 1024.0);
        let own = (!image.layers.is_empty()).then(|| mib((image.bytes - shared).max(0.0)));
        let size = ImageSize {
            mib: Some(mib(image.bytes)),
            own_mib: own,
        };
        Some((adapter.to_owned(), size))
    });
    Ok(sized.collect())
}

/// An image as `images.json` has it.
struct Image<'a> {
    source: &'a str,
    bytes: f64,
    layers: Vec<&'a str>,
}

impl<'a> Image<'a> {
    fn of(entry: &'a serde_json::Value) -> Option<Self> {
        let image = entry.get("image")?;
        let layers = image.get("layers").and_then(serde_json::Value::as_array);
        Some(Self {
            source: image.get("source")?.as_str()?,
            bytes: image.get("size_bytes")?.as_f64()?,
            layers: layers
                .into_iter()
                .flatten()
                .filter_map(serde_json::Value::as_str)
                .collect(),
        })
    }

    fn starts_from(&self, other: &Image) -> bool {
        let further = self.layers.len() > other.layers.len();
        further && !other.layers.is_empty() && self.layers.starts_with(&other.layers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "\
adapters: [x, y@slow]
workloads: [ok]
ladder: {from: 1000, to: 2000}
connections: 100
phases: {load: 4s, warm_up: {seconds: 2}}
";

    fn of(text: &str) -> Result<SustainRules> {
        rules(&serde_yaml::from_str(text).unwrap())
    }

    #[test]
    fn a_searchs_rules_are_read_with_their_defaults() {
        let read = of(PLAN).unwrap();
        assert_eq!(
            (read.contenders.join(" "), read.stride),
            ("x y@slow".into(), 5)
        );
        assert_eq!((read.rungs[0], read.rungs.last()), (1000, Some(&2000)));
        assert_eq!(
            (read.trials, read.threads, read.mode.as_str()),
            (3, 1, "pinned")
        );
        assert_eq!((read.load_s, read.warm_up_s, read.seed), (4.0, 2.0, 1));
        let listed = PLAN.replace("ladder: {from: 1000, to: 2000}", "rates_rps: [10, 20]");
        let listed = of(&(listed + "trials: 1\nmode: unleashed\nthreads: 4\n")).unwrap();
        assert_eq!((listed.rungs, listed.stride), (vec![10, 20], 1));
        assert_eq!(
            (listed.trials, listed.threads, listed.mode.as_str()),
            (1, 4, "unleashed")
        );
        for (good, bad) in [
            ("from: 1000", "from: 0"),
            ("to: 2000", "to: 900"),
            ("to: 2000", "to: 2000, fine: 1"),
            ("to: 2000", "to: 2000, coarse: x"),
            ("[x, y@slow]", "[x, 3]"),
            ("ladder: {from: 1000, to: 2000}\n", ""),
            ("connections", "trials: 0\nconnections"),
        ] {
            assert!(of(&PLAN.replace(good, bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_images_own_size_leaves_out_what_it_starts_from() {
        let dir = tempfile::tempdir().unwrap();
        let mib = 1024 * 1024;
        let image = |source: &str, size: u64, layers: &[&str]| serde_json::json!({"image": {"source": source, "size_bytes": size * mib, "layers": layers}});
        let images = serde_json::json!([
            image("docker/base", 50, &["a"]),
            image("docker/jre", 90, &["a", "b"]),
            image("adapters/x", 100, &["a", "b", "c"]),
            image("adapters/y", 70, &["a", "c"]),
            image("adapters/old", 70, &[]),
            image("agent", 5, &["z"]),
        ]);
        std::fs::write(dir.path().join("images.json"), images.to_string()).unwrap();
        let sizes = image_sizes(&Source::open(dir.path()).unwrap()).unwrap();
        let own: Vec<_> = sizes
            .iter()
            .map(|(name, size)| (name.as_str(), size.mib, size.own_mib))
            .collect();
        assert_eq!(
            own,
            [
                ("old", Some(70.0), None),
                ("x", Some(100.0), Some(10.0)),
                ("y", Some(70.0), Some(20.0)),
            ]
        );
        std::fs::write(dir.path().join("images.json"), "{}").unwrap();
        assert!(
            image_sizes(&Source::open(dir.path()).unwrap())
                .unwrap()
                .is_empty()
        );
    }
}
