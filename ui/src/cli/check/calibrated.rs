//! The calibration of a member's network, or a calibration file that the manifest does not use.

use std::fmt;
use std::path::{Path, PathBuf};

use divisi_model::ensemble::Member;
use divisi_runtime::compute::calibration::is_weighted;
use divisi_runtime::compute::{CpuKernels, CpuLowering, CpuPrecision, Family, layers_in_bytes};
use divisi_runtime::words::counted;
use serde::Serialize;

/// The origin of a member's ranges in int8.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum CalibratedSummary {
    /// The manifest names a calibration.
    Named {
        /// The method for choosing ranges.
        method: String,
        /// The number of samples behind the ranges.
        samples: usize,
        /// The number of layers with weights that may be computed in int8.
        quantized: usize,
        /// The number of those layers that the kernels in use multiply in int8.
        in_bytes: usize,
        /// The number of layers with weights that stay in float32.
        kept: usize,
    },
    /// A file is next to the network, and the manifest does not use it.
    Unnamed {
        /// The file.
        file: PathBuf,
    },
}

impl CalibratedSummary {
    /// Returns the summary of a member with files in `folder`, or `None` for built-in members.
    pub(super) fn from_member(member: &Member, folder: Option<&Path>) -> Option<Self> {
        let Some(calibration) = member.calibration() else {
            let file = folder?.join(format!("{}.int8.json", member.name));
            return file
                .is_file()
                .then_some(CalibratedSummary::Unnamed { file });
        };
        let graph = &member.graph;
        let weighted = (0..graph.nodes().len()).filter(|&node| is_weighted(graph, node));
        let (quantized, kept): (Vec<_>, Vec<_>) =
            weighted.partition(|&node| calibration.quantises(graph, node));
        let kernels = CpuKernels {
            family: Family::best(),
            precision: CpuPrecision::Int8,
        };
        let lowering = CpuLowering {
            kernels,
            calibration: Some(calibration),
        };
        Some(CalibratedSummary::Named {
            method: calibration.method().to_string(),
            samples: calibration.rows(),
            in_bytes: layers_in_bytes(graph, lowering).min(quantized.len()),
            quantized: quantized.len(),
            kept: kept.len(),
        })
    }
}

impl fmt::Display for CalibratedSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CalibratedSummary::Unnamed { file } => {
                let file = file.display();
                write!(
                    f,
                    "{file} is not used: the manifest has no `calibration` with its name"
                )
            }
            CalibratedSummary::Named {
                method,
                samples,
                quantized,
                in_bytes,
                kept,
            } => {
                let samples = counted(*samples, "sample");
                write!(f, "int8 ranges by {method} from {samples}: ")?;
                write!(f, "{} in int8, {kept} in f32", counted(*quantized, "layer"))?;
                match quantized - in_bytes {
                    0 => Ok(()),
                    others => write!(
                        f,
                        "; the kernels in use multiply {others} int8 layers in float32"
                    ),
                }
            }
        }
    }
}
