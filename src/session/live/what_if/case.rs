//! The case of a question: the setup that would run, its devices and members.

use std::sync::Arc;

use divisi_engine::search::{PredictedFigure, Question, Rehearsal, evacuate};
use divisi_model::allocation::{Frame, Matrix};
use divisi_model::catalogue::Demand;
use divisi_model::ensemble::Ensemble;
use divisi_runtime::device::{Device, DeviceIndex, MemberIndex};

use crate::{EditPreview, Refusal, SessionRefusal, Setup, WhatIf};

use super::super::engine_session::EngineSession;
use super::super::forecast::Grounds;
use super::Facts;
use super::figures::{Figures, Work};

/// A case with the setup that would run.
pub(super) struct Case {
    /// The setup, or the reason why requests could not be served.
    pub(super) setup: Result<Setup, String>,
    /// The setup that could be staged.
    pub(super) stages: Option<Box<Setup>>,
    /// The changes to the setup.
    pub(super) preview: Option<Box<EditPreview>>,
    /// What differs in addition to the setup.
    pub(super) kind: CaseKind,
    /// The notes that do not depend on figures.
    said: Vec<String>,
}

/// What differs in addition to the setup.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum CaseKind {
    /// Nothing.
    Setup,
    /// A device is lost.
    Lost(DeviceIndex),
    /// The rate of requests.
    Rate(f64),
    /// There is one more device.
    OneMore(DeviceIndex),
    /// There is one member fewer.
    Without(MemberIndex),
}

impl Case {
    /// Returns the case of the running setup.
    pub(super) fn running(facts: &Facts) -> Self {
        Case::of(facts.running.clone(), CaseKind::Setup)
    }

    fn of(setup: Setup, kind: CaseKind) -> Self {
        Case {
            setup: Ok(setup),
            stages: None,
            preview: None,
            kind,
            said: Vec::new(),
        }
    }

    /// Returns a case in which requests cannot be served.
    fn unserved(why: String, kind: CaseKind) -> Self {
        Case {
            setup: Err(why),
            stages: None,
            preview: None,
            kind,
            said: Vec::new(),
        }
    }

    /// Returns the names of the devices.
    pub(super) fn devices(&self, facts: &Facts) -> Vec<String> {
        match self.kind {
            CaseKind::OneMore(device) => facts.devices.with_one_like(device).names(),
            _ => facts.devices.names(),
        }
    }

    /// Returns the price of an hour of the devices that serve.
    ///
    /// # Errors
    /// The price of a device is unknown.
    pub(super) fn cost(&self, facts: &Facts) -> Result<f64, String> {
        let is_gone = |device: &DeviceIndex| {
            self.kind == CaseKind::Lost(*device) || facts.lost.contains(device)
        };
        let more = match self.kind {
            CaseKind::OneMore(device) => Some(device),
            _ => None,
        };
        let serving = facts.devices.indices().filter(|device| !is_gone(device));
        let prices = serving
            .chain(more)
            .map(|device| price(facts.devices.get(device)));
        prices.sum()
    }

    /// Returns facts about the case in words.
    pub(super) fn notes(&self, figures: &Figures) -> Vec<String> {
        let mut notes = self.said.clone();
        if let (CaseKind::OneMore(_), Some(matrix)) = (self.kind, &figures.matrix) {
            notes.push(added(matrix));
        }
        notes
    }

    /// Returns the work that predicts the case.
    pub(super) fn work(&self, facts: &Facts, grounds: Grounds, pool: usize) -> Work {
        let setup = self.setup.as_ref().unwrap_or(&facts.running);
        let demand = facts.demand.clone();
        let demand = demand.with_policy(setup.policy, setup.segment_size);
        let factor = match self.kind {
            CaseKind::Rate(factor) => factor,
            _ => 1.0,
        };
        let about = Question {
            // Past errors of one setup do not apply to other devices or members.
            setup: grounds.about.setup.filter(|_| !self.is_hypothetical()),
            ..grounds.about
        };
        let of_p99 = Question {
            figure: PredictedFigure::P99,
            ..about
        };
        let work = Work {
            rehearsal: Rehearsal {
                demand,
                devices: facts.devices.clone(),
                matrix: setup.matrix.clone(),
                costs: grounds.costs,
                slowdown: facts.conditions.slowdown.clone(),
            },
            extends: false,
            rows: facts.conditions.rows.clone(),
            footprints: Arc::clone(&facts.footprints),
            throughput: grounds.book.correction(&about),
            p99: grounds.book.correction(&of_p99),
            load: facts.load.times(factor),
            pool,
        };
        match self.kind {
            CaseKind::OneMore(device) => with_one_like(work, device),
            CaseKind::Without(member) => without_member(work, member),
            _ => work,
        }
    }

