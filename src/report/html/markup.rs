//! Markup that cannot be forged: text from an archive becomes [`Html`] only by being escaped.

use std::fmt::{Display, Write as _};

use crate::report::table::unseen;

/// Markup of this program's own, with all other text in it escaped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Html(String);

impl Html {
    /// Text that is shown as it is; what could steer or hide is shown as U+FFFD.
    pub fn text(text: &str) -> Self {
        let mut html = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                '&' => html.push_str("&amp;"),
                '<' => html.push_str("&lt;"),
                '>' => html.push_str("&gt;"),
                '"' => html.push_str("&quot;"),
                '\'' => html.push_str("&#39;"),
                '\n' | '\t' => html.push(c),
                c if unseen(c) => html.push('\u{fffd}'),
                c => html.push(c),
            }
        }
        Self(html)
    }

    /// A file of this program's, as it is.
    pub fn file(text: &'static str) -> Self {
        Self(text.to_owned())
    }

    /// The markup.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Appends.
    pub fn push(&mut self, more: &Html) {
        self.0 += &more.0;
    }

    /// Appends, for chains.
    pub fn then(mut self, more: &Html) -> Self {
        self.push(more);
        self
    }
}

impl FromIterator<Html> for Html {
    fn from_iter<I: IntoIterator<Item = Html>>(parts: I) -> Self {
        let mut all = Html::default();
        parts.into_iter().for_each(|part| all.push(&part));
        all
    }
}

/// An element that is being written: name and attributes so far.
#[derive(Clone, Debug)]
pub struct Tag {
    name: &'static str,
    open: String,
}

/// Begins an element.
pub fn tag(name: &'static str) -> Tag {
    let open = format!("<{name}");
    Tag { name, open }
}

impl Tag {
    /// An attribute.
    pub fn set(mut self, name: &'static str, value: impl Display) -> Self {
        let value = Html::text(&value.to_string());
        let _ = write!(self.open, " {name}=\"{}\"", value.0);
        self
    }

    /// The element around text.
    pub fn text(self, text: &str) -> Html {
        self.html(&Html::text(text))
    }

    /// The element around markup.
    pub fn html(self, content: &Html) -> Html {
        let Self { name, open } = self;
        Html(format!("{open}>{}</{name}>", content.0))
    }

    /// The element without content, as SVG writes it.
    pub fn empty(self) -> Html {
        Html(self.open + "/>")
    }
}

/// A template with every `{{name}}` filled.
///
/// # Panics
/// If the template and the list differ in their names: a mistake of this program's.
pub fn fill(template: &'static str, holes: &[(&str, Html)]) -> Html {
    let mut parts = template.split("{{");
    let mut html = parts.next().unwrap_or_default().to_owned();
    let mut used = vec![false; holes.len()];
    for part in parts {
        let (name, rest) = part.split_once("}}").expect("every hole is closed");
        let at = holes.iter().position(|(own, _)| *own == name);
        let at = at.unwrap_or_else(|| panic!("nothing fills {{{{{name}}}}}"));
        used[at] = true;
        html += &holes[at].1.0;
        html += rest;
    }
    assert!(used.into_iter().all(|used| used), "a part has no place");
    Html(html)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "</td><script>alert('1')</script>\" onload=\"x\u{202e}\x1b&amp;\0";

    #[test]
    fn text_never_becomes_markup() {
        let cell = tag("td").set("title", HOSTILE).text(HOSTILE);
        let html = cell.as_str();
        assert_eq!(html.matches('<').count(), 2, "{html}");
        assert_eq!(html.matches('>').count(), 2, "{html}");
        assert_eq!(html.matches('"').count(), 2, "{html}");
        assert!(!html.contains(['\'', '\u{202e}', '\x1b', '\0']), "{html}");
        assert!(html.contains("&amp;amp;"), "{html}");
    }

    #[test]
    fn what_fills_a_template_is_not_a_template() {
        let own = Html::text("{{b}}");
        let html = fill("<p>{{a}}</p>{{b}}", &[("a", own), ("b", Html::text("x"))]);
        assert_eq!(html.as_str(), "<p>{{b}}</p>x");
        let html: Html = [tag("br").empty(), tag("i").set("n", 1).text("<")]
            .into_iter()
            .collect();
        assert_eq!(html.as_str(), "<br/><i n=\"1\">&lt;</i>");
    }

    #[test]
    #[should_panic(expected = "nothing fills {{b}}")]
    fn a_hole_that_stays_open_is_a_mistake() {
        fill("{{a}}{{b}}", &[("a", Html::default())]);
    }
}
