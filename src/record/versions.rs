//! What an archive's adapters are, as their own files pin it.

use std::collections::BTreeMap;

use serde_yaml::Value;

use crate::error::Result;
use crate::plan::published::Versions;
use crate::record::planned;
use crate::record::source::Source;

/// The versions of framework and runtime of each adapter in an archive, by its name.
pub fn versions(source: &Source) -> Result<BTreeMap<String, Versions>> {
    let folder = |path: &str| {
        let name = path
            .strip_prefix("sources/adapters/")?
            .strip_suffix("/adapter.yaml")?;
        (!name.contains('/')).then(|| name.to_owned())
    };
    let mut all = BTreeMap::new();
    for (path, _) in source.files() {
        let Some(name) = folder(path) else { continue };
        let adapter = planned::yaml(source, path)?;
        let version = |key: &str| {
            let version = adapter.get(key).and_then(|pinned| pinned.get("version"));
            version.map(text).unwrap_or_default()
        };
        let versions = Versions {
            framework: version("framework"),
            runtime: version("runtime"),
        };
        all.insert(name, versions);
    }
    Ok(all)
}

/// A version that YAML reads as a number is one all the same.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fixture;

    #[test]
    fn every_adapter_in_an_archive_says_what_it_is() {
        let dir = fixture::archive();
        let all = versions(&Source::open(dir.path()).unwrap()).unwrap();
        let names: Vec<&String> = all.keys().collect();
        assert_eq!(names, ["express", "fastify", "nginx"]);
        assert_eq!(
            (
                all["nginx"].framework.as_str(),
                all["nginx"].runtime.as_str()
            ),
            ("1", "1")
        );
    }
}
