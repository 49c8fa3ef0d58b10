//! `divisi network list`: the published networks and what they cost.

use anyhow::Result;
use divisi::network::Shape;
use divisi::network::builders::{Builder, Published};
use serde::Serialize;

use crate::cli::args::{NetworkListArgs, OutputFormat};
use crate::cli::report::{print, print_json};

/// A network in the list, at 1000 classes.
#[derive(Serialize)]
struct NetworkRow {
    name: &'static str,
    parameters: u64,
    flops: u64,
    weight_bytes: u64,
    input: Shape,
}

pub fn run(args: &NetworkListArgs) -> Result<()> {
    let rows: Vec<NetworkRow> = Published::ALL
        .into_iter()
        .map(|(network, _)| row(network))
        .collect::<Result<_>>()?;
    match args.format {
        OutputFormat::Json => print_json(&rows),
        OutputFormat::Text => print(&text(&rows)),
    }
}

fn row(network: Published) -> Result<NetworkRow> {
    let input = network.input();
    let graph = Builder::Published(network).build(input, 1000)?;
    Ok(NetworkRow {
        name: network.name(),
        parameters: graph.parameter_count(),
        flops: graph.flops(),
        weight_bytes: graph.weight_bytes(),
        input,
    })
}

fn text(rows: &[NetworkRow]) -> String {
    let mut text = format!(
        "{:<20} {:>12} {:>8} {:>10}  input",
        "network", "parameters", "GFLOPs", "weights MB"
    );
    for row in rows {
        text += &format!(
            "\n{:<20} {:>12} {:>8.2} {:>10.1}  {}",
            row.name,
            row.parameters,
            row.flops as f64 / 1e9,
            row.weight_bytes as f64 / 1e6,
            row.input
        );
    }
    text + "\n\nGFLOPs are of one sample; a multiplication and its addition count as two."
}
