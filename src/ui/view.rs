//! What a run shows of itself while it goes on: lines of text from figures, and nothing else. Where they
//! are drawn, and when, is the screen's business.

use std::time::{Duration, Instant};

use crate::load::Progress;
use crate::plan::dry_run::clock;
use crate::record::samples::Sample;

/// The widest bar; on a wide terminal names get the rest.
const WIDEST_BAR: usize = 40;
/// What a line says beside its bar takes at most so much.
const BESIDE_BAR: usize = 52;
/// The columns of figures, right-aligned, with the gaps before them.
const COLUMNS: [(&str, usize); 7] = [
    ("req/s", 8),
    ("p50 us", 8),
    ("p99 us", 8),
    ("late us", 9),
    ("CPU %", 7),
    ("RSS MiB", 9),
    ("lost", 6),
];

/// A unit of a run: where it stands in the run, what it does, and how each side fares.
#[derive(Clone, Debug)]
pub struct View {
    /// Units done, and in all; both 0 where there is no more than this one.
    pub units: (usize, usize),
    /// When all of them will have been done, where that can be told.
    pub end: Option<Instant>,
    /// What goes on.
    pub phase: String,
    /// Since when.
    pub since: Instant,
    /// For how long, where that is known.
    pub length: Option<Duration>,
    /// Side by side.
    pub sides: Vec<Side>,
}

/// A side's latest figures.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// As the plan names it.
    pub name: String,
    rps: Option<f64>,
    heard: Option<Progress>,
    cpu_pct: Option<f64>,
    sampled: Option<Sample>,
}

impl Side {
    /// Before anything is known of it.
    pub fn new(name: String) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }

    /// What the generator tells. `share` is the share of the clock that is the side's own: a rate is one
    /// in its own time, as in the plan.
    pub fn hear(&mut self, mut progress: Progress, share: f64) {
        let last = self.heard.unwrap_or_default();
        let own_s = (progress.elapsed_s - last.elapsed_s) * share;
        if own_s <= 0.0 {
            return; // nothing new
        }
        self.rps = Some(progress.completed.saturating_sub(last.completed) as f64 / own_s);
        // A second without a response has no quantiles: those of the last one stay.
        if progress.p50_us == 0.0 {
            (progress.p50_us, progress.p99_us) = (last.p50_us, last.p99_us);
        }
        self.heard = Some(progress);
    }

    /// What was read of the target.
    pub fn sample(&mut self, row: &Sample) {
        let cpu_s = |row: &Sample| Some((row.t_s, row.get("cpu_us")? as f64 / 1e6));
        let last = self.sampled.as_ref().and_then(cpu_s);
        self.cpu_pct = last.zip(cpu_s(row)).map(|((t0, cpu0), (t1, cpu1))| {
            let (cpu_s, s) = (cpu1 - cpu0, t1 - t0);
            100.0 * cpu_s / s
        });
        self.sampled = Some(row.clone());
    }

    fn figures(&self) -> [String; COLUMNS.len()] {
        let progress = self.heard.as_ref();
        // The first second of a load has no quantile yet.
        let clock = |of: fn(&Progress) -> f64| progress.map(of).filter(|us| *us > 0.0);
        let mib = |row: &Sample| row.get("rss_kib").map(|kib| kib as f64 / 1024.0);
        [
            figure(self.rps, 0),
            figure(clock(|p| p.p50_us), 0),
            figure(clock(|p| p.p99_us), 0),
            figure(clock(|p| p.late_p99_us), 1),
            figure(self.cpu_pct, 1),
            figure(self.sampled.as_ref().and_then(mib), 0),
            figure(progress.map(|p| p.not_completed as f64), 0),
        ]
    }
}

impl View {
    /// The unit after `done` of `all`, which will all be done after `left_s` seconds.
    pub fn new(done: usize, all: usize, left_s: Option<f64>, sides: Vec<String>) -> Self {
        let now = Instant::now();
        Self {
            units: (done, all),
            end: left_s.map(|s| now + Duration::from_secs_f64(s.max(0.0))),
            phase: String::new(),
            since: now,
            length: None,
            sides: sides.into_iter().map(Side::new).collect(),
        }
    }

    /// What goes on from now on, and for how long; figures of the load before are over.
    pub fn enter(&mut self, phase: &str, length: Option<Duration>, now: Instant) {
        (self.phase, self.since, self.length) = (phase.to_owned(), now, length);
        for side in &mut self.sides {
            (side.rps, side.heard) = (None, None);
        }
    }

