//! Kinds of devices: equal devices with their price.

use divisi_engine::search::precisions::AccuracyLossError;
use divisi_modelless::variants::{PricedDevice, VariantPrecision};
use divisi_runtime::device::{Computation, Device, DeviceKind, Devices, Host};

use super::error::RegistrationError;
use crate::profiles::DevicePrices;

/// Equal devices. A measurement on one device is valid for all of them.
#[derive(Clone, Debug)]
pub struct KindOfDevice {
    /// The devices.
    pub devices: Devices,
    /// The name, price and memory of one device.
    pub priced: PricedDevice,
}

impl KindOfDevice {
    /// Creates a kind from equal devices.
    ///
    /// # Errors
    /// The price is out of range.
    pub fn new(devices: Devices, prices: &DevicePrices) -> Result<Self, RegistrationError> {
        let first = devices.enumerate().next();
        let (name, price, memory) = match first {
            Some((at, device)) => {
                let price = match device.kind.computation() {
                    Computation::Kernels(cores) => prices.partition(cores.len()),
                    Computation::Gpu(_) | Computation::Law(_) => prices.gpu(),
                };
                (kind_name(device), price?, devices.memory_bytes(at))
            }
            None => (String::new(), prices.gpu()?, 0),
        };
        Ok(KindOfDevice {
            devices,
            priced: PricedDevice {
                name,
                price,
                memory,
            },
        })
    }

    /// Returns the requested precisions that its devices support, in the requested order.
    pub fn precisions(&self, asked: &[VariantPrecision]) -> impl Iterator<Item = VariantPrecision> {
        let is_gpu = self.devices.has_gpu();
        let computes =
            move |precision: &VariantPrecision| !is_gpu || *precision != VariantPrecision::Int8;
        asked.iter().copied().filter(computes)
    }

    /// Returns the kinds of a host's devices, each with all of its devices.
    ///
    /// # Errors
    /// A device is simulated or gone, or a price is out of range.
    pub fn from_devices(
        devices: &Devices,
        host: &Host,
        prices: &DevicePrices,
    ) -> Result<Vec<Self>, RegistrationError> {
        if let Some(device) = devices.iter().find(|d| !d.kind.is_measured()) {
            return Err(AccuracyLossError::Simulated(device.name.clone()).into());
        }
        let mut groups: Vec<(&DeviceKind, Vec<String>)> = Vec::new();
        for device in devices.iter() {
            match groups
                .iter_mut()
                .find(|(like, _)| like.is_like(&device.kind))
            {
                Some((_, names)) => names.push(device.name.clone()),
                None => groups.push((&device.kind, vec![device.name.clone()])),
            }
        }
        let kinds = groups.into_iter();
        let kinds =
            kinds.map(|(_, names)| KindOfDevice::new(Devices::from_names(&names, host)?, prices));
        kinds.collect()
    }
}

/// Returns the name of a device's kind: the number of cores, or the GPU's model.
pub fn kind_name(device: &Device) -> String {
    match device.kind.computation() {
        Computation::Kernels(cores) if cores.len() == 1 => "1 core".to_owned(),
        Computation::Kernels(cores) => format!("{} cores", cores.len()),
        Computation::Gpu(info) => info.name.clone(),
        Computation::Law(profile) => format!("sim:{}", profile.name),
    }
}
