//! `divisi network weights`: writes synthetic weights to a file for other programs.

use std::path::PathBuf;

use anyhow::{Context, Result};
use divisi_runtime::network::Weights;
use serde::Serialize;

use super::chosen::{ChosenNetwork, NetworkChoice, SYNTHETIC};
use crate::cli::reporting::{ProductOptions, Report};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NetworkWeightsArgs {
    #[command(flatten)]
    network: NetworkChoice,
    /// Seed of synthetic weights
    #[arg(long, default_value_t = 0, value_name = "S")]
    seed: u64,
    /// File to write
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    product: ProductOptions,
}

#[derive(Serialize)]
struct WeightsReport {
    network: String,
    tensors: usize,
    weight_bytes: u64,
    seed: u64,
    synthetic: bool,
    output: String,
}

pub(crate) fn run(args: &NetworkWeightsArgs) -> Result<()> {
    args.product.open(Some(&args.output))?;
    let chosen = ChosenNetwork::new(&args.network)?;
    let weights = Weights::synthetic(&chosen.graph, args.seed);
    let file = args.output.display().to_string();
    let written = weights.write(&chosen.graph, &args.output);
    written.with_context(|| file.clone())?;
    args.product.format.print(&WeightsReport {
        network: chosen.name,
        tensors: chosen.graph.parameters().len(),
        weight_bytes: chosen.graph.weight_bytes(),
        seed: args.seed,
        synthetic: weights.is_synthetic(),
        output: file,
    })
}

impl Report for WeightsReport {
    fn text(&self) -> String {
        format!(
            "{SYNTHETIC} of {} from seed {}: {} tensors, {:.1} MB in {}",
            self.network,
            self.seed,
            self.tensors,
            self.weight_bytes as f64 / 1e6,
            self.output
        )
    }
}
