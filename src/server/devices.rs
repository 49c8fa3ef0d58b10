//! The devices of a server.

use divisi_runtime::device::gpu::find_gpus;
use divisi_runtime::device::{DeviceError, Devices, Host, Partitioning};

/// The devices to serve on.
#[derive(Clone, Debug, Default)]
pub struct DeviceChoice {
    /// Their names, such as `cpu:0` or `sim:v100*16`. If empty, the manifest's devices are used,
    /// else all devices of the machine, with partitions that suit the load of the host.
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
    /// The division of the cores into partitions, or `None` if the devices were named.
    pub partitioning: Option<Partitioning>,
}

impl DeviceChoice {
    /// Finds the chosen devices, or the manifest's devices, or all devices of the machine. Without
    /// names this waits for at most 100 ms to see whether other programs use the cores.
    ///
    /// # Errors
    /// A name is not valid, or a device does not exist.
    pub fn find(&self, of_manifest: &[String]) -> Result<FoundDevices, DeviceError> {
        self.find_with(of_manifest, Partitioning::for_host)
    }

    /// Finds devices like [`DeviceChoice::find`], with a partition for each core on any host: the
    /// profiles of registered variants belong to devices of one size.
    ///
    /// # Errors
    /// As for [`DeviceChoice::find`].
    pub fn find_for_variants(&self, of_manifest: &[String]) -> Result<FoundDevices, DeviceError> {
        self.find_with(of_manifest, |_| Partitioning::PerCore)
    }

    fn find_with(
        &self,
        of_manifest: &[String],
        partitioning: impl FnOnce(&Host) -> Partitioning,
    ) -> Result<FoundDevices, DeviceError> {
        let mut host = Host::discover();
        if let Some(bytes) = self.memory {
            host = host.with_memory(bytes);
        }
        let names = match self.names.is_empty() {
            true => of_manifest,
            false => &self.names,
        };
        if !names.is_empty() {
            return Ok(FoundDevices {
                devices: Devices::from_names(names, &host)?,
                notices: Vec::new(),
                partitioning: None,
            });
        }
        let gpus = find_gpus();
        let partitioning = partitioning(&host);
        let (devices, notices) = Devices::discover(&host, gpus, &partitioning);
        Ok(FoundDevices {
            devices,
            notices,
            partitioning: Some(partitioning),
        })
    }
}