    /// Lines of at most `width` characters, and at most `height` of them.
    pub fn lines(&self, now: Instant, width: usize, height: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let (done, all) = self.units;
        if all > 0 {
            let share = done as f64 / all as f64;
            let left = self.end.map(|end| clock(seconds(now, end)));
            let left = left.map_or(String::new(), |left| format!(", {left} left"));
            let text = format!("{done} of {all} done{left}");
            lines.push(bar_line("run", share, &text, width));
        }
        lines.push(match self.length {
            Some(length) => {
                let (whole_s, gone_s) = (length.as_secs_f64(), seconds(self.since, now));
                let share = if whole_s > 0.0 { gone_s / whole_s } else { 1.0 };
                let text = gone_of(gone_s, whole_s);
                bar_line(&self.phase, share, &text, width)
            }
            None => self.phase.clone(),
        });
        // Before anything is known too: what grows later makes everything jump.
        if !self.sides.is_empty() {
            lines.extend(self.table(width));
        }
        lines.truncate(height);
        lines.iter().map(|line| cut(line, width)).collect()
    }

    fn table(&self, width: usize) -> Vec<String> {
        let figures: usize = COLUMNS.iter().map(|(_, width)| width).sum();
        let longest = self.sides.iter().map(|side| side.name.chars().count());
        let names = longest
            .max()
            .unwrap_or(0)
            .min(width.saturating_sub(figures))
            .max(4);
        let row = |name: &str, figures: [String; COLUMNS.len()]| {
            let figures = figures.iter().zip(COLUMNS);
            let figures = figures.map(|(figure, (_, width))| format!("{figure:>width$}"));
            format!(
                "{:<names$}{}",
                cut(name, names),
                figures.collect::<String>()
            )
        };
        let header = row("", COLUMNS.map(|(name, _)| name.to_owned()));
        let rows = self
            .sides
            .iter()
            .map(|side| row(&side.name, side.figures()));
        std::iter::once(header).chain(rows).collect()
    }

    /// All of it in one line, for a log.
    pub fn line(&self, now: Instant) -> String {
        let mut text = self.phase.clone();
        if let Some(length) = self.length {
            let (gone_s, whole_s) = (seconds(self.since, now), length.as_secs_f64());
            text += &format!(" {}", gone_of(gone_s, whole_s));
        }
        for side in self.sides.iter().filter(|side| side.heard.is_some()) {
            let [rps, p50, p99, late, cpu, rss, lost] = side.figures();
            text += &format!(
                "; {}: {rps} req/s, p50 {p50} us, p99 {p99} us, late {late} us, CPU {cpu} %, RSS {rss} MiB, {lost} lost",
                side.name
            );
        }
        text
    }
}

/// `load  [=====>    ]  5 of 10 s`
fn bar_line(what: &str, share: f64, text: &str, width: usize) -> String {
    let length = width.saturating_sub(BESIDE_BAR).min(WIDEST_BAR);
    let full = (share.clamp(0.0, 1.0) * length as f64) as usize;
    let bar: String = (0..length)
        .map(|at| match at {
            _ if at < full => '=',
            _ if at == full => '>',
            _ => ' ',
        })
        .collect();
    format!("{what:<13} [{bar}]  {text}")
}

/// `3 of 60 s`, `0.3 of 0.5 s`
fn gone_of(gone_s: f64, whole_s: f64) -> String {
    let decimals = if whole_s < 10.0 { 1 } else { 0 };
    let gone_s = gone_s.min(whole_s);
    format!("{gone_s:.decimals$} of {whole_s:.decimals$} s")
}

/// With so many decimals; `-` for what is not known.
fn figure(value: Option<f64>, decimals: usize) -> String {
    let value = value.filter(|value| value.is_finite());
    value.map_or("-".to_owned(), |value| format!("{value:.decimals$}"))
}

/// From one moment to a later one; 0 if it is earlier.
fn seconds(from: Instant, to: Instant) -> f64 {
    to.saturating_duration_since(from).as_secs_f64()
}

