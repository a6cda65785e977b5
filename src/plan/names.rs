//! Names: which are allowed, and what a person who mistyped one probably meant.

/// The longest name.
const LONGEST: usize = 64;

/// Checks a name that becomes part of file names, image tags and labels.
pub(super) fn check(name: &str) -> Result<(), String> {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let mut chars = name.chars();
    if name.len() <= LONGEST
        && name.chars().all(inner)
        && edge(chars.next())
        && edge(name.chars().last())
    {
        return Ok(());
    }
    Err(format!(
        "`{name}` is not a name: lowercase letters and digits, with - _ . in between, at most {LONGEST}"
    ))
}

fn inner(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c)
}

/// A name made of one that may be too long, or have other characters in it, but begins as a name does.
pub(super) fn safe(text: &str) -> String {
    let plain = |c: char| if inner(c) { c } else { '-' };
    let name: String = text.chars().map(plain).take(LONGEST).collect();
    name.trim_end_matches(['-', '_', '.']).to_owned()
}

/// The known name that is nearest to the one that was typed, if any is near.
pub(super) fn nearest<'a>(
    typed: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let bound = (typed.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|name| (distance(typed, name), name))
        .filter(|(distance, _)| *distance <= bound)
        .min()
        .map(|(_, name)| name)
}

/// What to do about a name that does not exist: the nearest one, and all there are.
pub(super) fn advice<S: AsRef<str>>(typed: &str, known: &[S]) -> String {
    let names: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    let all = if names.is_empty() {
        "there are none".to_owned()
    } else {
        format!("there are: {}", names.join(", "))
    };
    match nearest(typed, names) {
        Some(name) => format!("did you mean `{name}`? {all}"),
        None => all,
    }
}

/// Edits between two names: a letter added, left out, replaced, or swapped with its neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut edits = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            edits[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = edits[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let moved = edits[i - 1][j].min(edits[i][j - 1]) + 1;
                let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                let swap = if swapped {
                    edits[i - 2][j - 2] + 1
                } else {
                    moved
                };
                replaced.min(moved).min(swap)
            };
        }
    }
    edits[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_in_files_and_tags() {
        for good in ["ok", "node-http", "total.js5", "a", "9to5"] {
            assert_eq!(check(good), Ok(()));
        }
        for bad in ["", "-a", "a-", "A", "a b", "a/b", "..", "a@b", "a,b", "é"] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_no_name_is_made_one() {
        assert_eq!(safe("duel-express@slow-nginx"), "duel-express-slow-nginx");
        let long = safe(&format!("duel-{}", "abcde-".repeat(20)));
        assert_eq!(check(&long), Ok(()));
    }

    #[test]
    fn the_nearest_name_is_offered_only_when_near() {
        let known = ["express", "fastify", "nginx"];
        assert_eq!(nearest("expres", known), Some("express"));
        assert_eq!(nearest("ngnix", known), Some("nginx"));
        assert_eq!(nearest("nginy", known), Some("nginx"));
        assert_eq!(nearest("spring", known), None);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!((distance("", "ab"), distance("ab", "ba")), (2, 1));
        assert_eq!(advice("x", &[] as &[&str]), "there are none");
        assert_eq!(
            advice("fastfy", &known),
            "did you mean `fastify`? there are: express, fastify, nginx"
        );
    }
}
