//! `report --format json`: the summary and the archive's id.

use serde::Serialize;

use crate::error::{Error, Result};
use crate::record::schema::Summary;
use crate::record::source::Source;
use crate::record::{compare, json};

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    id: Option<&'a str>,
}

/// The whole document; the id is null for an archive that is not finished.
pub fn render(summary: &Summary, id: Option<&str>) -> Result<String> {
    json::text(&Document { summary, id })
}

/// The summary in an archive, unverified. Exit 5 where there is none that this program reads.
pub fn read(source: &Source) -> Result<Summary> {
    let bytes = source
        .read("summary.json")
        .map_err(|e| e.at("summary.json"))?;
    let value = compare::parse(&bytes).map_err(|e| e.at("summary.json"))?;
    serde_json::from_value(value).map_err(|e| {
        Error::unverified(format!(
            "summary.json: not a summary of this program's schema: {e}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fixture;

    #[test]
    fn the_summary_with_its_id() {
        let dir = fixture::archive();
        let source = Source::open(dir.path()).unwrap();
        let summary = read(&source).unwrap();
        let id = source.id().unwrap();
        let text = render(&summary, Some(&id)).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["id"], id.as_str());
        assert_eq!(json["groups"].as_array().unwrap().len(), 2);
        assert!(
            text.find("\"schema\"") < text.find("\"generator\""),
            "fields keep their order"
        );
    }
}
