//! Reads HTTP/1.1 responses (RFC 9112) from whatever pieces they arrive in, in bounded memory.
//!
//! The head is parsed by `httparse`; this file decides where the body ends and hands it on piece by
//! piece, without keeping it.

use super::outcome::Failure;

/// A head longer than this is refused: nothing that a server sends makes the client grow.
pub const HEAD_MAX: usize = 64 * 1024;
/// More header fields than this are refused.
const FIELDS_MAX: usize = 128;
/// Chunk extensions and trailers are read over up to this many bytes.
const CHUNK_EXTRAS_MAX: usize = 64 * 1024;

/// Where the reader stands within one response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Head,
    /// So many bytes of the body are still to come.
    Length(u64),
    /// Within a chunk-size line: the size so far, and whether a digit was seen.
    ChunkSize(u64, bool),
    /// After the size, up to the end of the line.
    ChunkExtension(u64),
    ChunkData(u64),
    /// The line end after a chunk's data; true once CR was seen.
    ChunkEnd(bool),
    /// In a trailer: true while its line has no byte yet.
    Trailer(bool),
    UntilClose,
    Done,
}

/// What the first lines of a response said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The status code.
    pub status: u16,
    /// Whether the connection stays usable after this response.
    pub keep_alive: bool,
}

/// A reader of one response after the other.
#[derive(Debug)]
pub struct Reader {
    state: State,
    head: Head,
    /// What came of a head that is not complete yet.
    partial: Vec<u8>,
    extras: usize,
    /// A HEAD request is answered by a head alone.
    bodiless: bool,
}

impl Default for Reader {
    fn default() -> Self {
        let (state, head) = (State::Head, Head::default());
        Self {
            state,
            head,
            partial: Vec::new(),
            extras: 0,
            bodiless: false,
        }
    }
}

impl Reader {
    /// Gets ready for the next response; `bodiless` for the answer to a HEAD request.
    pub fn start(&mut self, bodiless: bool) {
        self.partial.clear();
        (self.state, self.head, self.extras) = (State::Head, Head::default(), 0);
        self.bodiless = bodiless;
    }

    /// The head, once it was read.
    pub fn head(&self) -> Head {
        self.head
    }

    /// Whether any byte of this response has come.
    pub fn started(&self) -> bool {
        self.state != State::Head || !self.partial.is_empty()
    }

    /// Whether the response is whole.
    pub fn done(&self) -> bool {
        self.state == State::Done
    }

    /// Takes the next bytes; gives the body's bytes to `body` and returns how many were used. Fewer
    /// than given means that the response is whole and something follows it.
    pub fn feed(&mut self, bytes: &[u8], mut body: impl FnMut(&[u8])) -> Result<usize, Failure> {
        let mut used = 0;
        while used < bytes.len() && self.state != State::Done {
            used += self.step(&bytes[used..], &mut body)?;
        }
        Ok(used)
    }

    /// The connection was closed: the end of a body that has no length, else a failure.
    pub fn close(&mut self) -> Result<(), Failure> {
        match self.state {
            State::Done => Ok(()),
            State::UntilClose => {
                self.state = State::Done;
                Ok(())
            }
            State::Head if self.partial.is_empty() => Err(Failure::ClosedUnanswered),
            // What was never going to be a head is said to be none, in how many pieces it came.
            State::Head => parse_head(&self.partial, self.bodiless).and(Err(Failure::ClosedEarly)),
            _ => Err(Failure::ClosedEarly),
        }
    }

