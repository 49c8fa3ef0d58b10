//! `divisi steps`: the kinds of steps that the host runs in pipelines.

use anyhow::Result;
use divisi_model::pipeline::{HostStep, HostStepKind};

use super::args::OutputFormat;
use super::output::{columns, print, print_json};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct StepsArgs {
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

pub(crate) fn run(args: &StepsArgs) -> Result<()> {
    match args.format {
        OutputFormat::Json => print_json(&HostStep::KINDS),
        OutputFormat::Text => print(&text()),
    }
}

fn text() -> String {
    let head = ["kind", "reads → makes", "fields", ""].map(str::to_owned);
    let rows = HostStep::KINDS.iter().map(row);
    columns(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
}

fn row(kind: &HostStepKind) -> [String; 4] {
    [
        kind.name.to_owned(),
        kind.signature.to_owned(),
        kind.fields.join(", "),
        kind.does.to_owned(),
    ]
}
