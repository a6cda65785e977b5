//! `latency.hlog`: the raw histograms of a load, as an interval log that any HdrHistogram tool reads.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer, V2Serializer};

use crate::error::{Error, Result};

/// The longest value, in nanoseconds: an hour. Longer ones are clamped and counted by the recorder.
pub const LONGEST_NS: u64 = 3_600_000_000_000;
/// No load is longer than this many seconds.
const MAX_SECONDS: usize = 100_000;
/// The most that one histogram's counts can take: 33,792 of them, 9 bytes each, and the header.
const MAX_PAYLOAD: usize = 33_792 * 9 + HEADER;
/// Bytes before the counts: cookie, length, offset, digits, lowest, highest, ratio.
const HEADER: usize = 40;
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
pub fn merge(sum: &mut Histogram<u64>, hist: &Histogram<u64>) {
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
    log.start_unix_s = each(text, |line| match line.tag {
        "response" => log
            .response
            .push(Interval::pack(line.start_s, line.duration_s, &line.hist)),
        "service" => log.service = line.hist,
        "lag" => log.lag = line.hist,
        _ => log.generator_late = line.hist,
    })?;
    Ok(log)
}

/// Reads the clocks of the whole load, in memory that does not grow with its length.
pub fn read_clocks(text: &str) -> Result<Clocks> {
    read_with(text, |_, _, _| {})
}

/// The same, and hands out every interval of the response clock: its start and its length in seconds.
pub fn read_with(text: &str, mut take: impl FnMut(f64, f64, &Histogram<u64>)) -> Result<Clocks> {
    let mut clocks = Hlog::empty().clocks();
    each(text, |line| match line.tag {
        "response" => {
            merge(&mut clocks.response, &line.hist);
            take(line.start_s, line.duration_s, &line.hist);
        }
        "service" => clocks.service = line.hist,
        "lag" => clocks.lag = line.hist,
        _ => clocks.generator_late = line.hist,
    })?;
    Ok(clocks)
}

struct Line<'a> {
    tag: &'a str,
    start_s: f64,
    duration_s: f64,
    hist: Histogram<u64>,
}

