//! Parity's client and the load's send the same bytes: a server cannot tell one from the other, and
//! what was proven is what is measured.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use shootout::load::request;
use shootout::parity::Ask;
use shootout::parity::client::Client;

#[test]
fn the_parity_clients_request_is_the_loads_byte_for_byte() {
    const JSON: (&str, &str) = ("Content-Type", "application/json");
    const TEXT: (&str, &str) = ("X-Text", "a, b;c=\"d\"");
    type Case = (
        &'static str,
        &'static str,
        &'static [(&'static str, &'static str)],
        Option<&'static str>,
    );
    let table: [Case; 12] = [
        ("GET", "/", &[], None),
        ("GET", "/hello/caf%C3%A9%20x?y=1&y=2", &[], None),
        ("GET", "/", &[TEXT, ("x-a", "1")], None),
        ("GET", "/", &[("accept", "text/html"), TEXT], None),
        ("GET", "/", &[TEXT, ("Accept", "text/html")], None),
        ("GET", "/", &[("User-Agent", "somebody"), TEXT], None),
        ("HEAD", "/", &[TEXT], None),
        ("POST", "/", &[JSON, TEXT], Some("{\"a\":1}")),
        ("POST", "/", &[], None),
        ("POST", "/", &[JSON], Some("")),
        ("PUT", "/x", &[TEXT], Some("é")),
        ("DELETE", "/x", &[], None),
    ];
    for (method, path, headers, body) in table {
        let own = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        let ask = Ask {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: headers.iter().map(own).collect(),
            body: body.map(str::to_owned),
        };
        let (port, sent) = sent_by_parity(&ask);
        let authority = format!("127.0.0.1:{port}");
        let load = request::bytes(method, path, &authority, &ask.headers, body);
        let load = String::from_utf8(load).unwrap();
        assert_eq!(sent, load, "parity's on the left, the load's on the right");
    }
}

/// The port that was asked, and all that came there.
fn sent_by_parity(ask: &Ask) -> (u16, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let quiet = Some(Duration::from_millis(200));
        connection.set_read_timeout(quiet).unwrap();
        let (mut all, mut chunk) = (Vec::new(), [0; 4096]);
        // Until it falls silent: a body comes on its own.
        while let Ok(length @ 1..) = connection.read(&mut chunk) {
            all.extend_from_slice(&chunk[..length]);
        }
        let _ = connection.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
        String::from_utf8(all).unwrap()
    });
    let answer = shootout::runtime().unwrap().block_on(async {
        let client = Client::new(port, Duration::from_secs(10)).unwrap();
        client.ask(ask).await
    });
    assert_eq!(answer.status, 204, "{answer:?}");
    (port, server.join().unwrap())
}