    fn step(&mut self, bytes: &[u8], body: &mut impl FnMut(&[u8])) -> Result<usize, Failure> {
        let first = bytes[0];
        match self.state {
            State::Head => return self.read_head(bytes),
            State::Length(left) => {
                let part = &bytes[..bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
                body(part);
                let left = left - part.len() as u64;
                self.state = if left == 0 {
                    State::Done
                } else {
                    State::Length(left)
                };
                return Ok(part.len());
            }
            State::UntilClose => {
                body(bytes);
                return Ok(bytes.len());
            }
            State::ChunkData(left) => {
                let part = &bytes[..bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
                body(part);
                let left = left - part.len() as u64;
                self.state = if left == 0 {
                    State::ChunkEnd(false)
                } else {
                    State::ChunkData(left)
                };
                return Ok(part.len());
            }
            State::ChunkSize(size, digits) => {
                self.state = match (char::from(first).to_digit(16), first) {
                    (Some(digit), _) => {
                        let size = size.checked_mul(16).ok_or(Failure::NotHttp)?;
                        State::ChunkSize(size + u64::from(digit), true)
                    }
                    (None, b'\n') if digits => after_size(size),
                    (None, b'\r' | b';' | b' ' | b'\t') if digits => State::ChunkExtension(size),
                    _ => return Err(Failure::NotHttp),
                };
            }
            State::ChunkExtension(size) => {
                self.count_extra()?;
                if first == b'\n' {
                    self.state = after_size(size);
                }
            }
            State::ChunkEnd(cr) => {
                self.state = match (cr, first) {
                    (false, b'\r') => State::ChunkEnd(true),
                    (_, b'\n') => State::ChunkSize(0, false),
                    _ => return Err(Failure::NotHttp),
                }
            }
            State::Trailer(empty) => {
                self.count_extra()?;
                self.state = match (empty, first) {
                    (true, b'\n') => State::Done,
                    (true, b'\r') => State::Trailer(true),
                    (_, b'\n') => State::Trailer(true),
                    _ => State::Trailer(false),
                }
            }
            State::Done => unreachable!("feed stops at the end of a response"),
        }
        Ok(1)
    }

    fn count_extra(&mut self) -> Result<(), Failure> {
        self.extras += 1;
        if self.extras > CHUNK_EXTRAS_MAX {
            Err(Failure::HeadTooLong)
        } else {
            Ok(())
        }
    }

    /// Parses straight from the bytes that came; only a head in several pieces is collected.
    fn read_head(&mut self, bytes: &[u8]) -> Result<usize, Failure> {
        if self.partial.is_empty()
            && let Some(parsed) = parse_head(bytes, self.bodiless)?
        {
            return Ok(self.enter(parsed));
        }
        let before = self.partial.len();
        let take = bytes.len().min(HEAD_MAX - before);
        self.partial.extend_from_slice(&bytes[..take]);
        // A head ends with a line: without a new line's end there is nothing new to find.
        if bytes[..take].contains(&b'\n')
            && let Some(parsed) = parse_head(&self.partial, self.bodiless)?
        {
            self.partial.clear();
            return Ok(self.enter(parsed) - before);
        }
        if self.partial.len() == HEAD_MAX {
            Err(Failure::HeadTooLong)
        } else {
            Ok(take)
        }
    }

    fn enter(&mut self, parsed: Parsed) -> usize {
        (self.head, self.state) = (parsed.head, parsed.next);
        parsed.length
    }
}

fn after_size(size: u64) -> State {
    if size == 0 {
        State::Trailer(true)
    } else {
        State::ChunkData(size)
    }
}

/// A whole head: what it says, and where the reader goes on after it.
struct Parsed {
    length: usize,
    head: Head,
    next: State,
}

/// Parses a head; `None` if it is not whole yet.
fn parse_head(bytes: &[u8], bodiless: bool) -> Result<Option<Parsed>, Failure> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut response = httparse::Response::new(&mut fields);
    let length = match response.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Failure::HeadTooLong),
        Err(_) => return Err(Failure::NotHttp),
    };
    let status = response.code.ok_or(Failure::NotHttp)?;
    let mut fields = Fields {
        keep_alive: response.version == Some(1),
        length: None,
        chunked: None,
    };
    for field in response.headers.iter() {
        fields.note(field.name, field.value)?;
    }
    let state = match status {
        // Other final responses follow an interim one (RFC 9110, 15.2); 101 was not asked for.
        101 => return Err(Failure::NotHttp),
        100..200 => State::Head,
        _ if bodiless => State::Done,
        204 | 304 => State::Done,
        _ => fields.body()?,
    };
    let keep_alive = fields.keep_alive && state != State::UntilClose;
    Ok(Some(Parsed {
        length,
        head: Head { status, keep_alive },
        next: state,
    }))
}

/// The header fields that decide where a response ends (RFC 9112, 6.3).
struct Fields {
    keep_alive: bool,
    length: Option<u64>,
    /// Whether `chunked` is the last transfer coding; `None` without any.
    chunked: Option<bool>,
}

impl Fields {
    fn note(&mut self, name: &str, value: &[u8]) -> Result<(), Failure> {
        if name.eq_ignore_ascii_case("content-length") {
            for part in value.split(|b| *b == b',') {
                let length = decimal(part.trim_ascii()).ok_or(Failure::ConflictingLengths)?;
                if self.length.is_some_and(|other| other != length) {
                    return Err(Failure::ConflictingLengths);
                }
                self.length = Some(length);
            }
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            let last = value.rsplit(|b| *b == b',').next().unwrap_or_default();
            self.chunked = Some(last.trim_ascii().eq_ignore_ascii_case(b"chunked"));
        } else if name.eq_ignore_ascii_case("connection") {
            for option in value.split(|b| *b == b',').map(<[u8]>::trim_ascii) {
                if option.eq_ignore_ascii_case(b"close") {
                    self.keep_alive = false;
                } else if option.eq_ignore_ascii_case(b"keep-alive") {
                    self.keep_alive = true;
                }
            }
        }
        Ok(())
    }

