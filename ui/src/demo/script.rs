//! The scenes of `scenes.toml`, and the commands of their steps with the conditions to wait for.

use std::collections::HashSet;
use std::fmt::Display;
use std::str::FromStr;
use std::sync::LazyLock;

use anyhow::bail;
use divisi_engine::load::PatternError;
use divisi_engine::search::Bounds;
use divisi_model::ensemble::PolicyKind;
use divisi_modelless::policies::PolicyChoice;
use divisi_session::{Command, LoadPattern, ReloadState, SearchOrder, SearchState, Snapshot};
use serde::Deserialize;
use serde::de::{Deserializer, Error};

use super::conclusions::Conclusion;
use super::plans::DemoPlan;
use crate::actions::stage;
use crate::commands::{APPLY, CLEAR, COMPARE_POLICIES, CommandInfo, LOAD, POLICY, SCALING, SEARCH};
use crate::layout::Panel;
use crate::model::{DemoStage, DemoState, Figure};

/// The scenes of all stages.
pub const FILE: &str = include_str!("scenes.toml");

/// The read file. A test checks that it has no errors.
static STAGES: LazyLock<Stages> = LazyLock::new(|| read(FILE).unwrap_or_default());

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stages {
    digits: Vec<DemoScene>,
    simulated: Vec<DemoScene>,
    tasks: Vec<DemoScene>,
}

/// A scene, which ends with a pause.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DemoScene {
    /// A short title.
    pub title: String,
    /// The steps, in order.
    pub steps: Vec<DemoStep>,
}

/// One step of a scene. The head of the file explains them.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum DemoStep {
    Say(String),
    Conclude(Conclusion),
    Look(Panel),
    Apply(DemoPlan),
    Policy(#[serde(deserialize_with = "from_text")] PolicyKind),
    Load(#[serde(deserialize_with = "from_text")] DemoLoad),
    Scaling(PolicyChoice),
    Clear,
    Search,
    ComparePolicies,
    Drain,
    Count,
    Watch { answered: u64, seconds: u64 },
    Gauge,
    Note(Figure, String),
}

/// Reads a value from its text.
fn from_text<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(text: D) -> Result<T, D::Error> {
    String::deserialize(text)?.parse().map_err(D::Error::custom)
}

/// Returns the scenes of a stage.
pub(super) fn scenes(stage: DemoStage) -> &'static [DemoScene] {
    match stage {
        DemoStage::Digits => &STAGES.digits,
        DemoStage::Simulated => &STAGES.simulated,
        DemoStage::Tasks => &STAGES.tasks,
    }
}

/// Checks the text of a file of scenes.
///
/// # Errors
/// The first name that does not exist, or another error in the text.
pub fn check(text: &str) -> Result<(), String> {
    read(text).map(|_| ())
}

fn read(text: &str) -> Result<Stages, String> {
    let stages: Stages = toml::from_str(text).map_err(|e| e.to_string())?;
    let scenes = [&stages.digits, &stages.simulated, &stages.tasks];
    scenes
        .into_iter()
        .flatten()
        .try_for_each(DemoScene::check)?;
    Ok(stages)
}

impl DemoScene {
    /// Checks that a conclusion compares only figures that the scene has noted before.
    fn check(&self) -> Result<(), String> {
        let mut noted = HashSet::new();
        for step in &self.steps {
            if let DemoStep::Note(figure, name) = step {
                noted.insert((*figure, name.as_str()));
            }
            let DemoStep::Conclude(conclusion) = step else {
                continue;
            };
            if let Some((_, name)) = conclusion.compared().find(|note| !noted.contains(note)) {
                return Err(format!("scene `{}`: nothing noted as `{name}`", self.title));
            }
        }
        Ok(())
    }
}

/// A load: `none`, a pattern, or a pattern at a share of the measured capacity, such as
/// `burst:60%`.
#[derive(Debug)]
pub(super) struct DemoLoad(String);

impl FromStr for DemoLoad {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let load = DemoLoad(text.to_owned());
        load.pattern(None).map(|_| load)
    }
}

