//! A histogram as its log holds it: base64 of a zlib stream of HdrHistogram's V2 encoding, decoded
//! into values and counts in memory and time that no claim within it can raise.

use base64::Engine as _;

use super::LONGEST_NS;

/// Counts of a histogram with these bounds, 1,024 for each doubling of the value.
const COUNTS: u64 = 33_792;
/// As many values as have an index of their own before buckets widen.
const LINEAR: u64 = 2048;
/// Bytes before the counts: cookie, length, offset, digits, lowest, highest, ratio.
const HEADER: usize = 40;
/// The most that one histogram's counts can take, 9 bytes each, and the header.
const MAX_PAYLOAD: usize = COUNTS as usize * 9 + HEADER;
/// More values than a load can have; sums of so many stay exact.
const MAX_COUNT: u64 = 1 << 50;

/// Decodes one histogram after another in the same memory.
pub(super) struct Decoder {
    stream: flate2::Decompress,
    payload: Vec<u8>,
    counts: Vec<(u64, u64)>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self {
            stream: flate2::Decompress::new(true),
            payload: Vec::with_capacity(MAX_PAYLOAD),
            counts: Vec::new(),
        }
    }
}

impl Decoder {
    /// The lowest value of each bucket that counted something, ascending, with its count.
    pub(super) fn decode(&mut self, encoded: &str) -> Option<&[(u64, u64)]> {
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
        self.inflate(body)?;
        let counts = self.payload.get(HEADER..)?;
        let mut header = vec![0x1c, 0x84, 0x93, 0x13];
        header.extend(u32::try_from(counts.len()).ok()?.to_be_bytes());
        header.extend([0, 0, 0, 0, 0, 0, 0, 3]);
        header.extend(1u64.to_be_bytes());
        header.extend(LONGEST_NS.to_be_bytes());
        header.extend(1f64.to_be_bytes());
        if !self.payload.starts_with(&header) {
            return None;
        }
        read(counts, &mut self.counts)?;
        Some(&self.counts)
    }

    /// Inflates a whole zlib stream in bounded memory. (hdrhistogram inflates too, but allocates
    /// whatever length a log claims before it reads a byte of it.)
    fn inflate(&mut self, body: &[u8]) -> Option<()> {
        self.stream.reset(true);
        self.payload.clear();
        let finish = flate2::FlushDecompress::Finish;
        let status = self.stream.decompress_vec(body, &mut self.payload, finish);
        let ended = matches!(status, Ok(flate2::Status::StreamEnd));
        (ended && self.stream.total_in() == body.len() as u64).then_some(())
    }
}

/// ZigZag LEB128: a positive number is the next bucket's count, a negative one so many empty buckets.
fn read(mut bytes: &[u8], counts: &mut Vec<(u64, u64)>) -> Option<()> {
    counts.clear();
    let (mut index, mut total) = (0u64, 0u64);
    while !bytes.is_empty() {
        let number = varint(&mut bytes)?;
        let magnitude = (number >> 1) + (number & 1);
        if number & 1 == 1 {
            index = index.checked_add(magnitude)?;
        } else {
            if magnitude > 0 {
                counts.push((value(index), magnitude));
            }
            total = total.checked_add(magnitude)?;
            index += 1;
        }
        if index > COUNTS || total > MAX_COUNT {
            return None;
        }
    }
    Some(())
}

/// Seven bits a byte, the lowest first, the ninth byte all eight.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in 0..9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let last = place == 8;
        let bits = if last { *byte } else { byte & 0x7f };
        number |= u64::from(bits) << (7 * place);
        if last || byte & 0x80 == 0 {
            break;
        }
    }
    Some(number)
}

/// The lowest value of a bucket.
fn value(index: u64) -> u64 {
    match index.checked_sub(LINEAR) {
        None => index,
        Some(beyond) => (LINEAR / 2 + beyond % (LINEAR / 2)) << (beyond / (LINEAR / 2) + 1),
    }
}

/// The highest value of the bucket that a value lies in.
pub fn highest(value: u64) -> u64 {
    let doublings = (value / LINEAR).checked_ilog2().map_or(0, |log| log + 1);
    value | ((1 << doublings) - 1)
}

#[cfg(test)]
mod tests {
    use super::super::new_histogram;
    use super::*;

    #[test]
    fn every_bucket_is_the_librarys() {
        let histogram = new_histogram();
        for index in 0..COUNTS - 1 {
            let value = value(index);
            assert_eq!(histogram.lowest_equivalent(value), value, "{index}");
            assert_eq!(histogram.highest_equivalent(value), highest(value));
            assert_eq!(
                histogram.next_non_equivalent(value),
                super::value(index + 1)
            );
        }
        assert!(highest(value(COUNTS - 1)) > LONGEST_NS);
    }

    #[test]
    fn lengths_and_numbers_that_lie_are_refused() {
        let decodes = |encoded: &str| Decoder::default().decode(encoded).is_some();
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
            decodes(&with(header(1, 3, LONGEST_NS), &[2])),
            "an honest one"
        );
        assert!(!decodes(&with(header(u32::MAX, 3, LONGEST_NS), &[2])));
        assert!(!decodes(&with(header(1, 5, LONGEST_NS), &[2])));
        assert!(!decodes(&with(header(1, 3, u64::MAX), &[2])));
        assert!(!decodes(&with(header(9, 3, LONGEST_NS), &[0xff; 9])));
        assert!(!decodes(&with(header(1, 3, LONGEST_NS), &[0x80])));
    }
}