    fn body(&self) -> Result<State, Failure> {
        Ok(match (self.chunked, self.length) {
            // Two ways to find the end are how responses get smuggled: refused, not guessed.
            (Some(_), Some(_)) => return Err(Failure::ConflictingLengths),
            (Some(true), None) => State::ChunkSize(0, false),
            (None, Some(0)) => State::Done,
            (None, Some(length)) => State::Length(length),
            (Some(false) | None, None) => State::UntilClose,
        })
    }
}

fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a response came to: the status, the body, whether the connection stays, and what was
    /// left over.
    type Read = Result<(u16, Vec<u8>, bool, Vec<u8>), Failure>;

    fn read(pieces: &[&[u8]], bodiless: bool, closed: bool) -> Read {
        let mut reader = Reader::default();
        reader.start(bodiless);
        let (mut body, mut left) = (Vec::new(), Vec::new());
        for piece in pieces {
            let used = reader.feed(piece, |part| body.extend_from_slice(part))?;
            left.extend_from_slice(&piece[used..]);
        }
        if closed {
            reader.close()?;
        }
        assert!(reader.done(), "not whole: {:?}", reader.state);
        Ok((reader.head().status, body, reader.head().keep_alive, left))
    }

    /// (what the server sends, then closes; the answer to a HEAD; what it comes to)
    fn table() -> Vec<(&'static str, bool, Read)> {
        let ok = |status, body: &str, keep| Ok((status, body.into(), keep, vec![]));
        vec![
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
                false,
                ok(200, "ok", true),
            ),
            (
                "HTTP/1.1 200 OK\r\ncOnTeNt-LeNgTh: 2\r\n\r\nok",
                false,
                ok(200, "ok", true),
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok",
                false,
                ok(200, "ok", true),
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
                false,
                ok(200, "", true),
            ),
            (
                "HTTP/1.1 200 OK\r\n\r\nuntil close",
                false,
                ok(200, "until close", false),
            ),
            (
                "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
                false,
                ok(200, "ok", false),
            ),
            (
                "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nok",
                false,
                ok(200, "ok", true),
            ),
            (
                "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 2\r\n\r\nok",
                false,
                ok(200, "ok", false),
            ),
            (
                "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
                false,
                ok(204, "", true),
            ),
            (
                "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
                false,
                ok(304, "", true),
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
                true,
                ok(200, "", true),
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                true,
                ok(200, "", true),
            ),
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
                false,
                ok(200, "ok", true),
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n4;a=\"b\"\r\nwiki\r\n5 \r\npedia\r\nA\r\n0123456789\r\n0\r\nExpires: x\r\nB: y\r\n\r\n",
                false,
                ok(200, "wikipedia0123456789", true),
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                false,
                ok(200, "", true),
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nraw",
                false,
                ok(200, "raw", false),
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 500",
                false,
                Ok((200, "ok".into(), true, "HTTP/1.1 500".into())),
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok",
                false,
                Err(Failure::ClosedEarly),
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
                false,
                Err(Failure::ClosedEarly),
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabX",
                false,
                Err(Failure::NotHttp),
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
                false,
                Err(Failure::NotHttp),
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n11111111111111111\r\n",
                false,
                Err(Failure::NotHttp),
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-",
                false,
                Err(Failure::ClosedEarly),
            ),
            ("", false, Err(Failure::ClosedUnanswered)),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
                false,
                Err(Failure::ConflictingLengths),
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok",
                false,
                Err(Failure::ConflictingLengths),
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok",
                false,
                Err(Failure::ConflictingLengths),
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
                false,
                Err(Failure::ConflictingLengths),
            ),
            (
                "HTTP/1.1 101 Switching Protocols\r\n\r\n",
                false,
                Err(Failure::NotHttp),
            ),
            ("SSH-2.0-OpenSSH_9.2\r\n", false, Err(Failure::NotHttp)),
        ]
    }

    #[test]
    fn each_response_is_read_alike_however_it_is_split() {
        for (text, bodiless, expected) in table() {
            let bytes = text.as_bytes();
            assert_eq!(read(&[bytes], bodiless, true), expected, "{text:?}");
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(
                read(&single, bodiless, true),
                expected,
                "byte by byte: {text:?}"
            );
            for at in 0..=bytes.len() {
                let (a, b) = bytes.split_at(at);
                let pieces: Vec<&[u8]> = [a, b].into_iter().filter(|p| !p.is_empty()).collect();
                assert_eq!(
                    read(&pieces, bodiless, true),
                    expected,
                    "split at {at}: {text:?}"
                );
            }
        }
    }

    #[test]
    fn nothing_that_a_server_sends_makes_the_reader_grow() {
        let endless: [(&str, &[u8]); 4] = [
            ("", b"HTTP/1.1 200 OK\r\nX: "),
            ("HTTP/1.1 200 OK\r\nX: ", &[b'x'; 1000]),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;",
                &[b'x'; 1000],
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
                b"X: y\r\n",
            ),
        ];
        for (start, again) in endless {
            let mut reader = Reader::default();
            let _ = reader.feed(start.as_bytes(), |_| ()).unwrap();
            let refused = (0..100_000).find_map(|_| reader.feed(again, |_| ()).err());
            assert!(refused.is_some(), "{start:?}");
            assert!(reader.partial.capacity() <= 2 * HEAD_MAX);
        }
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(200));
        assert_eq!(
            read(&[many.as_bytes()], false, true),
            Err(Failure::HeadTooLong)
        );
    }

    /// What came of feeding `bytes` in pieces that end at `cuts`: the outcome, how far the response
    /// reached, and the body.
    fn fed(bytes: &[u8], cuts: &[usize]) -> (Result<bool, Failure>, usize, Vec<u8>) {
        let mut reader = Reader::default();
        reader.start(false);
        let (mut at, mut body) = (0, Vec::new());
        for cut in cuts.iter().copied().chain([bytes.len()]) {
            if cut <= at || reader.done() {
                continue;
            }
            match reader.feed(&bytes[at..cut], |part| body.extend_from_slice(part)) {
                Ok(used) if reader.done() => return (Ok(true), at + used, body),
                Ok(used) => at += used,
                Err(failure) => return (Err(failure), 0, body),
            }
            assert!(reader.partial.len() <= HEAD_MAX);
        }
        (reader.close().map(|()| true), bytes.len(), body)
    }

    /// Mutates whole responses and cuts them anywhere: the same bytes give the same outcome, and
    /// nothing panics. `SHOOTOUT_FUZZ_SECONDS=600 cargo test --release --lib fuzz` runs it longer.
    #[test]
    fn fuzz_any_bytes_read_alike_in_any_pieces() {
        use crate::draw::Draw;
        let seconds = std::env::var("SHOOTOUT_FUZZ_SECONDS")
            .ok()
            .and_then(|s| s.parse().ok());
        let end = std::time::Instant::now() + std::time::Duration::from_secs(seconds.unwrap_or(1));
        let texts: Vec<&str> = table().iter().map(|(text, ..)| *text).collect();
        let scraps: [&[u8]; 8] = [
            b"\r\n",
            b"\n",
            b"0\r\n\r\n",
            b":",
            b"Content-Length: 3\r\n",
            b"f;x\r\n",
            b"\0",
            b"HTTP/1.1 200 OK\r\n",
        ];
        let mut draw = Draw::new("fuzz", 1);
        let mut rounds = 0u64;
        while rounds < 2_000 || std::time::Instant::now() < end {
            rounds += 1;
            let mut pick = |n: usize| draw.below(n as u64 + 1) as usize;
            let mut bytes = texts[pick(texts.len() - 1)].as_bytes().to_vec();
            for _ in 0..pick(3) {
                let at = pick(bytes.len());
                match pick(3) {
                    0 if at < bytes.len() => bytes[at] = pick(255) as u8,
                    1 => bytes.truncate(at),
                    2 => drop(bytes.splice(at..at, scraps[pick(7)].iter().copied())),
                    _ => drop(bytes.drain(at..(at + pick(4)).min(bytes.len()))),
                }
            }
            let whole = fed(&bytes, &[]);
            for _ in 0..4 {
                let mut cuts: Vec<usize> = (0..pick(6)).map(|_| pick(bytes.len())).collect();
                cuts.sort_unstable();
                let (outcome, length, body) = fed(&bytes, &cuts);
                assert_eq!(
                    outcome,
                    whole.0,
                    "cut at {cuts:?}: {:?}",
                    String::from_utf8_lossy(&bytes)
                );
                if outcome.is_ok() {
                    assert_eq!(
                        (length, body),
                        (whole.1, whole.2.clone()),
                        "cut at {cuts:?}"
                    );
                }
            }
        }
    }
}
