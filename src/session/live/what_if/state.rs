//! The state behind answers: the facts that they assume, and the cases being computed.

use std::sync::Arc;
use std::time::Duration;

use divisi_model::allocation::Footprints;
use divisi_model::catalogue::Demand;
use divisi_runtime::device::{DeviceIndex, Devices};

use crate::Setup;

use super::super::forecast::Conditions;
use super::desk::Desk;
use super::load::LoadNow;
use super::outcomes::LatencyOutcomes;

/// The what-if questions of one engine.
#[derive(Default)]
pub(in super::super) struct WhatIfs {
    pub(super) desk: Desk,
    pub(super) facts: Option<Facts>,
    /// The number of the facts.
    pub(super) number: u64,
    pub(super) outcomes: LatencyOutcomes,
}

/// The facts behind a few answers.
#[derive(Clone)]
pub(super) struct Facts {
    pub(super) at: Duration,
    pub(super) running: Setup,
    pub(super) lost: Vec<DeviceIndex>,
    pub(super) devices: Devices,
    pub(super) footprints: Arc<Footprints>,
    pub(super) demand: Demand,
    pub(super) conditions: Conditions,
    pub(super) load: LoadNow,
}
