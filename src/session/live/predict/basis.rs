//! What predictions can rest on, and where it comes from.

use std::sync::Arc;
use std::time::Duration;

use crate::allocation::Cell;
use crate::device::Devices;
use crate::metrics::stats::median;
use crate::profile::{CellCost, Costs};
use crate::search::Control;
use crate::search::profiling::Profiler;

use super::Forecast;

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
}

impl Forecast {
    /// The best basis that there is now, or what is missing.
    pub(super) fn best_basis(&self, now: Duration) -> Result<Basis, String> {
        let devices = self.engine.devices();
        if devices.all_simulated() {
            return Ok(Basis {
                grade: Grade::Laws,
                costs: self.engine.costs().clone(),
                source: "model: laws of the devices".into(),
            });
        }
        let mut costs = self.kept(devices);
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
                costs,
            });
        }
        costs.fill_from(&self.seen(true));
        match costs.unknown() {
            None => Ok(Basis {
                grade: Grade::Seen,
                source: format!("model: seen while serving until {} s", now.as_secs()),
                costs,
            }),
            Some((member, device)) => {
                let member = &self.engine.ensemble().members[member].name;
                let device = &devices.get(device).name;
                Err(format!(
                    "no profile of {member} on {device} yet: serve some load, or search with the model"
                ))
            }
        }
    }

    fn kept(&self, devices: &Devices) -> Costs {
        let booked = self.engine.ledger(&self.engine.matrix()).ok();
        let beside = booked.map_or_else(|| devices.clone(), |booked| devices.beside(&booked));
        let profiler = Profiler {
            ensemble: self.engine.ensemble(),
            devices: &beside,
            footprints: self.engine.footprints(),
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
        for device in 0..self.engine.devices().count() {
            let Some(kind) = self.kind(device) else {
                continue;
            };
            for member in 0..self.engine.ensemble().members.len() {
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
        for device in 0..devices.count() {
            let Some(kind) = self.kind(device) else {
                continue;
            };
            for member in 0..ensemble.members.len() {
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
