//! `divisi steps`: the kinds of host steps for pipelines.

use anyhow::Result;
use divisi_model::pipeline::{HostStep, HostStepKind};

use super::output::columns;
use super::reporting::ReportOptions;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct StepsArgs {
    #[command(flatten)]
    report: ReportOptions,
}

pub(crate) fn run(args: &StepsArgs) -> Result<()> {
    args.report.write(&HostStep::KINDS, &text())
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
