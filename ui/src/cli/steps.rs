//! `divisi steps`: the kinds of host steps for pipelines.

use anyhow::Result;
use divisi_model::pipeline::{HostStep, HostStepKind};

use super::reporting::{Report, ReportOptions};
use super::tables::columns;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct StepsArgs {
    #[command(flatten)]
    report: ReportOptions,
}

pub(crate) fn run(args: &StepsArgs) -> Result<()> {
    args.report.write(&HostStep::KINDS)
}

impl Report for &[HostStepKind] {
    fn text(&self) -> String {
        columns(
            &["kind", "reads → makes", "fields", ""],
            self.iter().map(row),
        )
    }
}

fn row(kind: &HostStepKind) -> [String; 4] {
    [
        kind.name.to_owned(),
        kind.signature.to_owned(),
        kind.fields.join(", "),
        kind.does.to_owned(),
    ]
}
