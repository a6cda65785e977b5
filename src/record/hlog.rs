//! `latency.hlog`: the raw histograms of a load, as an interval log that any HdrHistogram tool reads.

use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer, V2Serializer};

use crate::error::{Error, Result};
use crate::record::hlog::counts::Decoder;

pub use counts::highest;

mod counts;

/// The longest value, in nanoseconds: an hour. Longer ones are clamped and counted by the recorder.
pub const LONGEST_NS: u64 = 3_600_000_000_000;
/// No load is longer than this many seconds.
const MAX_SECONDS: usize = 100_000;
/// The clocks with one line for the whole load, in the file's order.
const WHOLE: [&str; 3] = ["service", "lag", "generator_late"];

/// An empty histogram as every clock has it: nanoseconds, 3 significant digits, at most an hour.
pub fn new_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("the bounds are valid")
}

/// The log of one load.
#[derive(Clone, Debug)]
pub struct Hlog {
    /// Seconds since 1970 at the load's first slot.
    pub start_unix_s: f64,
    /// The response clock of the slots completed in each interval, in order.
    pub response: Vec<Interval>,
    /// Last byte minus first byte written.
    pub service: Histogram<u64>,
    /// First byte written minus slot.
    pub lag: Histogram<u64>,
    /// From the slot to the first pass of the generator's loop that finds it due.
    pub generator_late: Histogram<u64>,
}

/// A part of a load. Its histogram is packed: a second takes a kilobyte or two instead of 270, so
/// that a load of hours fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// Seconds since the load's first slot.
    pub start_s: f64,
    /// Its length in seconds.
    pub duration_s: f64,
    packed: Vec<u8>,
}

impl Interval {
    /// Packs a histogram (HdrHistogram's V2 encoding).
    pub fn pack(start_s: f64, duration_s: f64, histogram: &Histogram<u64>) -> Self {
        let mut packed = Vec::new();
        V2Serializer::new()
            .serialize(histogram, &mut packed)
            .expect("memory takes it");
        packed.shrink_to_fit();
        Self {
            start_s,
            duration_s,
            packed,
        }
    }

    /// The histogram.
    pub fn unpack(&self) -> Histogram<u64> {
        let unpacked = Deserializer::new().deserialize(&mut self.packed.as_slice());
        unpacked.expect("what was packed here unpacks")
    }
}

/// What an hlog holds, its seconds added up.
#[derive(Clone, Debug, PartialEq)]
pub struct Totals {
    /// Seconds since 1970 at the load's first slot.
    pub start_unix_s: f64,
    /// The response clock's lines, in order of time.
    pub seconds: Vec<Second>,
    /// The whole load.
    pub clocks: Clocks,
}

/// One line of the response clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Second {
    /// Seconds since the load's first slot.
    pub start_s: f64,
    /// Its length in seconds.
    pub duration_s: f64,
    /// How many responses.
    pub count: u64,
}

/// The clocks of a whole load: what figures are computed from.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Clocks {
    pub response: Histogram<u64>,
    pub service: Histogram<u64>,
    pub lag: Histogram<u64>,
    pub generator_late: Histogram<u64>,
}

impl Hlog {
    /// The log of a load that never began.
    pub fn empty() -> Self {
        Self {
            start_unix_s: 0.0,
            response: Vec::new(),
            service: new_histogram(),
            lag: new_histogram(),
            generator_late: new_histogram(),
        }
    }

    /// The clocks of the whole load.
    pub fn clocks(&self) -> Clocks {
        let mut response = new_histogram();
        for interval in &self.response {
            merge(&mut response, &interval.unpack());
        }
        Clocks {
            response,
            service: self.service.clone(),
            lag: self.lag.clone(),
            generator_late: self.generator_late.clone(),
        }
    }
}

impl Clocks {
    /// Both loads taken as one.
    pub fn plus(mut self, other: &Self) -> Self {
        merge(&mut self.response, &other.response);
        merge(&mut self.service, &other.service);
        merge(&mut self.lag, &other.lag);
        merge(&mut self.generator_late, &other.generator_late);
        self
    }
}

/// Adds a histogram of [`new_histogram`]'s bounds to another.
fn merge(sum: &mut Histogram<u64>, hist: &Histogram<u64>) {
    sum.add(hist).expect("all histograms have the same bounds");
}

