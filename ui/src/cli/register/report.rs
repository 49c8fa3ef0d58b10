//! The report of a registration.

use divisi_modelless::variants::Variant;
use divisi_registry::records::RegisteredModel;
use divisi_registry::registration::{Registration, RegistrationRemark};
use divisi_runtime::words::{counted, grouped};
use serde::Serialize;

use crate::cli::reporting::Report;
use crate::cli::tables::columns;
use crate::cli::variants::{ListedVariant, cells, heads};

/// The report of a finished registration.
#[derive(Serialize)]
pub(super) struct RegistrationReport {
    task: String,
    ensemble: String,
    members: usize,
    rule: &'static str,
    /// The number of labelled rows behind the accuracies.
    rows: u32,
    devices: Vec<RegisteredDevice>,
    /// The number of counted and profiled variants.
    considered: u32,
    kept: usize,
    /// The variants that are best in one respect.
    best: Vec<BestVariant>,
    /// The condition of the host during the measurements: quiet or disturbed.
    condition: &'static str,
    /// Doubts about the rows, the labels and the measurements.
    warnings: Vec<RegistrationWarning>,
}

#[derive(Serialize)]
struct RegistrationWarning {
    code: &'static str,
    text: String,
}

/// A kind of device with variants.
#[derive(Serialize)]
struct RegisteredDevice {
    name: String,
    price_an_hour: f64,
    /// Requested precisions that the device does not support.
    left_out: Vec<String>,
}

#[derive(Serialize)]
struct BestVariant {
    at: &'static str,
    #[serde(flatten)]
    variant: ListedVariant,
}

impl RegistrationReport {
    pub(super) fn from_registration(
        task: &str,
        model: &RegisteredModel,
        registration: &Registration<'_>,
        remarks: &[RegistrationRemark],
    ) -> Self {
        let record = &model.record;
        let devices = registration.kinds.iter().map(|kind| RegisteredDevice {
            name: kind.priced.name.clone(),
            price_an_hour: 3600.0 * kind.priced.price.get(),
            left_out: {
                let done: Vec<_> = kind.precisions(registration.precisions).collect();
                let all = registration.precisions.iter();
                let left = all.filter(|precision| !done.contains(precision));
                left.map(ToString::to_string).collect()
            },
        });
        RegistrationReport {
            task: task.to_owned(),
            ensemble: model.name.clone(),
            members: record.members.len(),
            rule: record.combination.rule.name(),
            rows: record.rows.count,
            devices: devices.collect(),
            considered: record.considered,
            kept: model.variants.len(),
            best: best(task, model),
            condition: record.condition.name(),
            warnings: remarks
                .iter()
                .map(|remark| RegistrationWarning {
                    code: remark.code(),
                    text: remark.to_string(),
                })
                .collect(),
        }
    }
}

impl Report for RegistrationReport {
    fn text(&self) -> String {
        let members = counted(self.members, "member");
        let mut text = format!(
            "task `{}`: {} with {members} ({}), measured on {} labelled rows\n",
            self.task, self.ensemble, self.rule, self.rows
        );
        for device in &self.devices {
            let price = device.price_an_hour;
            text += &format!("on {} at {price} an hour", device.name);
            if !device.left_out.is_empty() {
                text += &format!(", without support for {}", device.left_out.join(", "));
            }
            text += "\n";
        }
        text += &format!(
            "{} of {} variants kept: the best trade-offs and the whole ensemble\n\n",
            self.kept,
            grouped(u64::from(self.considered))
        );
        let head = [&[String::new()][..], &heads(false)].concat();
        let rows = self.best.iter();
        let rows = rows.map(|b| [&[b.at.to_owned()][..], &cells(&b.variant)].concat());
        text += &(columns(&head, rows) + EXPLAINED);
        for warning in &self.warnings {
            text += &format!("\nwarning: {}", warning.text);
        }
        text
    }
}

/// An explanation of the figures of sub-ensembles.
const EXPLAINED: &str = "\nA variant's time is the sum of its members' batch times, each measured alone on a device of\n\
     the kind. `counted` is the share of right rows. These rows also selected the variants, so a\n\
     sub-ensemble is a little worse on other samples. `accuracy` is the promise that goals use: the\n\
     accuracy of the whole ensemble minus a limit of the loss, with its 95 % interval.";

/// Returns the most accurate, the cheapest and the fastest variant.
fn best(task: &str, model: &RegisteredModel) -> Vec<BestVariant> {
    let best_by = |at: &'static str, better: fn(&Variant, &Variant) -> std::cmp::Ordering| {
        let found = model.variants.iter().min_by(|a, b| better(a, b));
        found.map(|variant| BestVariant {
            at,
            variant: ListedVariant::from_variant(task, model, variant, None),
        })
    };
    let best = [
        best_by("most accurate", |a, b| b.accuracy.cmp_rows(a.accuracy)),
        best_by("cheapest", |a, b| {
            a.query_cost().get().total_cmp(&b.query_cost().get())
        }),
        best_by("soonest", |a, b| a.p99().cmp(&b.p99())),
    ];
    best.into_iter().flatten().collect()
}
