//! DEFLATE with a bound on its output (RFC 1950 and 1951).
//!
//! `hdrhistogram` inflates too, but allocates whatever length a log claims (up to 4 GiB) before it
//! reads a byte of it: not for archives that came from elsewhere.

/// Inflates a whole zlib stream of at most `limit` bytes; `None` where it is anything else.
pub fn zlib(input: &[u8], limit: usize) -> Option<Vec<u8>> {
    let (header, rest) = input.split_first_chunk::<2>()?;
    let plain = header[0] & 15 == 8 && header[1] & 32 == 0;
    if !plain || u16::from_be_bytes(*header) % 31 != 0 {
        return None;
    }
    let (body, checksum) = rest.split_last_chunk::<4>()?;
    let mut bits = Bits { input: body, at: 0 };
    let mut out = Vec::new();
    while !block(&mut bits, &mut out, limit)? {}
    let whole = bits.at.div_ceil(8) == body.len();
    (whole && adler32(&out) == u32::from_be_bytes(*checksum)).then_some(out)
}

fn adler32(data: &[u8]) -> u32 {
    let (mut a, mut b) = (1u32, 0u32);
    for byte in data {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    b << 16 | a
}

/// The input as a stream of bits, lowest first.
struct Bits<'a> {
    input: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    fn take(&mut self, count: u8) -> Option<usize> {
        let mut value = 0;
        for shift in 0..count {
            let byte = self.input.get(self.at / 8)?;
            value |= usize::from(byte >> (self.at % 8) & 1) << shift;
            self.at += 1;
        }
        Some(value)
    }
}

/// A canonical Huffman code: how many symbols have each length, and the symbols in code order.
struct Code {
    counts: [usize; 16],
    symbols: Vec<usize>,
}

impl Code {
    /// From each symbol's length; `None` where more codes are claimed than there are.
    fn new(lengths: &[u8]) -> Option<Self> {
        let mut counts = [0usize; 16];
        lengths.iter().for_each(|l| counts[usize::from(*l)] += 1);
        let mut left = 1usize;
        for count in &counts[1..] {
            left = (left * 2).checked_sub(*count)?;
        }
        let mut symbols: Vec<usize> = (0..lengths.len()).filter(|s| lengths[*s] > 0).collect();
        symbols.sort_by_key(|s| lengths[*s]);
        Some(Self { counts, symbols })
    }