/// The whole file.
pub fn write(log: &Hlog) -> String {
    let start = SystemTime::UNIX_EPOCH + seconds(log.start_unix_s);
    let (mut file, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let mut writer = IntervalLogWriterBuilder::new()
        .with_start_time(start)
        .with_base_time(start)
        .begin_log_with(&mut file, &mut serializer)
        .expect("memory takes it");
    let mut line = |tag: &str, start_s: f64, duration_s: f64, hist: &Histogram<u64>| {
        writer
            .write_histogram(hist, seconds(start_s), seconds(duration_s), Tag::new(tag))
            .expect("memory takes it, and no count is over 2^63");
    };
    for interval in &log.response {
        line(
            "response",
            interval.start_s,
            interval.duration_s,
            &interval.unpack(),
        );
    }
    let end = log
        .response
        .last()
        .map_or(0.0, |last| last.start_s + last.duration_s);
    for (tag, hist) in WHOLE
        .iter()
        .zip([&log.service, &log.lag, &log.generator_late])
    {
        line(tag, 0.0, end, hist);
    }
    String::from_utf8(file).expect("the log is ASCII")
}

fn seconds(s: f64) -> Duration {
    Duration::try_from_secs_f64(s).unwrap_or_default()
}

/// Reads what [`write`] wrote, every second of it; anything else is exit 5 with the line's number.
pub fn read(text: &str) -> Result<Hlog> {
    let mut log = Hlog::empty();
    log.start_unix_s = each(text, |line| {
        let whole = match line.tag {
            "response" => {
                let mut second = new_histogram();
                record(&mut second, line.counts);
                let packed = Interval::pack(line.start_s, line.duration_s, &second);
                return log.response.push(packed);
            }
            "service" => &mut log.service,
            "lag" => &mut log.lag,
            _ => &mut log.generator_late,
        };
        record(whole, line.counts);
    })?;
    Ok(log)
}

/// Reads the clocks of the whole load, in memory that hardly grows with its length.
pub fn read_totals(text: &str) -> Result<Totals> {
    totals(text, |_| {})
}

/// Reads the clocks of the whole load, and hands out every interval of the response clock: its start and
/// its length in seconds, and its values in ascending order, each with how often it was recorded. Whole
/// histograms of every second would be so large that filling them is what a report's time goes to.
pub fn read_with(text: &str, mut take: impl FnMut(f64, f64, &[(u64, u64)])) -> Result<Clocks> {
    let totals = totals(text, |line| {
        take(line.start_s, line.duration_s, line.counts)
    })?;
    Ok(totals.clocks)
}

/// Adds up all lines, and hands out those of the response clock.
fn totals(text: &str, mut take: impl FnMut(&Line)) -> Result<Totals> {
    let mut clocks = Hlog::empty().clocks();
    let mut seconds = Vec::new();
    let start_unix_s = each(text, |line| {
        let clock = match line.tag {
            "response" => {
                take(&line);
                seconds.push(Second {
                    start_s: line.start_s,
                    duration_s: line.duration_s,
                    count: line.counts.iter().map(|(_, count)| count).sum(),
                });
                &mut clocks.response
            }
            "service" => &mut clocks.service,
            "lag" => &mut clocks.lag,
            _ => &mut clocks.generator_late,
        };
        record(clock, line.counts);
    })?;
    Ok(Totals {
        start_unix_s,
        seconds,
        clocks,
    })
}

fn record(histogram: &mut Histogram<u64>, counts: &[(u64, u64)]) {
    for (value, count) in counts {
        histogram.saturating_record_n(*value, *count);
    }
}

struct Line<'a> {
    tag: &'a str,
    start_s: f64,
    duration_s: f64,
    /// Values and how often each was recorded, in ascending order.
    counts: &'a [(u64, u64)],
}

/// Calls `use_it` for every interval in order, and returns the start of the log. Strict about form,
/// so that one content has one text and nothing hides beside it.
fn each(text: &str, mut use_it: impl FnMut(Line)) -> Result<f64> {
    let bad = |number: usize, what: &str| Error::unverified(format!("line {number}: {what}"));
    let Some(text) = text.strip_suffix('\n') else {
        return Err(bad(text.lines().count().max(1), "cut short"));
    };
    let mut lines = text.split('\n').zip(1..);
    let mut start_unix_s = None;
    for name in ["StartTime", "BaseTime"] {
        let header = lines.next().and_then(|(line, _)| {
            line.strip_prefix("#[")?
                .strip_prefix(name)?
                .strip_prefix(": ")?
                .strip_suffix(" (seconds since epoch)]")
        });
        let time = header.and_then(time);
        if time.is_none() || (start_unix_s.is_some() && start_unix_s != time) {
            return Err(bad(
                1,
                "expected #[StartTime: …] and the same #[BaseTime: …]",
            ));
        }
        start_unix_s = time;
    }
    let (mut whole, mut end_s) = (WHOLE.iter(), 0.0);
    let mut decoder = Decoder::default();
    for (line, number) in lines {
        if number > MAX_SECONDS {
            return Err(bad(number, "more intervals than a load can have"));
        }
        let interval = interval(line, &mut decoder).map_err(|what| bad(number, what))?;
        if interval.tag != "response" {
            if whole.next() != Some(&interval.tag) {
                return Err(bad(number, "this tag is not expected here"));
            }
            if (interval.start_s, interval.duration_s) != (0.0, end_s) {
                return Err(bad(number, "not over the whole load"));
            }
        } else if whole.len() < WHOLE.len() || interval.start_s < end_s {
            return Err(bad(
                number,
                "response intervals come first, in order of time",
            ));
        } else if interval.start_s.fract() != 0.0 || interval.duration_s != 1.0 {
            return Err(bad(number, "not one second of the load"));
        } else {
            end_s = interval.start_s + 1.0;
        }
        use_it(interval);
    }
    if whole.len() > 0 {
        let what = format!("ended without the tag {}", whole.as_slice().join(", "));
        return Err(bad(text.split('\n').count(), &what));
    }
    Ok(start_unix_s.unwrap_or_default())
}

