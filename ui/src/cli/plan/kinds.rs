//! The kinds of device of a plan, and their prices.

use std::str::FromStr;

use anyhow::{Result, anyhow, bail};
use divisi_engine::search::FleetDevice;
use divisi_runtime::device::simulated::{FindProfileError, find_profile};
use divisi_runtime::device::{Devices, Host, NamedKind};
use divisi_server::DeviceChoice;

use crate::cli::args::parse_price;
use crate::cli::devices::bare;
use crate::cli::open::say;

/// The kind of all devices of this machine.
const HERE: &str = "here";

/// The price per hour of one of a kind.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KindPrice {
    kind: String,
    price: f64,
}

impl FromStr for KindPrice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected KIND=PRICE, such as l4=0.8, found `{text}`");
        let (kind, price) = text.split_once('=').ok_or_else(wrong)?;
        Ok(KindPrice {
            kind: bare(kind.trim()).to_owned(),
            price: parse_price(price)?,
        })
    }
}

/// Returns the kinds called `names`, with `prices` instead of their own.
pub(super) fn kinds(names: &[String], prices: &[KindPrice]) -> Result<Vec<FleetDevice>> {
    let found = names.iter().map(|name| kind(name.trim()));
    let mut found = found.collect::<Result<Vec<FleetDevice>>>()?;
    for KindPrice { kind, price } in prices {
        let Some(priced) = found.iter_mut().find(|k| k.name == *kind) else {
            let known: Vec<&str> = found.iter().map(|k| k.name.as_str()).collect();
            let known = known.join(", ");
            bail!("--price: `{kind}` is not a kind of --kinds: expected one of {known}");
        };
        priced.price = Some(*price);
    }
    Ok(found)
}

fn kind(name: &str) -> Result<FleetDevice> {
    let named = |why: &dyn std::fmt::Display| anyhow!("--kinds: {why}");
    if name == HERE {
        let found = DeviceChoice::default().find(&[]).map_err(|e| named(&e))?;
        say(&found.notices);
        return Ok(FleetDevice::of_machine(HERE, found.devices));
    }
    if let Some(NamedKind::Partition(_) | NamedKind::Gpu) = NamedKind::from_name(name) {
        let devices = Devices::from_names(&[name.to_owned()], &Host::discover());
        return Ok(FleetDevice::of_machine(
            name,
            devices.map_err(|e| named(&e))?,
        ));
    }
    let name = bare(name);
    let profile = find_profile(name).map_err(|error| match error {
        FindProfileError::Unknown { .. } => named(&format!("{error}, or `{HERE}` (this machine)")),
        other => named(&other),
    })?;
    Ok(FleetDevice::simulated(name, &profile))
}