    fn symbol(&self, bits: &mut Bits) -> Option<usize> {
        let (mut code, mut first, mut index) = (0, 0, 0);
        for count in &self.counts[1..] {
            code |= bits.take(1)?;
            if code < first + count {
                return self.symbols.get(index + code - first).copied();
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        None
    }
}

/// One block; true for the last one.
fn block(bits: &mut Bits, out: &mut Vec<u8>, limit: usize) -> Option<bool> {
    let last = bits.take(1)? == 1;
    match bits.take(2)? {
        0 => stored(bits, out, limit)?,
        1 => {
            let mut lengths = [8u8; 288];
            lengths[144..256].fill(9);
            lengths[256..280].fill(7);
            compressed(
                bits,
                out,
                limit,
                &Code::new(&lengths)?,
                &Code::new(&[5; 30])?,
            )?;
        }
        2 => {
            let (literals, distances) = codes(bits)?;
            compressed(bits, out, limit, &literals, &distances)?;
        }
        _ => return None,
    }
    Some(last)
}

fn stored(bits: &mut Bits, out: &mut Vec<u8>, limit: usize) -> Option<()> {
    bits.at = bits.at.next_multiple_of(8);
    let (length, inverse) = (bits.take(16)?, bits.take(16)?);
    let from = bits.at / 8;
    let data = bits.input.get(from..from + length)?;
    if length ^ inverse != 0xffff || out.len() + length > limit {
        return None;
    }
    out.extend_from_slice(data);
    bits.at += length * 8;
    Some(())
}

/// The two codes in front of a dynamic block, themselves written in a third.
fn codes(bits: &mut Bits) -> Option<(Code, Code)> {
    const ORDER: [usize; 19] = [
        16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
    ];
    let literals = bits.take(5)? + 257;
    let distances = bits.take(5)? + 1;
    let count = bits.take(4)? + 4;
    let mut lengths = [0u8; 19];
    for symbol in &ORDER[..count] {
        lengths[*symbol] = bits.take(3)? as u8;
    }
    let code = Code::new(&lengths)?;
    let mut lengths: Vec<u8> = Vec::new();
    while lengths.len() < literals + distances {
        let (value, times) = match code.symbol(bits)? {
            16 => (*lengths.last()?, bits.take(2)? + 3),
            17 => (0, bits.take(3)? + 3),
            18 => (0, bits.take(7)? + 11),
            length => (length as u8, 1),
        };
        lengths.resize(lengths.len() + times, value);
    }
    if lengths.len() > literals + distances {
        return None;
    }
    let (literals, distances) = lengths.split_at(literals);
    Some((Code::new(literals)?, Code::new(distances)?))
}

fn compressed(
    bits: &mut Bits,
    out: &mut Vec<u8>,
    limit: usize,
    literals: &Code,
    distances: &Code,
) -> Option<()> {
    loop {
        match literals.symbol(bits)? {
            literal @ 0..256 => out.push(literal as u8),
            256 => return Some(()),
            symbol => {
                let length = length(bits, symbol)?;
                let symbol = distances.symbol(bits)?;
                let distance = distance(bits, symbol)?;
                let from = out.len().checked_sub(distance)?;
                (from..from + length).for_each(|at| out.push(out[at]));
            }
        }
        if out.len() > limit {
            return None;
        }
    }
}

/// How long a copy is: its symbol names a range, the next bits the place in it.
fn length(bits: &mut Bits, symbol: usize) -> Option<usize> {
    match symbol {
        257..265 => Some(symbol - 254),
        265..285 => {
            let extra = (symbol - 261) / 4;
            Some(3 + ((4 + (symbol - 261) % 4) << extra) + bits.take(extra as u8)?)
        }
        285 => Some(258),
        _ => None,
    }
}

/// From how far back it is taken.
fn distance(bits: &mut Bits, symbol: usize) -> Option<usize> {
    match symbol {
        0..2 => Some(symbol + 1),
        2..30 => {
            let extra = symbol / 2 - 1;
            Some(1 + ((2 + symbol % 2) << extra) + bits.take(extra as u8)?)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;

    /// What zlib itself made (level 9) of `numbers(n)` below, one line each.
    const BY_ZLIB: [(usize, &str); 3] = [
        (0, "eNoDAAAAAAE="),
        (4, "eNoz0DHUMdGx1AEABrABfw=="),
        (
            300,
            "eNodk8cVxDAIRBviYIII/Te2f/bgJ9ukCegzt7Izb4tn2VZnXbZu/n3mwVlFlIwjhZx4nHuWUeRTTV4V55a9OHvT1uQ15/A9/F/iR96RH2MX5u/othZHpwk6DNVl/aU1FdNj+8IuiQMiwsIB6Az7SP0Ywjl8L/+PeIKzhG/pmBD5SGF+kvLSbhZOTMwB99LCrSE85J6HQcsFBrp1hOqz4TzR/5gO4HLKhpYFME0fi0IyBxDTpgFCyKXM91BkUSFt+4MbqYBiYMNnoQ6u4LXA3bBcOgE9kLo2rA+dnNlU5GPAQoOmCcMWxIe6i6JpgWbF3F6YBDSGOM71oLgcBGel4gc+RsC2hnoool/A6D26R/LpiAdsJl6SCpUnETF/pSvbgVuHO8Hzmt+cLr0pm0UBhiHzMFjeIWsz62iQmNT4fCN9JITeP94ZiHOH7xnSDMyU0nzwVoJQObBwKkpQgBfAfWC6hygsVR9DIc4CLyIETZ8IAzcxYErlME2JkpQ43VmJkDn4LNMQacjx51CDJsDzMFAqSUDWSGJ93Bicy9ZnEWLT8N6x57Euhwolk0ectWF4xk1obHU0f6d9YSpIsKyYdiBJVmi5IAnJxaI4kebCQHD+XkgP2S1NtK2yFFY8vfoGxikOMy06/QcYAfOBTTB+5S+Xc0tmNlusnUR6tH5sudBJZ+RvRAtcGuAlZft09WCnZcQWSLWunGQXagguqIqrpV0kwwEz8vd/j3GLrv7JKTQD8Gov2Rw4NlU/3STk4w==",
        ),
    ];

    fn numbers(n: usize) -> Vec<u8> {
        (0..n)
            .flat_map(|i| format!("{},", i * i % 997).into_bytes())
            .collect()
    }

    #[test]
    fn what_zlib_deflated_is_inflated_and_nothing_longer_or_broken() {
        for (n, packed) in BY_ZLIB {
            let packed = base64::engine::general_purpose::STANDARD
                .decode(packed)
                .unwrap();
            let plain = numbers(n);
            assert_eq!(zlib(&packed, plain.len()).as_ref(), Some(&plain), "{n}");
            if n > 0 {
                assert_eq!(zlib(&packed, plain.len() - 1), None, "bounded");
            }
            for at in 0..packed.len() {
                assert_eq!(zlib(&packed[..at], 1 << 20), None, "cut at {at}");
                let mut flipped = packed.clone();
                flipped[at] ^= 1 << (at % 8);
                let _ = zlib(&flipped, 1 << 20);
            }
        }
    }

    #[test]
    fn a_stored_block_is_copied() {
        let mut packed = vec![0x78, 0x01, 1, 2, 0, 0xfd, 0xff, b'o', b'k'];
        packed.extend(adler32(b"ok").to_be_bytes());
        assert_eq!(zlib(&packed, 2).as_deref(), Some(&b"ok"[..]));
    }
}