/// Seconds with exactly three decimals, as the writer has them.
fn time(field: &str) -> Option<f64> {
    let value: f64 = field.parse().ok()?;
    let is_time = value.is_sign_positive() && value < 1e12 && format!("{value:.3}") == field;
    is_time.then_some(value)
}

fn interval<'a>(line: &'a str, decoder: &'a mut Decoder) -> Result<Line<'a>, &'static str> {
    let mut fields = line.strip_prefix("Tag=").ok_or("expected Tag=")?.split(',');
    let mut field = || {
        fields
            .next()
            .ok_or("expected tag, start, duration, maximum, histogram")
    };
    let tag = field()?;
    let start_s = time(field()?).ok_or("not a start in seconds")?;
    let duration_s = time(field()?).ok_or("not a duration in seconds")?;
    let max = field()?;
    let counts = decoder
        .decode(field()?)
        .ok_or("not a histogram of nanoseconds, 3 digits, up to 1 h")?;
    let highest = counts
        .last()
        .map_or(0, |(value, _)| counts::highest(*value));
    if format!("{highest}.000") != max {
        return Err("the maximum is not the histogram's");
    }
    if fields.next().is_some() {
        return Err("more fields than an interval has");
    }
    Ok(Line {
        tag,
        start_s,
        duration_s,
        counts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three seconds of a load with all four clocks.
    fn sample() -> Hlog {
        let mut log = Hlog::empty();
        log.start_unix_s = 1_700_000_000.125;
        for second in 0..3u64 {
            let mut hist = new_histogram();
            (0..50).for_each(|i| hist.record(100_000 + second * 777_777 + i * 3_001).unwrap());
            log.response.push(Interval::pack(second as f64, 1.0, &hist));
        }
        log.service.record_n(80_000, 150).unwrap();
        log.lag.record_n(0, 140).unwrap();
        log.lag.record(LONGEST_NS).unwrap();
        log
    }

    #[test]
    fn what_is_written_is_read_back() {
        let log = sample();
        let text = write(&log);
        assert!(
            text.starts_with("#[StartTime: 1700000000.125 (seconds since epoch)]\n#[BaseTime: ")
        );
        assert!(
            text.contains("\nTag=response,2.000,1.000,1803263.000,HISTF"),
            "{text}"
        );
        let back = read(&text).unwrap();
        assert_eq!(back.response, log.response);
        assert_eq!(back.start_unix_s, log.start_unix_s);
        assert_eq!(back.clocks(), log.clocks());
        let totals = read_totals(&text).unwrap();
        assert_eq!(totals.clocks, log.clocks());
        assert_eq!(totals.start_unix_s, log.start_unix_s);
        let seconds: Vec<_> = totals
            .seconds
            .iter()
            .map(|s| (s.start_s, s.count))
            .collect();
        assert_eq!(seconds, [(0.0, 50), (1.0, 50), (2.0, 50)]);
        assert_eq!(write(&back), text);
        assert!(
            read(&write(&Hlog::empty())).is_ok(),
            "a load that never began has a log too"
        );
    }

    #[test]
    fn anything_else_is_refused_with_its_line() {
        let text = write(&sample());
        let lines: Vec<&str> = text.lines().collect();
        let join = |lines: &[&str]| lines.join("\n") + "\n";
        let swapped = join(&[&lines[..2], &[lines[3], lines[2]], &lines[4..]].concat());
        for (expected, broken) in [
            ("line 1:", String::new()),
            ("line 1:", text.replace("#[BaseTime: 1", "#[BaseTime: 2")),
            ("line 3:", text.replace("response,0.000", "response,NaN")),
            ("line 3:", text.replace("response,0.000", "response,-1.000")),
            ("line 3:", text.replace("response,0.000", "response,0.0000")),
            (
                "line 4:",
                text.replacen("Tag=response,1.0", "Tag=other,1.0", 1),
            ),
            ("line 4:", swapped),
            ("line 5:", text.replace("1803263.000", "1803264.000")),
            (
                "line 7: ended without the tag generator_late",
                join(&lines[..7]),
            ),
            ("line 8: cut short", text.trim_end().to_owned()),
            ("line 9:", join(&[&lines[..], &[lines[7]]].concat())),
            ("line 9:", text.clone() + "#a comment\n"),
        ] {
            let error = read(&broken).expect_err(expected);
            assert_eq!(error.exit, crate::error::Exit::Unverified);
            assert!(
                error.what.starts_with(expected),
                "{expected}: {}",
                error.what
            );
        }
    }

    #[test]
    fn hostile_text_neither_panics_nor_takes_memory() {
        let text = write(&sample());
        for at in 0..text.len() {
            assert!(read_totals(&text[..at]).is_err(), "cut at {at}");
        }
        let start = text.find("HISTF").unwrap();
        for at in start..start + 200 {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            // zlib's checksum catches nearly all; what is left is still a histogram.
            let _ = read_totals(std::str::from_utf8(&bytes).unwrap());
        }
    }
}
