//! The batch costs that predictions use: laws of simulated devices, cached profiles, and costs
//! observed while serving.

use std::sync::Arc;

use thiserror::Error;

use crate::Setup;
use divisi_engine::search::profiling::Profiler;
use divisi_engine::search::{Cache, Control, PredictionBasis};
use divisi_engine::serving::{Engine, PredictorFactory};
use divisi_model::allocation::Footprints;
use divisi_model::catalogue::Catalogue;
use divisi_model::ensemble::MemberPrecision;
use divisi_model::profile::{CellCost, Costs, Learnt};
use divisi_runtime::device::{DeviceIndex, MemberIndex};

/// The batch costs that predictions use.
pub(super) struct Basis {
    /// The source of the costs; a better source replaces a worse one.
    pub kind: PredictionBasis,
    pub costs: Costs,
}

impl Basis {
    /// Returns whether this basis replaces the `old` one: it is better, or its profiles are new.
    /// Observed costs stay, so that a matrix keeps its prediction.
    pub(super) fn replaces(&self, old: &Basis) -> bool {
        let profiles = [self.kind, old.kind] == [PredictionBasis::Profiles; 2];
        self.kind > old.kind || (profiles && self.costs != old.costs)
    }
}

/// There are no costs to predict from yet.
#[derive(Debug, Error)]
pub(super) enum NoBasis {
    #[error("no profile of {member} on {device} yet: serve requests, or search with the model")]
    Now { member: String, device: String },
    #[error("no profile of {member} in {precision} on {device} yet")]
    Otherwise {
        member: String,
        precision: MemberPrecision,
        device: String,
    },
}

/// The sources of one engine's batch costs.
pub(super) struct CostSources {
    pub engine: Arc<Engine>,
    /// The factory of the engine's workers.
    pub factory: Arc<dyn PredictorFactory>,
    /// The cache of profiles.
    pub cache: Option<Cache>,
    /// The batch times observed while serving, at any load.
    pub learnt: Learnt,
    /// The batch times observed while a device ran full batches back to back.
    pub at_capacity: Learnt,
}

impl CostSources {
    /// Returns the first device of the same kind, or `None` for simulated devices, which have laws.
    pub(super) fn kind(&self, device: DeviceIndex) -> Option<DeviceIndex> {
        let devices = self.engine.devices();
        let facts = &devices.get(device).kind;
        let real = self.engine.costs().law(device).is_none();
        let like = || {
            let mut all = devices.indices();
            all.find(|d| devices.get(*d).kind.is_like(facts))
        };
        real.then(like).flatten()
    }

    /// Returns the costs of a setup in which members have other precisions, from profiles in those
    /// precisions, or `None` if no device computes in another precision.
    pub(super) fn otherwise(
        &self,
        basis: &Basis,
        precisions: &[MemberPrecision],
        setup: &Setup,
        footprints: &Footprints,
    ) -> Result<Option<Costs>, NoBasis> {
        let (devices, of_all) = (self.engine.devices(), self.engine.ensemble().precision);
        let both = MemberIndex::enumerate(precisions.iter().zip(&setup.precisions));
        let changed: Vec<(MemberIndex, DeviceIndex)> = both
            .flat_map(|(member, (now, then))| {
                let others = devices.enumerate();
                let others = others.filter(|(_, d)| !now.is_same_on(*then, &d.kind, of_all));
                others.map(move |(device, _)| (member, device))
            })
            .collect();
        if changed.is_empty() {
            return Ok(None);
        }
        let catalogue = self.engine.catalogue().in_precisions(&setup.precisions);
        let kept = self.kept(&catalogue, footprints);
        let unprofiled = |member: MemberIndex, device, precision| NoBasis::Otherwise {
            member: self.engine.ensemble().members[member].name.clone(),
            precision,
            device: devices.get(device).name.clone(),
        };
        // Times observed in batches of any size are not comparable with those profiled in full
        // batches.
        let is_seen = basis.kind < PredictionBasis::Profiles;
        let now = is_seen
            .then(|| self.kept(&self.engine.computed_catalogue(), &self.engine.footprints()));
        let mut costs = basis.costs.clone();
        for (member, device) in changed {
            let CellCost::Measured(profile) = kept.cell(member, device) else {
                return Err(unprofiled(member, device, setup.precisions[member]));
            };
            let is_unprofiled =
                |now: &Costs| !matches!(now.cell(member, device), CellCost::Measured(_));
            if now.as_ref().is_some_and(is_unprofiled) {
                return Err(unprofiled(member, device, precisions[member]));
            }
            costs.set_measured(member, device, Arc::clone(profile));
        }
        Ok(Some(costs))
    }

    /// Returns the best available basis, or the missing profile.
    pub(super) fn best_basis(&self) -> Result<Basis, NoBasis> {
        let devices = self.engine.devices();
        if devices.all_simulated() {
            return Ok(Basis {
                kind: PredictionBasis::Laws,
                costs: self.engine.costs().clone(),
            });
        }
        let kept = self.kept(&self.engine.computed_catalogue(), &self.engine.footprints());
        let observed = [
            (PredictionBasis::SeenAtCapacity, &self.at_capacity),
            (PredictionBasis::Seen, &self.learnt),
        ];
        if kept.is_complete() {
            return Ok(Basis {
                kind: PredictionBasis::Profiles,
                costs: kept,
            });
        }
        let mut missing = None;
        for (kind, learnt) in observed {
            let mut costs = kept.clone();
            costs.fill_from(&self.observed_costs(learnt, true));
            match costs.unknown() {
                None => return Ok(Basis { kind, costs }),
                Some(unknown) => missing = Some(unknown),
            }
        }
        let (member, device) = missing.unwrap_or_default();
        Err(NoBasis::Now {
            member: self.engine.ensemble().members[member].name.clone(),
            device: devices.get(device).name.clone(),
        })
    }

    /// Returns the costs of the cached profiles of the catalogue's members.
    fn kept(&self, catalogue: &Catalogue, footprints: &Footprints) -> Costs {
        let devices = self.engine.devices();
        let booked = self.engine.ledger(&self.engine.matrix()).ok();
        let beside = booked.map_or_else(|| devices.clone(), |booked| devices.minus_booked(&booked));
        let profiler = Profiler {
            catalogue,
            devices: &beside,
            footprints,
            factory: self.factory.as_ref(),
            cache: self.cache.as_ref(),
            control: &Control::default(),
        };
        profiler.kept_costs()
    }

    /// Returns the batch costs `learnt` while serving, and the laws of simulated devices. `settled`
    /// leaves out costs with too few observations.
    pub(super) fn observed_costs(&self, learnt: &Learnt, settled: bool) -> Costs {
        let (ensemble, devices) = (self.engine.ensemble(), self.engine.devices());
        let sizes: Vec<usize> = ensemble.batch_sizes.iter().map(|s| s.get()).collect();
        let mut costs = Costs::of_laws(ensemble, devices);
        for device in devices.indices() {
            let Some(kind) = self.kind(device) else {
                continue;
            };
            for member in MemberIndex::all(ensemble.members.len()) {
                let enough = !settled || learnt.is_settled(member, kind);
                let measured = learnt.measured(member, kind, &sizes);
                if let Some(measured) = measured.filter(|_| enough) {
                    costs.set_measured(member, device, Arc::new(measured));
                }
            }
        }
        costs
    }
}
