//! Whose calls are counted together.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

/// The moments over which rates are taken.
pub const RATE_MOMENTS: usize = 10;

/// Somebody who asks: the holder of a key, or whoever is at an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallerName {
    /// The name of a key.
    Key(Arc<str>),
    /// An address, whatever its ports.
    Address(IpAddr),
}

impl fmt::Display for CallerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallerName::Key(name) => f.write_str(name),
            // That an address of the fourth version came by a socket of the sixth tells nobody anything.
            CallerName::Address(address) => address.to_canonical().fmt(f),
        }
    }
}
