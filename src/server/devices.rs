//! The devices of a server.

use divisi_runtime::device::gpu::find_gpus;
use divisi_runtime::device::{DeviceError, Devices, Host};

/// The devices to serve on.
#[derive(Clone, Debug, Default)]
pub struct DeviceChoice {
    /// Their names, such as `cpu:0` or `sim:v100*16`; empty for those of the manifest, else all of
    /// the machine.
    pub names: Vec<String>,
    /// The most bytes of the host's memory that serving may take.
    pub memory: Option<u64>,
}

/// Devices that were found.
#[derive(Debug)]
pub struct FoundDevices {
    /// The devices.
    pub devices: Devices,
    /// Remarks for the operator: GPUs that exist and cannot be used.
    pub notices: Vec<String>,
}

impl DeviceChoice {
    /// Finds the chosen devices, or those of a manifest, or all of the machine.
    ///
    /// # Errors
    /// A device has no such name, or is not there.
    pub fn find(&self, of_manifest: &[String]) -> Result<FoundDevices, DeviceError> {
        let mut host = Host::discover();
        if let Some(bytes) = self.memory {
            host = host.with_memory(bytes);
        }
        let names = match self.names.is_empty() {
            true => of_manifest,
            false => &self.names,
        };
        let (devices, notices) = match names.is_empty() {
            true => Devices::of_machine(&host, find_gpus()),
            false => (Devices::named(names, &host)?, Vec::new()),
        };
        Ok(FoundDevices { devices, notices })
    }
}
