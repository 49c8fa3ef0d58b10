//! Registers the models of a repository, one after another.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};
use divisi_engine::search::Control;
use divisi_runtime::words::one_line;
use serde::Serialize;

use super::report::RegistrationReport;
use super::{RegisterArgs, ServingTarget};
use crate::cli::reporting::Report;

/// The report of a repository: a report of each registered model, and the reason for each other
/// model.
#[derive(Serialize)]
pub(super) struct RegisteredModels {
    registered: Vec<RegistrationReport>,
    left_out: Vec<LeftOutModel>,
}

/// A model that was not registered.
#[derive(Serialize)]
struct LeftOutModel {
    model: String,
    why: String,
}

/// Registers the models in these folders. A model that cannot be registered, such as a model without
/// classes, is left out.
///
/// # Errors
/// No model can be registered, or the command was interrupted.
pub(super) fn register(
    args: &RegisterArgs,
    models: &[PathBuf],
    control: &Arc<Control>,
) -> Result<RegisteredModels> {
    if args.name.is_some() {
        let path = args.target.ensemble.display();
        bail!("--name: expected one model, found the repository {path}; name one of its folders");
    }
    let mut report = RegisteredModels {
        registered: Vec::new(),
        left_out: Vec::new(),
    };
    for model in models {
        let registered = super::register(&of_model(args, model), control);
        if control.is_cancelled() {
            bail!("the registration was interrupted: {}", report.written());
        }
        match registered {
            Ok(registered) => report.registered.push(registered),
            Err(why) => report.left_out.push(LeftOutModel::new(model, &why)),
        }
    }
    match report.registered.is_empty() {
        true => bail!(
            "no model of the repository can be registered\n{}",
            report.reasons()
        ),
        false => Ok(report),
    }
}

/// Returns the command for one model.
fn of_model(args: &RegisterArgs, model: &Path) -> RegisterArgs {
    RegisterArgs {
        target: ServingTarget {
            ensemble: model.to_owned(),
            ..args.target.clone()
        },
        ..args.clone()
    }
}

impl LeftOutModel {
    fn new(model: &Path, why: &anyhow::Error) -> Self {
        let name = model.file_name().unwrap_or_default();
        LeftOutModel {
            model: name.to_string_lossy().into_owned(),
            why: one_line(&format!("{why:#}")).into_owned(),
        }
    }
}

impl Report for RegisteredModels {
    fn text(&self) -> String {
        let models = self.registered.iter().map(Report::text);
        let reasons = (!self.left_out.is_empty()).then(|| self.reasons());
        models.chain(reasons).collect::<Vec<_>>().join("\n\n")
    }
}

impl RegisteredModels {
    fn reasons(&self) -> String {
        let lines = self.left_out.iter();
        let lines =
            lines.map(|left| format!("model `{}` is not registered: {}", left.model, left.why));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn written(&self) -> String {
        match self.registered.len() {
            0 => "nothing was written".to_owned(),
            count => format!("{count} of its models are registered"),
        }
    }
}
