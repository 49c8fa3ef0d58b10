//! Servers that are told of something by `POST`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread;

use divisi_door::client::Webhook;

/// Answers one request with a line; returns the request's first line and its body.
fn answering(with: &'static str) -> (Webhook, thread::JoinHandle<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let server = thread::spawn(move || {
        let (stream, _) = listener.accept().expect("somebody");
        let mut reader = BufReader::new(&stream);
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).expect("a line");
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_ascii_lowercase()),
            }
        }
        let length = lines
            .iter()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.expect("a length").parse().expect("a number");
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("a body");
        (&stream).write_all(with.as_bytes()).expect("an answer");
        (lines.remove(0), String::from_utf8(body).expect("text"))
    });
    let webhook = format!("http://127.0.0.1:{port}/jobs?of=me");
    (webhook.parse().expect("an address"), server)
}

#[test]
fn json_is_posted_and_whether_it_was_taken_is_told() {
    let cases = [
        ("HTTP/1.1 204 No Content\r\n\r\n", None),
        (
            "HTTP/1.1 500 Internal Server Error\r\n\r\n",
            Some("it answered with status 500"),
        ),
        ("SSH-2.0-something\r\n", Some("no HTTP status")),
    ];
    for (answer, refused) in cases {
        let (webhook, server) = answering(answer);
        let posted = webhook.post("{\"job\":3}").map_err(|why| why.to_string());
        assert_eq!(posted.err().as_deref(), refused);
        let (first, body) = server.join().expect("ends");
        assert_eq!(first, "post /jobs?of=me http/1.1");
        assert_eq!(body, "{\"job\":3}");
    }
}

#[test]
fn an_address_is_a_server_and_a_path() {
    let cases = [
        ("http://localhost:80", Some("http://localhost:80/")),
        ("https://host/a/b", Some("https://host:443/a/b")),
        ("http://[::1]:8080/x", Some("http://[::1]:8080/x")),
        ("http://", None),
        ("http:///jobs", None),
        ("ftp://host/jobs", None),
        ("http://host/a b", None),
        ("http://host/a\r\nx: y", None),
        ("mail -s done me", None),
    ];
    for (text, expected) in cases {
        let parsed = text.parse::<Webhook>().map(|webhook| webhook.to_string());
        assert_eq!(parsed.ok().as_deref(), expected, "{text}");
    }
}