impl DemoLoad {
    /// Returns the load pattern for a capacity in samples per second.
    fn pattern(&self, capacity: Option<f64>) -> Result<Option<LoadPattern>, PatternError> {
        let DemoLoad(text) = self;
        let share = text.strip_suffix('%').and_then(|text| text.split_once(':'));
        let share = share.and_then(|(kind, percent)| Some((kind, percent.parse::<f64>().ok()?)));
        let Some((kind, percent)) = share else {
            return (text != "none").then(|| text.parse()).transpose();
        };
        let rate = percent / 100.0 * capacity.unwrap_or(100.0);
        format!("{kind}:{}", rate.clamp(1.0, 1e5).round())
            .parse()
            .map(Some)
    }
}

/// Whether the effect of a step is visible.
pub(super) enum Seen {
    Yes,
    No,
    /// Another operation has to end first.
    Busy,
}

impl From<bool> for Seen {
    fn from(visible: bool) -> Self {
        if visible { Seen::Yes } else { Seen::No }
    }
}

impl DemoStep {
    /// Returns the command of the table with its request to the session, or `None` if the step
    /// only waits. `capacity` is in samples per second.
    ///
    /// # Errors
    /// The command is impossible here.
    pub(super) fn request(
        &self,
        shown: &Snapshot,
        capacity: Option<f64>,
    ) -> anyhow::Result<Option<(&'static CommandInfo, Command)>> {
        Ok(Some(match self {
            DemoStep::Apply(plan) => (&APPLY, stage::apply_matrix(shown, plan.matrix(shown)?)),
            DemoStep::Policy(policy) => (&POLICY, stage::apply_policy(shown, *policy)),
            DemoStep::Load(load) => (&LOAD, stage::set_load(load.pattern(capacity)?)),
            DemoStep::Clear => (&CLEAR, Command::ClearLatency),
            DemoStep::Search => (&SEARCH, Command::StartSearch(order(shown))),
            DemoStep::Scaling(policy) => (
                &SCALING,
                Command::SetScalingPolicy(policy.name().to_owned()),
            ),
            DemoStep::ComparePolicies => (&COMPARE_POLICIES, Command::ComparePolicies),
            _ => return Ok(None),
        }))
    }

    /// Returns whether the step's effect is visible.
    ///
    /// # Errors
    /// The effect will never become visible.
    pub(super) fn effect(&self, shown: &Snapshot, demo: &DemoState) -> anyhow::Result<Seen> {
        let scaling = shown.scaling.as_ref();
        let visible = match self {
            DemoStep::Apply(plan) => return applied(plan, shown, demo.asked),
            DemoStep::Search => return searched(shown, demo.asked),
            DemoStep::Policy(policy) => shown.policy == *policy,
            DemoStep::Load(load) => shown.load.pattern == load.pattern(demo.capacity)?,
            DemoStep::Clear => demo.asked,
            DemoStep::Scaling(policy) => scaling.is_some_and(|s| s.policy == policy.name()),
            DemoStep::ComparePolicies => {
                let comparison = scaling.and_then(|s| s.comparison.as_ref());
                demo.asked && comparison.is_some_and(|c| !c.outcomes.is_empty())
            }
            DemoStep::Drain => shown.members.iter().all(|m| m.queued == 0),
            _ => true,
        };
        Ok(visible.into())
    }
}

fn applied(plan: &DemoPlan, shown: &Snapshot, asked: bool) -> anyhow::Result<Seen> {
    if shown.matrix == plan.matrix(shown)? {
        return Ok(Seen::Yes);
    }
    match (asked, shown.reload.as_ref().map(|r| &r.state)) {
        // A reload requested by another console.
        (_, Some(ReloadState::Running)) => Ok(Seen::Busy),
        (true, Some(ReloadState::Failed(why))) => bail!("{why}"),
        _ => Ok(Seen::No),
    }
}

fn searched(shown: &Snapshot, asked: bool) -> anyhow::Result<Seen> {
    match (asked, shown.search.as_ref().map(|s| &s.state)) {
        (_, Some(SearchState::Running | SearchState::Paused)) => Ok(Seen::Busy),
        (true, Some(SearchState::Failed(why))) => bail!("{why}"),
        (asked, _) => Ok(asked.into()),
    }
}

/// Each search has another seed, since a cached search would end at once.
fn order(shown: &Snapshot) -> SearchOrder {
    let quick = SearchOrder::quick();
    SearchOrder {
        bounds: Bounds {
            seed: shown.now.as_millis() as u64,
            ..quick.bounds
        },
        ..quick
    }
}