/// At most so many characters, none of which moves the cursor; `~` where some are missing.
pub fn cut(text: &str, width: usize) -> String {
    let plain = || text.chars().filter(|c| !c.is_control());
    if plain().count() <= width {
        return plain().collect();
    }
    plain().take(width.saturating_sub(1)).chain(['~']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::samples::{COLUMNS, Mark};

    fn row(t_s: f64, cpu_us: u64, rss_kib: u64) -> Sample {
        let mut values = [None; COLUMNS.len()];
        values[0] = Some(cpu_us);
        values[6] = Some(rss_kib);
        Sample {
            t_s,
            phase: "load".into(),
            mark: Mark::Tick,
            values,
        }
    }

    /// Two sides of a pair, each with half of the clock, 3 s into a load of 10 s.
    fn view(names: [&str; 2]) -> (View, Instant) {
        let mut view = View::new(2, 12, Some(250.0), names.map(str::to_owned).to_vec());
        let start = view.since;
        view.enter("load", Some(Duration::from_secs(10)), start);
        for (side, p99_us) in view.sides.iter_mut().zip([410.4, 98_765.0]) {
            for second in 1..=3 {
                let progress = Progress {
                    elapsed_s: second as f64,
                    due: 500 * second,
                    completed: 500 * second,
                    not_completed: 0,
                    p50_us: 103.4,
                    p99_us,
                    late_p99_us: 0.31,
                };
                side.hear(progress, 0.5);
            }
            side.sample(&row(0.5, 100_000, 80 * 1024));
            side.sample(&row(1.0, 250_000, 86 * 1024));
        }
        (view, start + Duration::from_secs(3))
    }

    #[test]
    fn it_reads_like_this_at_80_columns() {
        let (view, now) = view(["express", "fastify@logs"]);
        let lines = view.lines(now, 79, 23).join("\n");
        let expected = "\
run           [====>                      ]  2 of 12 done, 4 min 07 s left
load          [========>                  ]  3 of 10 s
               req/s  p50 us  p99 us  late us  CPU %  RSS MiB  lost
express         1000     103     410      0.3   30.0       86     0
fastify@logs    1000     103   98765      0.3   30.0       86     0";
        assert_eq!(lines, expected);
    }

    #[test]
    fn nothing_is_wider_or_higher_than_the_terminal() {
        let long = "a-framework-with-a-very-long-name@and-a-label\x1b[2J\r\n";
        let (mut view, now) = view([long, "short"]);
        for phase in [
            "load",
            long,
            "waiting for quiet: CPU 1 is busy in 31 % of the time",
        ] {
            view.phase = phase.repeat(3);
            for length in [
                None,
                Some(Duration::ZERO),
                Some(Duration::from_secs(100_000)),
            ] {
                view.length = length;
                for (width, height) in [(79, 23), (199, 49), (20, 3), (1, 1), (0, 0)] {
                    let lines = view.lines(now, width, height);
                    assert!(lines.len() <= height, "{lines:?}");
                    for line in &lines {
                        assert!(line.chars().count() <= width, "{width}: {line}");
                        assert!(!line.contains(char::is_control));
                    }
                }
            }
        }
        // A wide one shows names whole.
        let lines = view.lines(now, 199, 49).join("\n");
        assert!(lines.contains("very-long-name@and-a-label[2J "), "{lines}");
    }

    #[test]
    fn what_is_not_known_is_a_dash_and_no_zero() {
        let mut view = View::new(0, 0, None, vec!["x".into()]);
        let now = view.since;
        view.enter("starting x", None, now);
        assert_eq!(view.lines(now, 79, 23)[0], "starting x");
        view.sides[0].sample(&row(0.5, 1, 2048));
        let lines = view.lines(now, 79, 23);
        let cells: Vec<&str> = lines[2].split_whitespace().collect();
        assert_eq!(cells, ["x", "-", "-", "-", "-", "-", "2", "-"]);
        // What was heard before says nothing new; a load that follows counts from its own start.
        let progress = |elapsed_s, completed| Progress {
            elapsed_s,
            completed,
            ..Progress::default()
        };
        let rate = |view: &View| view.sides[0].rps;
        view.sides[0].hear(progress(0.0, 0), 1.0);
        assert_eq!(rate(&view), None);
        view.sides[0].hear(progress(1.0, 900), 1.0);
        view.sides[0].hear(progress(1.0, 900), 1.0);
        assert_eq!(rate(&view), Some(900.0));
        view.enter("load", None, now);
        assert_eq!(rate(&view), None);
        view.sides[0].hear(progress(1.0, 100), 1.0);
        view.sides[0].hear(progress(3.0, 500), 1.0);
        assert_eq!(rate(&view), Some(200.0));
    }

    #[test]
    fn a_log_gets_it_in_one_line() {
        let (view, now) = view(["express", "nginx"]);
        let line = view.line(now);
        let start = "load 3 of 10 s; express: 1000 req/s, p50 103 us, p99 410 us, late 0.3 us, \
                     CPU 30.0 %, RSS 86 MiB, 0 lost; nginx: ";
        assert!(line.starts_with(start), "{line}");
    }
}
