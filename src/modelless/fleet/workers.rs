//! Starts and stops machines, as a state machine.

use std::time::Duration;

use super::scenario::WorkerKind;
use crate::variants::DeviceKindIndex;

/// The share of devices of a kind with an overloaded variant above which a machine is started
/// (INFaaS §4.2.3).
const OVERLOADED: f64 = 0.8;
/// The time without instances after which a machine is stopped.
const IDLE: Duration = Duration::from_secs(30);

/// An action on machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerStep {
    /// Start a machine of this kind.
    Start(usize),
    /// Stop this machine.
    Stop(usize),
}

/// The devices of a kind, by the states of their variants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct KindSeen {
    pub(super) devices: u32,
    pub(super) overloaded: u32,
    pub(super) interfered: u32,
}

/// A machine.
#[derive(Clone, Copy, Debug)]
struct Machine {
    kind: usize,
    is_there: bool,
    stopped: bool,
    idle_since: Option<Duration>,
}

/// Decides which machines run, start and stop.
#[derive(Clone, Debug)]
pub struct WorkerScaling {
    kinds: Vec<WorkerKind>,
    machines: Vec<Machine>,
}

impl WorkerScaling {
    /// Starts with the initial machines of each kind.
    pub fn new(kinds: &[WorkerKind]) -> Self {
        let mut scaling = WorkerScaling {
            kinds: kinds.to_vec(),
            machines: Vec::new(),
        };
        for (kind, worker) in kinds.iter().enumerate() {
            for _ in 0..worker.initial {
                scaling.push(kind, true);
            }
        }
        scaling
    }

    fn push(&mut self, kind: usize, is_there: bool) -> usize {
        self.machines.push(Machine {
            kind,
            is_there,
            stopped: false,
            idle_since: None,
        });
        self.machines.len() - 1
    }

    /// Returns the kind of a machine.
    pub fn kind(&self, machine: usize) -> usize {
        self.machines[machine].kind
    }

    /// Returns the number of running and starting machines of a kind.
    pub fn count(&self, kind: usize) -> u16 {
        let all = self.machines.iter();
        all.filter(|m| m.kind == kind && !m.stopped).count() as u16
    }

    /// Records that a machine has started.
    pub fn started(&mut self, machine: usize) {
        self.machines[machine].is_there = true;
    }

    /// Starts a machine of a kind. Returns its number.
    pub fn start(&mut self, kind: usize) -> usize {
        self.push(kind, false)
    }

    /// Decides which machines to start: one of a kind at a time, if a policy lacks its devices, if
    /// more than 80 % of them have an overloaded variant, or if all have an interfered one.
    pub(super) fn starts(
        &self,
        lacking: &[DeviceKindIndex],
        seen: impl Fn(DeviceKindIndex) -> KindSeen,
    ) -> Vec<WorkerStep> {
        let mut steps = Vec::new();
        for (at, kind) in self.kinds.iter().enumerate() {
            let starting = self
                .machines
                .iter()
                .any(|m| m.kind == at && !m.is_there && !m.stopped);
            if starting || self.count(at) >= kind.most {
                continue;
            }
            let needed = kind.devices.iter().any(|device| {
                let seen = seen(*device);
                let full = f64::from(seen.overloaded) > OVERLOADED * f64::from(seen.devices);
                let disturbed = seen.devices > 0 && seen.interfered == seen.devices;
                lacking.contains(device) || full || disturbed
            });
            if needed {
                steps.push(WorkerStep::Start(at));
            }
        }
        steps
    }

    /// Decides which machines to stop: those beyond the initial ones without instances for half a
    /// minute, the newest first.
    pub(super) fn stops(
        &mut self,
        now: Duration,
        is_idle: impl Fn(usize) -> bool,
    ) -> Vec<WorkerStep> {
        let mut steps = Vec::new();
        for machine in (0..self.machines.len()).rev() {
            let state = self.machines[machine];
            if !state.is_there || state.stopped {
                continue;
            }
            if !is_idle(machine) {
                self.machines[machine].idle_since = None;
                continue;
            }
            let since = *self.machines[machine].idle_since.get_or_insert(now);
            let spare = self.count(state.kind) > self.kinds[state.kind].initial;
            if spare && now.saturating_sub(since) >= IDLE {
                self.machines[machine].stopped = true;
                steps.push(WorkerStep::Stop(machine));
            }
        }
        steps
    }
}
