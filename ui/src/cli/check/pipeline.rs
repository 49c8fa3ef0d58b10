//! The steps of a pipeline, in a report.

use divisi_model::dataflow::{FlowStep, RowJoin};
use divisi_model::ensemble::Ensemble;
use divisi_model::pipeline::{LONGEST_WAIT, Pipeline, PipelineStep, StepRole, TensorSource};
use divisi_runtime::tensor::TensorSpec;
use divisi_runtime::words::counted;
use serde::Serialize;

use crate::cli::tables::{columns, tensors_in_words};

/// A pipeline in a report.
#[derive(Serialize)]
pub(super) struct PipelineSummary {
    /// The steps, each after the steps whose outputs it reads.
    steps: Vec<StepSummary>,
    /// The tensors of an answer.
    outputs: Vec<TensorSpec>,
}

#[derive(Serialize)]
struct StepSummary {
    name: String,
    /// The member that runs the step, if it is not a host step.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// The kind of host step, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'static str>,
    reads: Vec<String>,
    makes: Vec<String>,
    /// The condition under which the step runs for a sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    when: Option<String>,
    /// The number of inputs after which the step runs without the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    quorum: Option<usize>,
    /// The longest wait for all inputs in milliseconds, if set.
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_ms: Option<f64>,
}

impl PipelineSummary {
    /// Returns the summary of a pipeline, or `None` if the ensemble is not one.
    pub(super) fn from_ensemble(ensemble: &Ensemble) -> Option<Self> {
        let pipeline = ensemble.pipeline.as_ref()?;
        let mut steps = Vec::new();
        let mut when = None;
        for (at, flow) in pipeline.flow().steps() {
            let step = pipeline.step(at);
            match &step.role {
                // A condition is a separate step before the step it applies to.
                StepRole::Gate(condition) => when = Some(condition.to_string()),
                StepRole::Model(member) => steps.push(StepSummary {
                    model: Some(ensemble.members[*member].name.clone()),
                    ..StepSummary::new(pipeline, step, flow, when.take())
                }),
                StepRole::Host(host) => steps.push(StepSummary {
                    host: Some(host.name()),
                    ..StepSummary::new(pipeline, step, flow, when.take())
                }),
            }
        }
        let outputs = pipeline.outputs().iter();
        Some(PipelineSummary {
            steps,
            outputs: outputs.map(|output| output.spec.clone()).collect(),
        })
    }

    /// Returns whether the pipeline has one step only.
    pub(super) fn is_one_step(&self) -> bool {
        self.steps.len() == 1
    }

    /// Returns a short description.
    pub(super) fn words(&self) -> String {
        format!("pipeline of {}", counted(self.steps.len(), "step"))
    }

    /// Returns the steps as a table, then the tensors of an answer.
    pub(super) fn table(&self) -> String {
        let head = ["step", "run by", "reads", "makes", ""];
        let steps = columns(&head, self.steps.iter().map(StepSummary::row));
        let outputs = tensors_in_words(&self.outputs);
        format!("{steps}\noutputs: {outputs}\n")
    }
}

impl StepSummary {
    fn new(
        pipeline: &Pipeline,
        step: &PipelineStep,
        flow: &FlowStep,
        when: Option<String>,
    ) -> Self {
        let name = |source: &TensorSource| pipeline.tensor(source).map(|spec| spec.name.clone());
        let (quorum, wait) = match flow.join {
            RowJoin::Quorum { least, wait } => (Some(least), Some(wait)),
            RowJoin::All | RowJoin::Any | RowJoin::Always => (None, None),
        };
        let wait = wait.filter(|wait| *wait < LONGEST_WAIT);
        StepSummary {
            name: step.name.clone(),
            model: None,
            host: None,
            reads: step.sources.iter().filter_map(name).collect(),
            makes: step.tensors.iter().map(|spec| spec.name.clone()).collect(),
            when,
            quorum,
            wait_ms: wait.map(|wait| wait.as_secs_f64() * 1e3),
        }
    }

    fn row(&self) -> [String; 5] {
        let model = self.model.as_ref().map(|model| format!("model {model}"));
        let host = self.host.map(str::to_owned);
        [
            self.name.clone(),
            model.or(host).unwrap_or_default(),
            self.reads.join(", "),
            self.makes.join(", "),
            self.terms(),
        ]
    }

    /// Returns the condition and the quorum in the syntax of manifests.
    fn terms(&self) -> String {
        let when = self.when.as_ref().map(|when| format!("when {when}"));
        let quorum = self.quorum.map(|least| format!("quorum {least}"));
        let wait = self.wait_ms.map(|ms| format!("wait_ms {ms}"));
        let terms: Vec<String> = [when, quorum, wait].into_iter().flatten().collect();
        terms.join(" ")
    }
}
