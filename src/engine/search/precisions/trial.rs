//! The measurements for a choice of precisions: every member is profiled in every precision and
//! answers each labelled sample once.

use std::sync::Arc;

use crate::load::{Until, saturate_for};
use crate::search::cache::Cache;
use crate::search::control::Control;
use crate::search::error::{SearchError, Stopped};
use crate::search::placement::worst_fit;
use crate::search::profiling::{ProfileCondition, Profiler, WorkerProfile};
use crate::serving::{Detail, Engine, EngineOptions, PredictorFactory};
use divisi_model::allocation::{Footprints, Frame};
use divisi_model::catalogue::{Catalogue, Demand};
use divisi_model::ensemble::{
    AnswerKind, BatchSizes, Ensemble, MemberPrecision, SampleTarget, Samples,
};
use divisi_model::profile::Costs;
use divisi_runtime::compute::CpuPrecision;
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::device::{Device, DeviceIndex, Devices, MemberIndex};

use super::answers::{MemberVariant, VariantAnswers};
use super::choice::{AccuracyLoss, PrecisionChoice, choose_precisions};
use super::error::AccuracyLossError;

/// The inputs for a choice of precisions.
pub struct PrecisionTrial<'a> {
    /// One ensemble of classes.
    pub demand: &'a Demand,
    /// The devices: only processors, or only GPUs.
    pub devices: &'a Devices,
    /// The factory of workers.
    pub factory: Arc<dyn PredictorFactory>,
    /// Samples with their classes.
    pub samples: &'a Samples,
    /// The cache of profiles.
    pub cache: Option<&'a Cache>,
    /// The control of the search that follows.
    pub control: &'a Control,
}

/// Every member in one precision: costs and memory.
pub struct ProfiledMembers {
    /// The costs of batches on the devices.
    pub costs: Costs,
    /// The memory of workers.
    pub footprints: Footprints,
    /// The worst condition of the measurements of costs.
    pub condition: ProfileCondition,
}

/// Every member in one precision: profiles and answers.
pub struct MeasuredMembers {
    /// The profiles.
    pub profiles: ProfiledMembers,
    /// The rows of each member for all samples, one after another.
    pub rows: Vec<Vec<f32>>,
}

/// The variant of each member in one precision.
type VariantsOfAll = Vec<MemberVariant>;

impl PrecisionTrial<'_> {
    /// Returns the ensemble, and all precisions of the devices with float32 first.
    ///
    /// # Errors
    /// The demand is not one ensemble of classes, or the devices are simulated or mixed.
    pub fn check<'a>(
        demand: &'a Demand,
        devices: &Devices,
    ) -> Result<(&'a Arc<Ensemble>, Vec<MemberPrecision>), AccuracyLossError> {
        let one = demand.catalogue().single_ensemble();
        let one = one.ok_or(AccuracyLossError::NoEnsemble("several models"))?;
        if one.pipeline.is_some() {
            return Err(AccuracyLossError::NoEnsemble("a pipeline"));
        }
        if one.is_synthetic() {
            return Err(AccuracyLossError::Synthetic(one.name.clone()));
        }
        match one.answers {
            AnswerKind::Classes { .. } => Ok((one, precisions(devices)?)),
            other => Err(AccuracyLossError::NoClasses(other.name())),
        }
    }

    /// Chooses the precision of each member so that the ensemble's accuracy on the samples falls by
    /// at most `allowed`.
    ///
    /// # Errors
    /// Accuracy cannot be counted, no device is large enough, a network does not run, or the search
    /// was cancelled.
    pub fn choose(&self, allowed: AccuracyLoss) -> Result<PrecisionChoice, SearchError> {
        let (ensemble, precisions) = Self::check(self.demand, self.devices)?;
        let labels = self.labels()?;
        let tried = precisions.into_iter();
        let tried: Vec<VariantsOfAll> = tried
            .map(|precision| self.tried(precision))
            .collect::<Result<_, _>>()?;
        let rule = ensemble.build_rule(&ensemble.combination());
        let (classes, members) = (ensemble.answer_width(), by_member(tried));
        let answers = VariantAnswers::new(rule, classes, labels, members);
        let answers = answers.map_err(AccuracyLossError::from)?;
        Ok(choose_precisions(&answers, allowed))
    }

    /// Returns the classes of the samples.
    ///
    /// # Errors
    /// The samples have no classes.
    pub fn labels(&self) -> Result<Vec<usize>, AccuracyLossError> {
        let targets = self.samples.targets().ok_or(AccuracyLossError::NoLabels)?;
        let labels = (0..self.samples.len()).map(|at| match targets.target(at) {
            SampleTarget::Class(class) => Ok(class),
            _ => Err(AccuracyLossError::NoLabels),
        });
        labels.collect()
    }

    /// Profiles every member in one precision, and runs every sample once.
    fn tried(&self, precision: MemberPrecision) -> Result<VariantsOfAll, SearchError> {
        let measured = self.measure(precision)?;
        let sizes = &self.demand.models().batch_sizes;
        let members = MemberIndex::enumerate(measured.rows);
        let variants = members.map(|(member, rows)| MemberVariant {
            precision,
            rows,
            seconds: seconds(&measured.profiles.costs, member, self.devices, sizes),
        });
        Ok(variants.collect())
    }

    /// Profiles every member in one precision unless a profile is kept, and runs every sample once.
    ///
    /// # Errors
    /// No device is large enough, a network does not run, or the search was cancelled.
    pub fn measure(&self, precision: MemberPrecision) -> Result<MeasuredMembers, SearchError> {
        let profiles = self.profile(precision)?;
        let (catalogue, footprints) = self.in_precision(precision);
        Ok(MeasuredMembers {
            rows: self.rows(&catalogue, &footprints)?,
            profiles,
        })
    }

    /// Profiles every member in one precision unless a profile is kept.
    ///
    /// # Errors
    /// No device is large enough, a network does not run, or the search was cancelled.
    pub fn profile(&self, precision: MemberPrecision) -> Result<ProfiledMembers, SearchError> {
        self.control.checkpoint()?;
        let (catalogue, footprints) = self.in_precision(precision);
        let profiled = self.profiler(&catalogue, &footprints).costs()?;
        self.control.update(|p| p.profiled += profiled.measured);
        Ok(ProfiledMembers {
            costs: profiled.costs,
            condition: profiled.condition,
            footprints,
        })
    }

    /// Returns the profile of every member's worker in one precision, on the kind of a device, with
    /// the condition of its measurement.
    ///
    /// # Errors
    /// A network does not run, or the search was cancelled.
    pub fn workers(
        &self,
        precision: MemberPrecision,
        device: DeviceIndex,
    ) -> Result<Vec<(WorkerProfile, ProfileCondition)>, SearchError> {
        let (catalogue, footprints) = self.in_precision(precision);
        self.profiler(&catalogue, &footprints).workers(device)
    }

    fn in_precision(&self, precision: MemberPrecision) -> (Catalogue, Footprints) {
        let members = self.demand.models().members.len();
        let catalogue = self.demand.catalogue();
        let catalogue = catalogue.in_precisions(&vec![precision; members]);
        let footprints = Footprints::plan_catalogue(&catalogue, self.devices);
        (catalogue, footprints)
    }

    fn profiler<'a>(
        &'a self,
        catalogue: &'a Catalogue,
        footprints: &'a Footprints,
    ) -> Profiler<'a> {
        Profiler {
            catalogue,
            devices: self.devices,
            footprints,
            factory: self.factory.as_ref(),
            cache: self.cache,
            control: self.control,
        }
    }

    /// Returns the rows of each member for all samples.
    fn rows(
        &self,
        catalogue: &Catalogue,
        footprints: &Footprints,
    ) -> Result<Vec<Vec<f32>>, SearchError> {
        let models = catalogue.models();
        let matrix = worst_fit(
            &Frame::from_ensemble(models, self.devices),
            self.devices,
            footprints,
        )?;
        let engine = Engine::start_catalogue(
            Arc::new(catalogue.without_queues()),
            self.devices.clone(),
            &matrix,
            Arc::clone(&self.factory),
            EngineOptions::default(),
        )?;
        let width = models.answer_width();
        let mut rows = vec![vec![0.0; self.samples.len() * width]; models.members.len()];
        let until = Until {
            stop: Some(self.control.cancelled()),
            ..Until::default()
        };
        let all = self.samples.len();
        saturate_for(
            &engine,
            self.samples,
            all,
            Detail::Members,
            until,
            |first, answer| {
                for (member, rows) in MemberIndex::enumerate(&mut rows) {
                    let into = rows.chunks_exact_mut(width).skip(first);
                    into.zip(answer.member_rows(member))
                        .for_each(|(to, row)| to.copy_from_slice(row));
                }
            },
        )?;
        match self.control.is_cancelled() {
            true => Err(Stopped.into()),
            false => Ok(rows),
        }
    }
}

