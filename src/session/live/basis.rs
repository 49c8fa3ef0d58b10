//! The batch costs that predictions rest on: laws of simulated devices, profiles that are kept, and
//! what serving has shown.

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::allocation::{Cell, Footprints};
use crate::catalogue::Catalogue;
use crate::device::{DeviceIndex, MemberIndex};
use crate::ensemble::MemberPrecision;
use crate::metrics::stats::median;
use crate::profile::{CellCost, Costs, Learnt};
use crate::search::profiling::Profiler;
use crate::search::{Cache, Control};
use crate::serving::{Engine, PredictorFactory};
use crate::session::Setup;

/// How good a basis is; a better one replaces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grade {
    Seen,
    Profiles,
    Paced,
    /// Of simulated devices: there is no better one.
    Laws,
}

/// The batch costs that predictions rest on.
pub(super) struct Basis {
    /// How good they are.
    pub grade: Grade,
    /// The costs of batches.
    pub costs: Costs,
    /// Where they come from, in words.
    pub source: String,
    /// How many times as long batches take as profiles say.
    pub pace: f64,
}

/// There is nothing to predict from yet.
#[derive(Debug, Error)]
pub(super) enum NoBasis {
    #[error("no profile of {member} on {device} yet: serve some load, or search with the model")]
    Now { member: String, device: String },
    #[error("no profile of {member} in {precision} on {device} yet")]
    Otherwise {
        member: String,
        precision: MemberPrecision,
        device: String,
    },
}

/// Where the costs of one engine's batches come from.
pub(super) struct CostSources {
    /// The engine.
    pub engine: Arc<Engine>,
    /// The factory of its workers.
    pub factory: Arc<dyn PredictorFactory>,
    /// Where profiles are kept.
    pub cache: Option<Cache>,
    /// Batches that were seen while serving.
    pub learnt: Learnt,
}

impl CostSources {
    /// The first device that is like another; none of simulated ones, which have laws.
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

    /// Returns the costs of a setup in which members are computed in other numbers than now, from
    /// the profiles of these alone, or `None` where no device computes any otherwise.
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
        let mut costs = basis.costs.clone();
        for (member, device) in changed {
            let CellCost::Measured(profile) = kept.cell(member, device) else {
                return Err(NoBasis::Otherwise {
                    member: self.engine.ensemble().members[member].name.clone(),
                    precision: setup.precisions[member],
                    device: devices.get(device).name.clone(),
                });
            };
            let paced = profile.at_pace(basis.pace).map(Arc::new);
            costs.set_measured(
                member,
                device,
                paced.unwrap_or_else(|_| Arc::clone(profile)),
            );
        }
        Ok(Some(costs))
    }

    /// The best basis that there is now, or what is missing.
    pub(super) fn best_basis(&self, now: Duration) -> Result<Basis, NoBasis> {
        let devices = self.engine.devices();
        if devices.all_simulated() {
            return Ok(Basis {
                grade: Grade::Laws,
                costs: self.engine.costs().clone(),
                source: "model: laws of the devices".into(),
                pace: 1.0,
            });
        }
        let catalogue = self.engine.computed_catalogue();
        let mut costs = self.kept(&catalogue, &self.engine.footprints());
        if costs.is_complete() {
            let pace = self.pace(&mut costs);
            return Ok(Basis {
                grade: if pace.is_some() {
                    Grade::Paced
                } else {
                    Grade::Profiles
                },
                source: match pace {
                    Some(pace) => format!(
                        "model: profiles × {pace:.2}, the pace of serving at {} s",
                        now.as_secs()
                    ),
                    None => "model: profiles".into(),
                },
                pace: pace.unwrap_or(1.0),
                costs,
            });
        }
        costs.fill_from(&self.seen(true));
        match costs.unknown() {
            None => Ok(Basis {
                grade: Grade::Seen,
                source: format!("model: seen while serving until {} s", now.as_secs()),
                pace: 1.0,
                costs,
            }),
            Some((member, device)) => Err(NoBasis::Now {
                member: self.engine.ensemble().members[member].name.clone(),
                device: devices.get(device).name.clone(),
            }),
        }
    }

    /// Returns the costs of profiles that are kept of the members as the catalogue has them computed.
    fn kept(&self, catalogue: &Catalogue, footprints: &Footprints) -> Costs {
        let devices = self.engine.devices();
        let booked = self.engine.ledger(&self.engine.matrix()).ok();
        let beside = booked.map_or_else(|| devices.clone(), |booked| devices.beside(&booked));
        let profiler = Profiler {
            catalogue,
            devices: &beside,
            footprints,
            factory: self.factory.as_ref(),
            cache: self.cache.as_ref(),
            control: &Control::default(),
        };
        profiler.kept()
    }

    /// Profiles were measured some time ago, on a machine that may have been busier: what
    /// serving shows says how long batches take now. How many times as long in the middle,
    /// once that is known of every worker; else profiles stay as they are.
    fn pace(&self, costs: &mut Costs) -> Option<f64> {
        let measured = |cell: &Cell| match costs.cell(cell.member, cell.device) {
            CellCost::Measured(profile) => Some(Arc::clone(profile)),
            _ => None,
        };
        let matrix = self.engine.matrix();
        let workers = matrix.workers().map(|(cell, _)| cell);
        let real =
            workers.filter_map(|cell| Some((cell, self.kind(cell.device)?, measured(&cell)?)));
        let paces = real.map(|(cell, kind, profile)| self.learnt.pace(cell.member, kind, &profile));
        let paces: Vec<f64> = paces.collect::<Option<_>>()?;
        if paces.is_empty() {
            return None;
        }
        let middle = median(&paces);
        for device in self.engine.devices().indices() {
            let Some(kind) = self.kind(device) else {
                continue;
            };
            for member in MemberIndex::all(self.engine.ensemble().members.len()) {
                let CellCost::Measured(profile) = costs.cell(member, device) else {
                    continue;
                };
                // One that does not run there goes at the pace of those that do.
                let pace = self.learnt.pace(member, kind, profile).unwrap_or(middle);
                if let Ok(now) = profile.at_pace(pace) {
                    costs.set_measured(member, device, Arc::new(now));
                }
            }
        }
        Some(middle)
    }

    /// Returns the batch costs seen while serving, and the laws of simulated devices. With
    /// `settled`, costs that were seen too seldom are left out.
    pub(super) fn seen(&self, settled: bool) -> Costs {
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
