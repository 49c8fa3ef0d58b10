//! The check that a request comes from the served page: exact `Host` and `Origin` headers. Another
//! site's page in the same browser, or a name that resolves to this machine, is refused.

use std::net::{IpAddr, SocketAddr};

use hyper::header::{HOST, HeaderMap, HeaderName, ORIGIN};

/// The hosts and origins of a server.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    /// Further hosts, in small letters, with their port if a browser sends it.
    hosts: Vec<String>,
    tls: bool,
}

impl Gate {
    /// Creates the gate of a server that also has these host names.
    pub(super) fn new(hosts: &[String], tls: bool) -> Self {
        let hosts = hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        Gate { hosts, tls }
    }

    /// Returns the host of a request to the address `local`, or `None` if it is not a host of this
    /// server.
    pub(super) fn host(&self, headers: &HeaderMap, local: SocketAddr) -> Option<String> {
        let host = only(headers, HOST)?.to_ascii_lowercase();
        let own = own_hosts(local, default_port(self.tls));
        (own.contains(&host) || self.hosts.contains(&host)).then_some(host)
    }

    /// Returns whether a request to this host comes from a page of the same host.
    pub(super) fn is_same_origin(&self, headers: &HeaderMap, host: &str) -> bool {
        let Some(origin) = only(headers, ORIGIN) else {
            return false;
        };
        let scheme = if self.tls { "https" } else { "http" };
        // A proxy in front of a named host may add TLS.
        let proxied = self.hosts.iter().any(|named| named == host);
        origin == format!("{scheme}://{host}") || (proxied && origin == format!("https://{host}"))
    }
}

/// Returns the only value of a header, or `None` if it is missing, repeated or not text.
fn only(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

fn default_port(tls: bool) -> u16 {
    if tls { 443 } else { 80 }
}

/// Returns the hosts that name the address itself. A name would allow other sites to point theirs
/// here.
fn own_hosts(local: SocketAddr, default_port: u16) -> Vec<String> {
    let (ip, port) = (local.ip().to_canonical(), local.port());
    let mut hosts = vec![match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }];
    if ip.is_loopback() {
        hosts.push("localhost".to_owned());
    }
    let with_port: Vec<String> = hosts.iter().map(|host| format!("{host}:{port}")).collect();
    match port == default_port {
        true => with_port.into_iter().chain(hosts).collect(),
        false => with_port,
    }
}
