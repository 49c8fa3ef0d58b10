//! The graphs of steps that an engine serves, with how each step does: for whoever shows them.

use serde::{Deserialize, Serialize};

use crate::serving::core::StepStats;
use divisi_model::catalogue::CatalogueEntry;
use divisi_model::dataflow::{Dataflow, RowJoin, StepIndex};
use divisi_model::ensemble::Ensemble;
use divisi_model::pipeline::{Pipeline, RowOrigin, StepRole};

/// The steps of an entry of the catalogue, each after those that it needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepGraph {
    /// The name of the entry.
    pub model: String,
    /// Its steps. Conditions are those of the steps that they are of.
    pub steps: Vec<GraphStep>,
}

/// A step of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphStep {
    /// Its number in the order of work, as spans have it.
    pub number: u16,
    /// Its name.
    pub name: String,
    /// Who does its work.
    pub work: GraphWork,
    /// The places of the steps that it needs.
    pub needs: Vec<usize>,
    /// The condition under which it runs, in words.
    pub when: Option<String>,
    /// From how many of the steps that it needs on it may do without the others.
    pub quorum: Option<usize>,
    /// Whether its result is answered.
    pub is_output: bool,
    /// How it does.
    pub stats: StepStats,
}

/// Who does the work of a step, with the name of the model or the kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GraphWork {
    /// A model.
    Model(String),
    /// The host.
    Host(String),
    /// The rule that an ensemble combines its members by.
    Rule(String),
}

impl StepGraph {
    /// Creates the graph of an entry whose steps, in the order of work, do as `stats` says.
    pub(super) fn of(entry: &CatalogueEntry, stats: &[StepStats]) -> Self {
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

    /// Whether every step comes after those that it needs.
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

/// The place of each step among those that are no conditions.
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

/// The places of the steps that one needs, by its tensors or its condition.
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
