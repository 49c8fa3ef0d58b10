//! The kind of a device as a snapshot has it, and how it is written.

use serde::{Deserialize, Serialize};

use crate::device::DeviceKind;

/// The kind of a device, and what an operator may do with the device.
///
/// It is written as its name alone wherever [`DeviceKindView::default_of`] says the same of
/// the name. So recordings that have only the name can be read, and look as they did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct DeviceKindView {
    /// The name of the kind.
    pub name: String,
    /// An operator may let the device disappear or grow slow.
    pub faults_on_demand: bool,
}

/// The suffix of the name of a kind whose devices can do what others of that name
/// cannot, and the other way round.
const WITH_FAULTS: &str = "+faults";
const WITHOUT_FAULTS: &str = "-faults";

impl DeviceKindView {
    /// Returns the kind called `name`, of which nothing else is known: devices that are
    /// simulated have faults on demand.
    pub fn default_of(name: &str) -> Self {
        DeviceKindView {
            name: name.to_owned(),
            faults_on_demand: name == DeviceKind::SIMULATED,
        }
    }
}

impl From<&str> for DeviceKindView {
    /// Reads a kind as it is written.
    fn from(written: &str) -> Self {
        let told = |end: &str, faults_on_demand| {
            let name = written.strip_suffix(end)?.to_owned();
            Some(DeviceKindView {
                name,
                faults_on_demand,
            })
        };
        told(WITH_FAULTS, true)
            .or_else(|| told(WITHOUT_FAULTS, false))
            .unwrap_or_else(|| DeviceKindView::default_of(written))
    }
}

impl From<String> for DeviceKindView {
    fn from(written: String) -> Self {
        written.as_str().into()
    }
}

impl From<DeviceKindView> for String {
    fn from(kind: DeviceKindView) -> Self {
        let end = match kind.faults_on_demand {
            _ if kind == DeviceKindView::default_of(&kind.name) => "",
            true => WITH_FAULTS,
            false => WITHOUT_FAULTS,
        };
        kind.name + end
    }
}
