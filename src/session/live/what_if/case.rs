//! The case of a question: the setup that would run, its devices and members.

use std::sync::Arc;

use divisi_engine::search::{PredictedFigure, Question, Rehearsal};
use divisi_model::allocation::{Frame, Matrix};
use divisi_model::catalogue::Demand;
use divisi_model::ensemble::Ensemble;
use divisi_runtime::device::{Device, DeviceIndex, MemberIndex};

use crate::{EditPreview, Setup};

use super::super::forecast::Grounds;
use super::figures::{CaseWork, Figures};
use super::state::Facts;

/// A case with the setup that would run.
pub(super) struct Case {
    /// The setup, or the reason why requests could not be served.
    pub(super) setup: Result<Setup, String>,
    /// The setup that could be staged.
    pub(super) stages: Option<Box<Setup>>,
    /// The changes to the setup.
    pub(super) preview: Option<Box<EditPreview>>,
    /// The difference in addition to the setup.
    pub(super) kind: CaseKind,
    /// The notes that do not depend on figures.
    pub(super) said: Vec<String>,
}

/// The difference of a case in addition to its setup.
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

    pub(super) fn of(setup: Setup, kind: CaseKind) -> Self {
        Case {
            setup: Ok(setup),
            stages: None,
            preview: None,
            kind,
            said: Vec::new(),
        }
    }

    /// Returns a case in which requests cannot be served.
    pub(super) fn unserved(why: String, kind: CaseKind) -> Self {
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
    pub(super) fn work(&self, facts: &Facts, grounds: Grounds, pool: usize) -> CaseWork {
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
        let work = CaseWork {
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
            accuracies: None,
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

fn with_one_like(work: CaseWork, device: DeviceIndex) -> CaseWork {
    let Rehearsal { devices, costs, .. } = &work.rehearsal;
    let (devices, costs) = (devices.with_one_like(device), costs.with_one_like(device));
    let mut slowdown = work.rehearsal.slowdown.clone();
    // Another device is not the slowed one.
    slowdown.push(1.0);
    CaseWork {
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

fn without_member(mut work: CaseWork, member: MemberIndex) -> CaseWork {
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
