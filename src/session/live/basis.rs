//! The batch costs that predictions use: laws of simulated devices, cached profiles, and costs
//! observed while serving.

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::Setup;
use divisi_engine::search::profiling::Profiler;
use divisi_engine::search::{Cache, Control};
use divisi_engine::serving::{Engine, PredictorFactory};
use divisi_model::allocation::{Cell, Footprints};
use divisi_model::catalogue::Catalogue;
use divisi_model::ensemble::MemberPrecision;
use divisi_model::metrics::stats::median;
use divisi_model::profile::{CellCost, Costs, Learnt};
use divisi_runtime::device::{DeviceIndex, MemberIndex};

/// The quality of a basis; a better basis replaces a worse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grade {
    Seen,
    Profiles,
    Paced,
    /// Laws of simulated devices: the best basis.
    Laws,
}

/// The batch costs that predictions use.
pub(super) struct Basis {
    /// The quality of the costs.
    pub grade: Grade,
    pub costs: Costs,
    /// The source of the costs, in words.
    pub source: String,
    /// The factors between observed and profiled batch times.
    pub paces: Paces,
}

/// The factors between observed and profiled batch times.
#[derive(Clone, Debug, Default)]
pub(super) struct Paces {
    /// The factors of members on kinds of devices with enough observations.
    own: Vec<(MemberIndex, DeviceIndex, f64)>,
    /// The median of all factors, if known.
    middle: Option<f64>,
}

impl Paces {
    /// Returns the factor of a member on devices of a kind. It does not depend on the precision:
    /// the overhead of serving stays the same.
    fn pace(&self, member: MemberIndex, kind: DeviceIndex) -> f64 {
        let is_own = |(m, k, _): &&(MemberIndex, DeviceIndex, f64)| (*m, *k) == (member, kind);
        let own = self.own.iter().find(is_own).map(|(_, _, pace)| *pace);
        own.or(self.middle).unwrap_or(1.0)
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
    /// The batch times observed while serving.
    pub learnt: Learnt,
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
        (precisions, setup): (&[MemberPrecision], &Setup),
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
        let is_seen = basis.grade == Grade::Seen;
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
            let kind = self.kind(device).unwrap_or(device);
            let paced = profile
                .at_pace(basis.paces.pace(member, kind))
                .map(Arc::new);
            costs.set_measured(
                member,
                device,
                paced.unwrap_or_else(|_| Arc::clone(profile)),
            );
        }
        Ok(Some(costs))
    }

    /// Returns the best available basis, or the missing profile.
    pub(super) fn best_basis(&self, now: Duration) -> Result<Basis, NoBasis> {
        let devices = self.engine.devices();
        if devices.all_simulated() {
            return Ok(Basis {
                grade: Grade::Laws,
                costs: self.engine.costs().clone(),
                source: "model: device laws".into(),
                paces: Paces::default(),
            });
        }
        let catalogue = self.engine.computed_catalogue();
        let mut costs = self.kept(&catalogue, &self.engine.footprints());
        if costs.is_complete() {
            let paces = self.paces(&mut costs);
            let middle = paces.middle;
            return Ok(Basis {
                grade: if middle.is_some() {
                    Grade::Paced
                } else {
                    Grade::Profiles
                },
                source: match middle {
                    Some(pace) => format!(
                        "model: profiles × {pace:.2}, measured at {} s",
                        now.as_secs()
                    ),
                    None => "model: profiles".into(),
                },
                paces,
                costs,
            });
        }
        costs.fill_from(&self.observed_costs(true));
        match costs.unknown() {
            None => Ok(Basis {
                grade: Grade::Seen,
                source: format!("model: observed until {} s", now.as_secs()),
                paces: Paces::default(),
                costs,
            }),
            Some((member, device)) => Err(NoBasis::Now {
                member: self.engine.ensemble().members[member].name.clone(),
                device: devices.get(device).name.clone(),
            }),
        }
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

    /// Scales profiles by the pace observed while serving. Profiles may come from a machine that
    /// was busier. The median factor applies once it is known of every worker; until then, profiles
    /// stay unchanged.
    fn paces(&self, costs: &mut Costs) -> Paces {
        let measured = |cell: &Cell| match costs.cell(cell.member, cell.device) {
            CellCost::Measured(profile) => Some(Arc::clone(profile)),
            _ => None,
        };
        let matrix = self.engine.matrix();
        let workers = matrix.workers().map(|(cell, _)| cell);
        let real =
            workers.filter_map(|cell| Some((cell, self.kind(cell.device)?, measured(&cell)?)));
        let paces = real.map(|(cell, kind, profile)| self.learnt.pace(cell.member, kind, &profile));
        let paces: Option<Vec<f64>> = paces.collect();
        let Some(paces) = paces.filter(|paces| !paces.is_empty()) else {
            return Paces::default();
        };
        let (middle, mut own) = (median(&paces), Vec::new());
        for device in self.engine.devices().indices() {
            let Some(kind) = self.kind(device) else {
                continue;
            };
            for member in MemberIndex::all(self.engine.ensemble().members.len()) {
                let CellCost::Measured(profile) = costs.cell(member, device) else {
                    continue;
                };
                // A member without a worker there gets the median factor of the others.
                let seen = self.learnt.pace(member, kind, profile);
                own.extend(seen.map(|pace| (member, kind, pace)));
                let pace = seen.unwrap_or(middle);
                if let Ok(now) = profile.at_pace(pace) {
                    costs.set_measured(member, device, Arc::new(now));
                }
            }
        }
        Paces {
            own,
            middle: Some(middle),
        }
    }

    /// Returns the batch costs observed while serving, and the laws of simulated devices. `settled`
    /// leaves out costs with too few observations.
    pub(super) fn observed_costs(&self, settled: bool) -> Costs {
        let (ensemble, devices) = (self.engine.ensemble(), self.engine.devices());
        let sizes: Vec<usize> = ensemble.batch_sizes.iter().map(|s| s.get()).collect();
        let mut costs = Costs::of_laws(ensemble, devices);
        for device in devices.indices() {
            let Some(kind) = self.kind(device) else {
                continue;
            };
            for member in MemberIndex::all(ensemble.members.len()) {
                let enough = !settled || self.learnt.is_settled(member, kind);
                let measured = self.learnt.measured(member, kind, &sizes);
                if let Some(measured) = measured.filter(|_| enough) {
                    costs.set_measured(member, device, Arc::new(measured));
                }
            }
        }
        costs
    }
}
