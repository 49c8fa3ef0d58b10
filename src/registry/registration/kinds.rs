//! Kinds of devices: devices that are alike, with their price.

use divisi_engine::search::precisions::AccuracyLossError;
use divisi_modelless::variants::{PricedDevice, VariantPrecision};
use divisi_runtime::device::{Computation, Device, DeviceKind, Devices, Host};

use super::error::RegistrationError;
use crate::profiles::DevicePrices;

/// Devices that are alike: what is measured on one holds for all.
#[derive(Clone, Debug)]
pub struct KindOfDevice {
    /// The devices.
    pub devices: Devices,
    /// The name, price and memory of one.
    pub priced: PricedDevice,
}

impl KindOfDevice {
    /// Takes devices that are alike.
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

    /// Returns those of some precisions that its devices compute in, in their order.
    pub fn precisions(&self, asked: &[VariantPrecision]) -> impl Iterator<Item = VariantPrecision> {
        let is_gpu = self.devices.has_gpu();
        let computes =
            move |precision: &VariantPrecision| !is_gpu || *precision != VariantPrecision::Int8;
        asked.iter().copied().filter(computes)
    }

    /// Returns the kinds of some devices of a host, each with all of its devices.
    ///
    /// # Errors
    /// A device is simulated or gone, or a price is out of range.
    pub fn all(
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
            kinds.map(|(_, names)| KindOfDevice::new(Devices::named(&names, host)?, prices));
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
