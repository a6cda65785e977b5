//! Figures over the rounds, as a table of medians and ranges.

use std::fmt::Write;

/// What a median must be.
enum Wanted {
    Nothing,
    AtLeast(f64),
    AtMost(f64),
}

struct Figure {
    name: String,
    wanted: Wanted,
    rounds: Vec<f64>,
}

/// Every figure, in the order in which it was first given.
#[derive(Default)]
pub struct Figures(Vec<Figure>);

impl Figures {
    /// One that is only told.
    pub fn note(&mut self, name: &str, value: f64) {
        self.add(name, Wanted::Nothing, value);
    }

    /// One that should be this much or more.
    pub fn at_least(&mut self, name: &str, bound: f64, value: f64) {
        self.add(name, Wanted::AtLeast(bound), value);
    }

    /// One that should be this much or less.
    pub fn at_most(&mut self, name: &str, bound: f64, value: f64) {
        self.add(name, Wanted::AtMost(bound), value);
    }

    fn add(&mut self, name: &str, wanted: Wanted, value: f64) {
        match self.0.iter_mut().find(|figure| figure.name == name) {
            Some(figure) => figure.rounds.push(value),
            None => self.0.push(Figure {
                name: name.to_owned(),
                wanted,
                rounds: vec![value],
            }),
        }
    }

    /// The table.
    pub fn table(&mut self, rounds: usize) -> String {
        self.0.sort_by(|a, b| a.name[..3].cmp(&b.name[..3]));
        let head = format!("over {rounds} rounds");
        let mut text = format!(
            "{head:62} {:>10}  {:>21}  wanted\n",
            "median", "smallest..largest"
        );
        for Figure {
            name,
            wanted,
            rounds,
        } in &mut self.0
        {
            rounds.sort_by(f64::total_cmp);
            let median = (rounds[rounds.len() / 2] + rounds[(rounds.len() - 1) / 2]) / 2.0;
            let range = format!("{}..{}", short(rounds[0]), short(rounds[rounds.len() - 1]));
            let wanted = match *wanted {
                Wanted::Nothing => String::new(),
                Wanted::AtLeast(bound) => format!(">= {bound}{}", missed(median >= bound)),
                Wanted::AtMost(bound) => format!("<= {bound}{}", missed(median <= bound)),
            };
            let line = format!("{name:62} {:>10}  {range:>21}  {wanted}", short(median));
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text
    }
}

fn missed(kept: bool) -> &'static str {
    if kept { "" } else { "  MISSED" }
}

fn short(value: f64) -> String {
    match value {
        value if value >= 1000.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.3}"),
    }
}
