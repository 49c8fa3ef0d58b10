//! The order of a plan: the goal, and the kinds of device that a fleet may contain.

use std::sync::Arc;
use std::time::Duration;

use crate::search::cache::Cache;
use crate::search::error::AskedError;
use crate::search::method::{Goal, Method};
use crate::serving::PredictorFactory;
use divisi_model::catalogue::Demand;
use divisi_runtime::device::simulated::DeviceProfile;
use divisi_runtime::device::{DeviceError, Devices};

/// A kind of device that a fleet may contain.
#[derive(Clone, Debug)]
pub struct FleetDevice {
    /// Its name on the command line.
    pub name: String,
    /// The devices that one of the kind adds to a fleet.
    pub unit: Devices,
    /// The most of the kind in a fleet.
    pub most: usize,
    /// The price of one per hour, or `None` if it is unknown.
    pub price: Option<f64>,
}

impl FleetDevice {
    /// Returns a kind of simulated device, with the price of its profile and without a limit.
    pub fn simulated(name: &str, profile: &Arc<DeviceProfile>) -> Self {
        FleetDevice {
            name: name.to_owned(),
            unit: Devices::simulated(profile, 1),
            most: usize::MAX,
            price: profile.price,
        }
    }

    /// Returns devices of this machine as one kind. A fleet contains all of them or none. They cost
    /// nothing, because they exist already.
    pub fn of_machine(name: &str, devices: Devices) -> Self {
        FleetDevice {
            name: name.to_owned(),
            unit: devices,
            most: 1,
            price: Some(0.0),
        }
    }

    /// Returns whether the kind is simulated.
    pub fn is_simulated(&self) -> bool {
        self.unit.all_simulated()
    }

    fn in_words(&self, count: usize) -> String {
        match self.is_simulated() {
            true => format!("{count} × {}", self.name),
            false => self.name.clone(),
        }
    }
}

/// An order for a plan.
#[derive(Clone)]
pub struct PlanOrder {
    /// The ensemble to serve, or several with their shares of the requests.
    pub demand: Demand,
    /// The available kinds of device.
    pub kinds: Vec<FleetDevice>,
    /// The most devices of all kinds together.
    pub most: usize,
    /// The required samples per second.
    pub rate: f64,
    /// The highest allowed p99.
    pub p99: Option<Duration>,
    /// Bytes that must stay free in the memory of every device.
    pub spare_memory: u64,
    /// The seed of the search.
    pub seed: u64,
    /// Whether to continue after the answer, for a longer list of offers.
    pub wide: bool,
    /// The factory of workers, for kinds of this machine.
    pub factory: Arc<dyn PredictorFactory>,
    /// The cache of results and profiles.
    pub cache: Option<Cache>,
}

impl PlanOrder {
    /// Returns a fleet in words, such as `16 × v100 + 1 × cpu`.
    pub fn in_words(&self, counts: &[usize]) -> String {
        let kinds = self.kinds.iter().zip(counts).filter(|(_, n)| **n > 0);
        let parts: Vec<String> = kinds.map(|(kind, &n)| kind.in_words(n)).collect();
        parts.join(" + ")
    }

    /// Returns the price of a fleet per hour, or `None` if a kind's price is unknown.
    pub(super) fn price(&self, counts: &[usize]) -> Option<f64> {
        let kinds = self.kinds.iter().zip(counts);
        let prices = kinds.map(|(kind, &count)| Some(kind.price? * count as f64));
        prices.sum()
    }

    /// Returns the devices of a fleet.
    pub(super) fn devices(&self, counts: &[usize]) -> Result<Devices, DeviceError> {
        let kinds = self.kinds.iter().zip(counts);
        Devices::joined(kinds.flat_map(|(kind, &count)| std::iter::repeat_n(&kind.unit, count)))
    }

    /// Checks that all kinds can be in one fleet.
    pub(super) fn check_kinds(&self) -> Result<(), AskedError> {
        self.devices(&vec![1; self.kinds.len()])?;
        Ok(())
    }

    /// Returns the method of the search for a fleet of `devices`: the default of `divisi allocate`.
    /// Nothing runs on a fleet that exists only in part.
    pub(super) fn method(&self, devices: &Devices) -> Method {
        let mut method = Method::quick();
        method.bounds.seed = self.seed;
        method.goal = Goal {
            p99: self.p99,
            rate: Some(self.rate),
            spare_memory: self.spare_memory,
            ..Goal::default()
        };
        if devices.is_simulated() && !devices.all_simulated() {
            method.finalists = 0;
        }
        method
    }
}
