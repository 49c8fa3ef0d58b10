//! The graphs of an engine's steps with their figures, for display.

use serde::{Deserialize, Serialize};

use crate::serving::core::StepStats;
use divisi_model::catalogue::CatalogueEntry;
use divisi_model::dataflow::{Dataflow, RowJoin, StepIndex};
use divisi_model::ensemble::Ensemble;
use divisi_model::pipeline::{Pipeline, RowOrigin, StepRole};

/// The steps of an entry of the catalogue, each after the steps that it needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepGraph {
    /// The name of the entry.
    pub model: String,
    /// The steps. Conditions are fields of their steps.
    pub steps: Vec<GraphStep>,
}

/// A step of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphStep {
    /// The number in the order of work, as in spans.
    pub number: u16,
    /// The step's name.
    pub name: String,
    /// The work of the step.
    pub work: GraphWork,
    /// The positions of the steps that it needs.
    pub needs: Vec<usize>,
    /// The condition under which it runs, in words.
    pub when: Option<String>,
    /// The fewest needed steps after which it may do without the others.
    pub quorum: Option<usize>,
    /// Whether its result is an output.
    pub is_output: bool,
    /// The figures of the step.
    pub stats: StepStats,
}

/// The work of a step, with the name of the model or the kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GraphWork {
    /// A network of a model.
    Model(String),
    /// A step on the host.
    Host(String),
    /// The combination rule of an ensemble.
    Rule(String),
}

impl StepGraph {
    /// Creates the graph of an entry. `stats` are the figures of its steps, in the order of work.
    pub(super) fn from_entry(entry: &CatalogueEntry, stats: &[StepStats]) -> Self {
        let ensemble = entry.ensemble();
        StepGraph {
            model: match entry.version().get() {
                1 => entry.name().to_owned(),
                version => format!("{} {version}", entry.name()),
            },
            steps: match &ensemble.pipeline {
                Some(pipeline) => of_pipeline(ensemble, pipeline, stats),
                None => of_members(ensemble, stats),
            },
        }
    }

    /// Returns whether every step comes after the steps that it needs.
    pub fn is_ordered(&self) -> bool {
        let mut steps = self.steps.iter().enumerate();
        steps.all(|(at, step)| step.needs.iter().all(|need| *need < at))
    }
}

fn of_members(ensemble: &Ensemble, stats: &[StepStats]) -> Vec<GraphStep> {
    let member = |(number, (name, stats)): (usize, (String, &StepStats))| GraphStep {
        number: number as u16,
        work: GraphWork::Model(name.clone()),
        name,
        needs: Vec::new(),
        when: None,
        quorum: None,
        is_output: false,
        stats: *stats,
    };
    let names = ensemble.member_names();
    let members = names.len();
    let rule = ensemble.combination().rule.name().to_owned();
    let fold = GraphStep {
        number: members as u16,
        name: "answer".into(),
        work: GraphWork::Rule(rule),
        needs: (0..members).collect(),
        when: None,
        quorum: None,
        is_output: true,
        stats: stats.get(members).copied().unwrap_or_default(),
    };
    let each = names.into_iter().zip(stats).enumerate().map(member);
    each.chain(std::iter::once(fold)).collect()
}

fn of_pipeline(ensemble: &Ensemble, pipeline: &Pipeline, stats: &[StepStats]) -> Vec<GraphStep> {
    let flow = pipeline.flow();
    let places = places(pipeline);
    let each = pipeline.steps().iter().zip(flow.steps()).zip(stats);
    let shown = each.filter_map(|((step, (at, flow_step)), stats)| {
        let work = match &step.role {
            StepRole::Gate(_) => return None,
            StepRole::Model(member) => {
                GraphWork::Model(ensemble.members.get(member.get())?.name.clone())
            }
            StepRole::Host(host) => GraphWork::Host(host.name().to_owned()),
        };
        let gate = flow_step
            .needs
            .iter()
            .find_map(|need| condition(pipeline, *need));
        Some(GraphStep {
            number: at.number(),
            name: step.name.clone(),
            work,
            needs: needs(pipeline, flow, at, &places),
            when: gate,
            quorum: match flow_step.join {
                RowJoin::Quorum { least, .. } => Some(least),
                RowJoin::All | RowJoin::Any | RowJoin::Always => None,
            },
            is_output: pipeline
                .outputs()
                .iter()
                .any(|output| output.source.origin == RowOrigin::Step(at)),
            stats: *stats,
        })
    });
    shown.collect()
}

/// Returns the position of each step among those that are not conditions.
fn places(pipeline: &Pipeline) -> Vec<usize> {
    let mut next = 0;
    let place = |step: &divisi_model::pipeline::PipelineStep| {
        let place = next;
        next += usize::from(!matches!(step.role, StepRole::Gate(_)));
        place
    };
    pipeline.steps().iter().map(place).collect()
}

fn condition(pipeline: &Pipeline, step: StepIndex) -> Option<String> {
    match &pipeline.step(step).role {
        StepRole::Gate(condition) => Some(condition.to_string()),
        StepRole::Model(_) | StepRole::Host(_) => None,
    }
}

/// Returns the positions of the steps that a step needs, by its tensors or its condition.
fn needs(pipeline: &Pipeline, flow: &Dataflow, at: StepIndex, places: &[usize]) -> Vec<usize> {
    let through = flow
        .step(at)
        .needs
        .iter()
        .flat_map(|need| match pipeline.step(*need).role {
            StepRole::Gate(_) => flow.step(*need).needs.clone(),
            StepRole::Model(_) | StepRole::Host(_) => vec![*need],
        });
    let mut needs: Vec<usize> = through.map(|need| places[need.get()]).collect();
    needs.sort_unstable();
    needs.dedup();
    needs
}
