//! Who listens in this network namespace: what to tell the author of a target that does not answer.

use std::fmt::Write;

/// The state of a listening socket in /proc/net/tcp.
const LISTEN: &str = "0A";

/// A sentence on why nothing answers on 127.0.0.1 at `port`, from the texts of /proc/net/tcp and
/// /proc/net/tcp6.
pub fn explain(port: u16, tcp: &str, tcp6: &str) -> String {
    let (v4, v6) = (listeners(tcp), listeners(tcp6));
    let on = |list: &[(String, u16)]| list.iter().any(|(_, listening)| *listening == port);
    if on(&v4) {
        return format!("something listens on port {port}, but gave no valid response");
    }
    if let Some((address, _)) = v6.iter().find(|(_, listening)| *listening == port) {
        // An IPv6 socket that listens on all addresses takes IPv4 as well, unless told not to.
        let only = if address == ANY_V6 {
            "IPv6 only"
        } else {
            "::1 only"
        };
        return format!("the target listens on {only}: make it listen on 0.0.0.0:{port}");
    }
    let mut others: Vec<u16> = v4
        .iter()
        .chain(&v6)
        .map(|(_, listening)| *listening)
        .collect();
    others.sort_unstable();
    others.dedup();
    let mut why = format!("nothing listens on port {port}");
    if !others.is_empty() {
        let _ = write!(
            why,
            "; what does listen: {others:?} (is adapter.yaml's port right?)"
        );
    }
    why
}

const ANY_V6: &str = "00000000000000000000000000000000";

/// (address in the kernel's hexadecimal, port) of every listening socket.
fn listeners(table: &str) -> Vec<(String, u16)> {
    let rows = table.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (address, port) = fields.next()?.rsplit_once(':')?;
        let state = fields.nth(1)?;
        (state == LISTEN).then_some((address.to_owned(), u16::from_str_radix(port, 16).ok()?))
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "  sl  local_address rem_address   st tx_queue rx_queue\n";

    fn row(address: &str, port: u16, state: &str) -> String {
        format!("{HEADER}   0: {address}:{port:04X} 00000000:0000 {state} 00000000:00000000\n")
    }

    #[test]
    fn the_sentence_names_what_is_wrong() {
        let loopback = "00000000000000000000000001000000";
        let table = [
            (
                row("0100007F", 8080, "0A"),
                String::new(),
                "no valid response",
            ),
            (String::new(), row(loopback, 8080, "0A"), "::1 only"),
            (String::new(), row(ANY_V6, 8080, "0A"), "IPv6 only"),
            (row("00000000", 3000, "0A"), String::new(), "[3000]"),
            (
                row("00000000", 8080, "01"),
                String::new(),
                "nothing listens",
            ),
            (String::new(), String::new(), "nothing listens"),
            ("x\ny z".into(), "\n:::".into(), "nothing listens"),
        ];
        for (tcp, tcp6, expected) in table {
            let why = explain(8080, &tcp, &tcp6);
            assert!(why.contains(expected), "{why}");
        }
    }
}
