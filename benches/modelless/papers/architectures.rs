//! The 22 architectures and 175 variants of INFaaS's evaluation.
//!
//! Accuracies, numbers of variants, layers and parameters are those of Table 8. Profiles are made
//! up: only ResNet50's are published, and the others' follow from them by GFLOPs (slopes), layers
//! (the intercept on a GPU) and parameters (loading).

use divisi_modelless::variants::DeviceSharing;

use super::beds::{CPU, GPU, INFERENTIA, PaperVariant};
use super::resnet50::{CPU_TF, GPU_TRT_8, INFERENTIA_1};

/// An architecture: name, accuracy in percent, variants, layers, millions of parameters, and
/// GFLOPs of one sample, which the paper does not list (its range is 0.48 to 24). GNMT's accuracy
/// is a BLEU score.
pub struct Architecture(pub &'static str, f64, usize, f64, f64, f64);

/// The four popular ones first.
pub const ARCHITECTURES: [Architecture; 22] = [
    Architecture("densenet121", 75.0, 12, 121.0, 8.1, 2.9),
    Architecture("resnet50", 74.9, 19, 50.0, 25.6, 4.1),
    Architecture("vgg16", 71.3, 18, 16.0, 138.4, 15.5),
    Architecture("inception-v3", 77.9, 12, 48.0, 23.9, 5.7),
    Architecture("mobilenet-v1", 70.4, 10, 30.0, 4.3, 0.57),
    Architecture("mobilenet-v2", 71.3, 3, 30.0, 3.5, 0.48),
    Architecture("alexnet", 56.6, 9, 8.0, 62.4, 0.72),
    Architecture("densenet169", 76.2, 5, 169.0, 14.3, 3.4),
    Architecture("densenet201", 77.3, 5, 201.0, 20.2, 4.3),
    Architecture("resnet50-v2", 76.0, 4, 50.0, 25.6, 4.1),
    Architecture("resnext50", 77.7, 3, 50.0, 25.7, 4.2),
    Architecture("resnet101", 76.4, 12, 101.0, 44.7, 7.8),
    Architecture("resnet101-v2", 77.2, 4, 101.0, 44.7, 7.8),
    Architecture("resnext101", 78.7, 3, 101.0, 45.3, 8.0),
    Architecture("resnet152", 76.6, 12, 152.0, 60.4, 11.5),
    Architecture("resnet152-v2", 78.0, 4, 152.0, 60.4, 11.5),
    Architecture("vgg19", 71.3, 12, 16.0, 143.7, 19.6),
    Architecture("xception", 79.0, 3, 76.0, 22.9, 8.4),
    Architecture("inception-resnet-v2", 80.3, 10, 164.0, 55.9, 13.2),
    Architecture("nasnet-mobile", 74.4, 3, 914.0, 5.3, 0.56),
    Architecture("nasnet-large", 82.5, 3, 1244.0, 88.9, 23.8),
    Architecture("gnmt", 24.5, 9, 16.0, 210.0, 10.0),
];

/// Devices and batch sizes in the order in which architectures have variants of them. The CPU's
/// share is half of 8 cores, the accelerator's one of 4 cores, a GPU's a quarter of its time.
const KINDS: [(u16, u32); 19] = [
    (CPU, 1),
    (GPU, 8),
    (INFERENTIA, 1),
    (GPU, 1),
    (GPU, 4),
    (CPU, 4),
    (GPU, 16),
    (INFERENTIA, 4),
    (GPU, 2),
    (GPU, 32),
    (CPU, 2),
    (GPU, 64),
    (CPU, 8),
    (INFERENTIA, 2),
    (CPU, 16),
    (INFERENTIA, 8),
    (CPU, 32),
    (INFERENTIA, 16),
    (CPU, 64),
];

/// Dollars a second of a share of a device.
const CPU_COST: f64 = 0.384 / 3600.0 / 2.0;
const GPU_COST: f64 = 3.06 / 3600.0 / 4.0;
const INFERENTIA_COST: f64 = 0.584 / 3600.0 / 4.0;

impl Architecture {
    /// Returns its variants.
    pub fn variants(&self) -> Vec<PaperVariant> {
        let Architecture(_, _, count, ..) = self;
        KINDS[..*count]
            .iter()
            .map(|(device, batch)| self.variant(*device, *batch))
            .collect()
    }

    /// Returns its variant on a kind of device for a batch size.
    pub fn variant(&self, device: u16, batch: u32) -> PaperVariant {
        let Architecture(_, accuracy, _, layers, millions, gflops) = self;
        let (work, load) = (gflops / 4.1, (millions / 25.6).powf(0.6));
        let (base, cost, sharing) = match device {
            CPU => (CPU_TF, CPU_COST, DeviceSharing::Space),
            GPU => (GPU_TRT_8, GPU_COST, DeviceSharing::Time),
            _ => (INFERENTIA_1, INFERENTIA_COST, DeviceSharing::Space),
        };
        let depth = if device == GPU {
            (layers / 50.0).sqrt()
        } else {
            1.0
        };
        PaperVariant {
            batch,
            slope_ms: base.slope_ms * work,
            intercept_ms: base.intercept_ms * depth,
            loading_ms: (base.loading_ms * load).clamp(590.0, 11_000.0),
            memory_gb: 0.3 + 4.0 * millions / 1e3 + 0.01 * f64::from(batch),
            accuracy: accuracy / 100.0,
            sharing,
            cost,
            ..base
        }
    }

    /// Returns the latency of its fastest CPU variant, in milliseconds.
    pub fn cpu_millis(&self) -> f64 {
        let cpu = self.variant(CPU, 1);
        cpu.slope_ms + cpu.intercept_ms
    }
}