/// Returns float32 and the other precisions of the devices.
fn precisions(devices: &Devices) -> Result<Vec<MemberPrecision>, AccuracyLossError> {
    let name = |is: fn(&Device) -> bool| {
        let found = devices.iter().find(|device| is(device));
        found.map(|device| device.name.clone())
    };
    if let Some(device) = name(|device| !device.kind.is_measured()) {
        return Err(AccuracyLossError::Simulated(device));
    }
    let gpu = name(|device| device.kind.gpu().is_some());
    let cores = name(|device| device.kind.gpu().is_none());
    match (cores, gpu) {
        (Some(cores), Some(gpu)) => Err(AccuracyLossError::MixedDevices { cores, gpu }),
        (None, _) => Ok(Precision::ALL.map(of_gpus).into()),
        (_, None) => Ok(CpuPrecision::ALL.map(of_cores).into()),
    }
}

/// Returns a precision of processors, for devices without GPUs.
fn of_cores(cores: CpuPrecision) -> MemberPrecision {
    MemberPrecision {
        cores,
        ..MemberPrecision::default()
    }
}

/// Returns a precision of GPUs, for devices without processors.
fn of_gpus(gpus: Precision) -> MemberPrecision {
    let named = gpus.name().parse::<MemberPrecision>();
    named.unwrap_or(MemberPrecision {
        gpus: Some(gpus),
        ..MemberPrecision::default()
    })
}

/// Regroups variants from one list per precision to one list per member.
fn by_member(tried: Vec<VariantsOfAll>) -> Vec<Vec<MemberVariant>> {
    let mut members: Vec<Vec<MemberVariant>> = Vec::new();
    for of_all in tried {
        members.resize(of_all.len().max(members.len()), Vec::new());
        let own = members.iter_mut().zip(of_all);
        own.for_each(|(variants, variant)| variants.push(variant));
    }
    members
}

/// Returns the seconds per sample of a member that has all devices to itself, each with its best
/// batch size.
fn seconds(costs: &Costs, member: MemberIndex, devices: &Devices, sizes: &BatchSizes) -> f64 {
    let on = |device: DeviceIndex| {
        let rates = sizes.iter().map(|size| {
            let rows = size.get();
            rows as f64 / costs.alone(member, device, rows).occupied
        });
        rates.fold(0.0, f64::max)
    };
    1.0 / devices
        .enumerate()
        .map(|(device, _)| on(device))
        .sum::<f64>()
}