/// Calls `use_it` for every interval in order, and returns the start of the log. Strict about form,
/// so that one content has one text and nothing hides beside it.
fn each<'a>(text: &'a str, mut use_it: impl FnMut(Line<'a>)) -> Result<f64> {
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
    for (line, number) in lines {
        if number > MAX_SECONDS {
            return Err(bad(number, "more intervals than a load can have"));
        }
        let interval = interval(line).map_err(|what| bad(number, what))?;
        if interval.tag != "response" {
            if whole.next() != Some(&interval.tag) {
                return Err(bad(number, "this tag is not expected here"));
            }
        } else if whole.len() < WHOLE.len() || interval.start_s < end_s {
            return Err(bad(
                number,
                "response intervals come first, in order of time",
            ));
        } else {
            // Both were rounded to milliseconds.
            end_s = interval.start_s + interval.duration_s - 0.0015;
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

fn interval(line: &str) -> Result<Line<'_>, &'static str> {
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
    let hist = histogram(field()?).ok_or("not a histogram of nanoseconds, 3 digits, up to 1 h")?;
    if format!("{:.3}", hist.max() as f64) != max {
        return Err("the maximum is not the histogram's");
    }
    if fields.next().is_some() {
        return Err("more fields than an interval has");
    }
    Ok(Line {
        tag,
        start_s,
        duration_s,
        hist,
    })
}

/// Inflates a whole zlib stream in bounded memory. (hdrhistogram inflates too, but allocates whatever
/// length a log claims before it reads a byte of it.)
fn inflate(body: &[u8]) -> Option<Vec<u8>> {
    let mut payload = Vec::with_capacity(MAX_PAYLOAD);
    let mut stream = flate2::Decompress::new(true);
    let status = stream.decompress_vec(body, &mut payload, flate2::FlushDecompress::Finish);
    let whole =
        matches!(status, Ok(flate2::Status::StreamEnd)) && stream.total_in() == body.len() as u64;
    whole.then_some(payload)
}

/// A histogram from its base64, checked before the library sees it.
fn histogram(encoded: &str) -> Option<Histogram<u64>> {
    if encoded.len() > MAX_PAYLOAD * 2 {
        return None;
    }
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(encoded)
        .ok()?;
    let (cookie, rest) = bytes.split_first_chunk::<4>()?;
    let (length, body) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    if *cookie != [0x1c, 0x84, 0x93, 0x14] || length != body.len() {
        return None;
    }
    let payload = inflate(body)?;
    let counts = payload.get(HEADER..)?;
    let mut header = vec![0x1c, 0x84, 0x93, 0x13];
    header.extend(u32::try_from(counts.len()).ok()?.to_be_bytes());
    header.extend([0, 0, 0, 0, 0, 0, 0, 3]);
    header.extend(1u64.to_be_bytes());
    header.extend(LONGEST_NS.to_be_bytes());
    header.extend(1f64.to_be_bytes());
    // Nine such bytes are the number whose negation overflows inside the library.
    let overflows = counts.windows(9).any(|nine| nine == [0xff; 9]);
    if !payload.starts_with(&header) || overflows {
        return None;
    }
    Deserializer::new().deserialize(&mut &payload[..]).ok()
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
        assert_eq!(read_clocks(&text).unwrap(), log.clocks());
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
            assert!(read_clocks(&text[..at]).is_err(), "cut at {at}");
        }
        let start = text.find("HISTF").unwrap();
        for at in start..start + 200 {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            // zlib's checksum catches nearly all; what is left is still a histogram.
            let _ = read_clocks(std::str::from_utf8(&bytes).unwrap());
        }
    }

    #[test]
    fn lengths_and_numbers_that_lie_are_refused_before_the_library_sees_them() {
        let line = |payload: &[u8]| {
            // A stored block: the shortest way to say anything in zlib's form.
            let length = u16::try_from(payload.len()).unwrap();
            let mut zlib = vec![0x78, 0x01, 1];
            zlib.extend(length.to_le_bytes());
            zlib.extend((!length).to_le_bytes());
            zlib.extend(payload);
            let (mut a, mut b) = (1u32, 0u32);
            for byte in payload {
                a = (a + u32::from(*byte)) % 65_521;
                b = (b + a) % 65_521;
            }
            zlib.extend((b << 16 | a).to_be_bytes());
            let mut bytes = vec![0x1c, 0x84, 0x93, 0x14];
            bytes.extend(u32::try_from(zlib.len()).unwrap().to_be_bytes());
            bytes.extend(zlib);
            base64::engine::general_purpose::STANDARD.encode(bytes)
        };
        let header = |length: u32, digits: u32, highest: u64| {
            let mut payload = vec![0x1c, 0x84, 0x93, 0x13];
            payload.extend(length.to_be_bytes());
            payload.extend([0; 4]);
            payload.extend(digits.to_be_bytes());
            payload.extend(1u64.to_be_bytes());
            payload.extend(highest.to_be_bytes());
            payload.extend(1f64.to_be_bytes());
            payload
        };
        let with = |mut payload: Vec<u8>, counts: &[u8]| {
            payload.extend(counts);
            line(&payload)
        };
        assert!(
            histogram(&with(header(1, 3, LONGEST_NS), &[2])).is_some(),
            "an honest one"
        );
        assert!(histogram(&with(header(u32::MAX, 3, LONGEST_NS), &[2])).is_none());
        assert!(histogram(&with(header(1, 5, LONGEST_NS), &[2])).is_none());
        assert!(histogram(&with(header(1, 3, u64::MAX), &[2])).is_none());
        assert!(histogram(&with(header(9, 3, LONGEST_NS), &[0xff; 9])).is_none());
        assert!(histogram(&with(header(1, 3, LONGEST_NS), &[0x80])).is_none());
    }
}