    /// Returns whether its devices or members differ from the running ones.
    fn is_hypothetical(&self) -> bool {
        matches!(self.kind, CaseKind::OneMore(_) | CaseKind::Without(_))
    }
}

/// Returns the price of an hour.
fn price(device: &Device) -> Result<f64, String> {
    let price = device.kind.profile().and_then(|profile| profile.price);
    let unknown = || {
        format!(
            "no price of {} is known: only profiles of simulated devices have prices",
            device.name
        )
    };
    price.ok_or_else(unknown)
}

/// Returns the workers of the last device in words.
fn added(matrix: &Matrix) -> String {
    let frame = matrix.frame();
    let last = frame.devices.len().saturating_sub(1);
    let workers = matrix
        .workers()
        .filter(|(cell, _)| cell.device.get() == last);
    let workers = workers.map(|(cell, size)| format!("{} at {size}", frame.members[cell.member]));
    let workers: Vec<String> = workers.collect();
    match workers.is_empty() {
        true => "no worker on another device would raise the throughput".into(),
        false => format!("its workers: {}", workers.join(", ")),
    }
}

fn with_one_like(work: Work, device: DeviceIndex) -> Work {
    let Rehearsal { devices, costs, .. } = &work.rehearsal;
    let (devices, costs) = (devices.with_one_like(device), costs.with_one_like(device));
    let mut slowdown = work.rehearsal.slowdown.clone();
    // Another device is not the slowed one.
    slowdown.push(1.0);
    Work {
        rehearsal: Rehearsal {
            devices,
            costs: Arc::new(costs),
            slowdown,
            ..work.rehearsal
        },
        extends: true,
        ..work
    }
}

fn without_member(mut work: Work, member: MemberIndex) -> Work {
    let Rehearsal {
        demand,
        matrix,
        costs,
        ..
    } = &work.rehearsal;
    let mut models: Ensemble = demand.models().as_ref().clone();
    models.members.remove(member.get());
    let (matrix, costs) = (without_column(matrix, member), costs.without_member(member));
    work.rows.remove(member.get());
    work.rehearsal = Rehearsal {
        demand: Demand::from_ensemble(Arc::new(models)),
        costs: Arc::new(costs),
        matrix: matrix.unwrap_or_else(|| work.rehearsal.matrix.clone()),
        ..work.rehearsal
    };
    work
}

/// Returns the matrix without the column of a member, or `None` if no member is left.
fn without_column(matrix: &Matrix, member: MemberIndex) -> Option<Matrix> {
    let mut frame: Frame = matrix.frame().as_ref().clone();
    frame.members.remove(member.get());
    let cells = matrix.cells().filter(|cell| cell.member != member);
    let entries = cells.map(|cell| matrix.get(cell)).collect();
    Matrix::new(Arc::new(frame), entries).ok()
}

impl EngineSession {
    /// Returns the case of a question.
    ///
    /// # Errors
    /// There is no such device, member or change.
    pub(super) fn case(&mut self, question: &WhatIf, facts: &Facts) -> Result<Case, Refusal> {
        match question {
            WhatIf::Apply(setup) => Ok(self.case_of_setup(setup)),
            WhatIf::Undo => {
                let setup = self.changes.undo_setup()?;
                Ok(self.case_of_setup(&setup))
            }
            WhatIf::Redo => {
                let setup = self.changes.redo_setup()?;
                Ok(self.case_of_setup(&setup))
            }
            WhatIf::LoseDevice(device) => self.case_of_loss(*device, facts),
            WhatIf::AllIn(precision) => {
                let members = MemberIndex::all(facts.running.precisions.len());
                let setup = members.fold(facts.running.clone(), |setup, member| {
                    setup.with_precision(member, *precision)
                });
                let case = self.case_of_setup(&setup);
                Ok(self.staging(case))
            }
            WhatIf::Rate(factor) => {
                let kind = CaseKind::Rate(factor.get());
                Ok(Case::of(facts.running.clone(), kind))
            }
            WhatIf::OneMoreDevice(device) => {
                self.device(*device)?;
                let kind = CaseKind::OneMore(*device);
                Ok(Case::of(facts.running.clone(), kind))
            }
            WhatIf::WithoutMember(member) => self.case_without(*member, facts),
        }
    }

