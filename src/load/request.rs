//! The one place where a request is put into bytes. The parity client (reqwest) sends the same head;
//! a test holds the two together.

use super::template::Template;

/// Who the kit says it is: an honest name, the same in parity and under load.
pub const USER_AGENT: &str = concat!("shootout/", env!("CARGO_PKG_VERSION"));

/// The header fields that every request carries, before its own; a request's own `accept` or
/// `user-agent` takes the place of these.
pub fn common_headers() -> [(&'static str, &'static str); 2] {
    [("user-agent", USER_AGENT), ("accept", "*/*")]
}

/// A request as it is sent.
///
/// `target` is a path with its query, `headers` the request's own. Where `{nonce}` stands in the body
/// its length is that of a nonce.
pub fn bytes(
    method: &str,
    target: &str,
    authority: &str,
    headers: &[(String, String)],
    body: Option<&str>,
) -> Vec<u8> {
    let mut head = format!("{method} {target} HTTP/1.1\r\n");
    let of_name = |wanted: &str| {
        let mut own = headers.iter();
        own.rfind(|(own, _)| own.eq_ignore_ascii_case(wanted))
    };
    let common = common_headers();
    for (name, value) in common {
        let value = of_name(name).map_or(value, |(_, own)| own.as_str());
        head += &format!("{name}: {value}\r\n");
    }
    for (name, value) in headers {
        if !common
            .iter()
            .any(|(common, _)| common.eq_ignore_ascii_case(name))
        {
            head += &format!("{}: {value}\r\n", name.to_ascii_lowercase());
        }
    }
    head += &format!("host: {authority}\r\n");
    if let Some(body) = body.filter(|body| !body.is_empty()) {
        head += &format!(
            "content-length: {}\r\n",
            Template::parse(body.as_bytes()).len()
        );
    }
    head += "\r\n";
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(body.unwrap_or_default().as_bytes());
    bytes
}

/// Whether a request may be sent again where no byte of an answer came (RFC 9110, 9.2.2).
pub fn is_idempotent(method: &str) -> bool {
    matches!(
        method,
        "GET" | "HEAD" | "OPTIONS" | "PUT" | "DELETE" | "TRACE"
    )
}
