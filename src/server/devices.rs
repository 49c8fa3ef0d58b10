//! The devices of a server.

use divisi_runtime::device::gpu::find_gpus;
use divisi_runtime::device::{DeviceError, Devices, Host};

/// The devices to serve on.
#[derive(Clone, Debug, Default)]
pub struct DeviceChoice {
    /// Their names, such as `cpu:0` or `sim:v100*16`. If empty, the manifest's devices are used,
    /// else all devices of the machine.
    pub names: Vec<String>,
    /// The maximum host memory for serving, in bytes.
    pub memory: Option<u64>,
}

/// Devices that were found.
#[derive(Debug)]
pub struct FoundDevices {
    /// The devices.
    pub devices: Devices,
    /// Remarks for the operator: GPUs that exist but cannot be used.
    pub notices: Vec<String>,
}

impl DeviceChoice {
    /// Finds the chosen devices, or the manifest's devices, or all devices of the machine.
    ///
    /// # Errors
    /// A name is not valid, or a device does not exist.
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
            true => Devices::discover(&host, find_gpus()),
            false => (Devices::from_names(names, &host)?, Vec::new()),
        };
        Ok(FoundDevices { devices, notices })
    }
}