    /// Returns the case in which a setup is applied.
    fn case_of_setup(&mut self, setup: &Setup) -> Case {
        match self.preview(setup) {
            Ok(preview) => Case {
                said: preview.remarks.clone(),
                preview: Some(Box::new(preview)),
                ..Case::of(self.planned(setup), CaseKind::Setup)
            },
            Err(why) => Case::unserved(why.to_string(), CaseKind::Setup),
        }
    }

    /// Returns the setup as the engine would run it, with the precisions of its devices.
    pub(super) fn planned(&self, setup: &Setup) -> Setup {
        let plan = self.engine.plan(setup);
        plan.map_or_else(|_| setup.clone(), |plan| plan.new_setup().clone())
    }

    /// Returns the case with its setup to stage, if it changes anything.
    fn staging(&self, case: Case) -> Case {
        let changed = case.setup.clone().ok();
        let changed = changed.filter(|setup| *setup != self.engine.setup());
        Case {
            stages: changed.map(Box::new),
            ..case
        }
    }

    /// Returns the case in which a device fails. Its work moves by the rule of lost devices.
    fn case_of_loss(&mut self, device: DeviceIndex, facts: &Facts) -> Result<Case, Refusal> {
        self.device(device)?;
        let kind = CaseKind::Lost(device);
        if facts.lost.contains(&device) {
            return Ok(Case::unserved("the device is already lost".into(), kind));
        }
        let lost = [facts.lost.as_slice(), &[device]].concat();
        let moved = evacuate(
            &facts.running.matrix,
            &lost,
            &facts.devices,
            &facts.footprints,
        );
        let case = match moved {
            Ok(matrix) => self.case_of_setup(&facts.running.with_matrix(matrix)),
            Err(why) => Case::unserved(why.to_string(), kind),
        };
        let mut case = self.staging(case);
        case.said.extend(case.preview.as_deref().map(moves));
        Ok(Case { kind, ..case })
    }

    fn case_without(&mut self, member: MemberIndex, facts: &Facts) -> Result<Case, Refusal> {
        let members = facts.running.precisions.len();
        if member.get() >= members {
            let last = MemberIndex::new(members.saturating_sub(1));
            let found = member;
            return Err(SessionRefusal::UnknownMember { found, last }.into());
        }
        let kind = CaseKind::Without(member);
        let single = self.engine.catalogue().single_ensemble();
        if !single.is_some_and(|single| single.is_combined()) || members < 2 {
            let why = "only an ensemble of several members can have fewer";
            return Ok(Case::unserved(why.into(), kind));
        }
        let combination = &facts.running.combination;
        let silent = combination.with_vote(member, false).ok();
        let stages = silent.filter(|silent| silent != combination);
        let stages = stages.map(|combination| Setup {
            combination,
            ..facts.running.clone()
        });
        let note =
            "removed from the manifest; staging it only turns off its vote, and it still runs";
        Ok(Case {
            stages: stages.map(Box::new),
            said: vec![note.into()],
            ..Case::of(facts.running.clone(), kind)
        })
    }
}

/// Returns the workers that start in words.
fn moves(preview: &EditPreview) -> String {
    let started = preview.difference.changed();
    let started = started
        .filter(|entry| entry.change.starts().is_some())
        .count();
    match started {
        0 => "all its members have other workers, which take its work".into(),
        1 => "a member with no other worker starts one elsewhere".into(),
        n => format!("{n} members with no other worker start one elsewhere"),
    }
}
