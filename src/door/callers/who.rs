//! The identity of a client for counting.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

/// The number of intervals for rates.
pub const RATE_MOMENTS: usize = 10;

/// A client: the holder of a key, or an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallerName {
    /// The name of a key.
    Key(Arc<str>),
    /// An address, with any port.
    Address(IpAddr),
}

impl fmt::Display for CallerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallerName::Key(name) => f.write_str(name),
            // IPv4 addresses mapped to IPv6 are shown as IPv4.
            CallerName::Address(address) => address.to_canonical().fmt(f),
        }
    }
}
