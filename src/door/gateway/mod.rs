//! Takes a request from a protocol to the models and back: the common part of HTTP and gRPC.

mod ready;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use divisi_engine::deployment::ModelOverride;

use crate::background::Background;
use crate::cache::{CacheLook, ResponseCache};
use crate::calls::{CallRecord, CallRecorder};
use crate::clock::ConnectionClock;
use crate::describe;
use crate::keys::{KeyRole, Keys};
use crate::limits::{Allowance, ServerLimits};
use crate::metrics::{CacheUse, ModelStatistics, SeriesFamily, Tallies, families, host_gauges};
use crate::options::ServerOptions;
use crate::proto::inference::{ModelConfig, ModelResponseCache};
use crate::regions::{RegionStatus, Regions, ReservedPart};
use crate::tls::TlsFiles;
use divisi_inference::error::{ErrorKind, ServiceError};
use divisi_inference::protocol::{
    CallOutput, InferenceCall, InferenceReply, ModelId, NamedTensor, ReplyOutput, ReplyPlace,
    classified,
};
use divisi_inference::service::{
    InferenceAnswer, InferenceRequest, InferenceTimes, ModelDescription, ModelService,
};
use divisi_runtime::device::host::recent_load;

use ready::ReadyRequest;

/// The models, and the state kept between requests.
pub(crate) struct Gateway {
    /// The models.
    pub service: Arc<dyn ModelService>,
    /// The bounds.
    pub limits: ServerLimits,
    /// The clock of the time limits.
    pub clock: ConnectionClock,
    /// The accepted keys; `None` accepts all clients.
    pub keys: Option<Arc<Keys>>,
    /// The certificate for TLS; `None` without TLS.
    pub tls: Option<Arc<TlsFiles>>,
    /// The bytes of request bodies in memory.
    pub bodies: Arc<Allowance>,
    /// Reads and writes large JSON.
    pub background: Background,
    /// Whether clients may upload model files when they load models.
    pub load_files: bool,
    /// The recorder of calls.
    pub calls: Arc<CallRecorder>,
    /// Whether the server is shutting down.
    is_ending: AtomicBool,
    /// The cache of answers, if enabled.
    cache: Option<ResponseCache>,
    requests: Arc<Allowance>,
    regions: Regions,
    tallies: Arc<Tallies>,
}

impl Gateway {
    /// Creates a gateway to models.
    pub(crate) fn new(
        service: Arc<dyn ModelService>,
        options: &ServerOptions,
        calls: CallRecorder,
        background: Background,
    ) -> Arc<Self> {
        let limits = options.limits;
        Arc::new(Gateway {
            service,
            limits,
            clock: options.clock.clone(),
            keys: options.keys.clone(),
            tls: options.tls.clone(),
            bodies: Allowance::with_limit(limits.bodies),
            background,
            load_files: options.load_files,
            calls: Arc::new(calls),
            is_ending: AtomicBool::new(false),
            cache: options.cache.map(|most| ResponseCache::new(most.get())),
            requests: Allowance::with_limit(limits.requests),
            regions: Regions::default(),
            tallies: Arc::default(),
        })
    }

    /// Marks the server as shutting down: it is no longer ready.
    pub(crate) fn ends(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    /// Returns whether clients should use this server.
    pub(crate) fn is_ready(&self) -> bool {
        !self.is_ending.load(Ordering::Relaxed) && self.service.is_ready()
    }

    /// Checks that a header `authorization` has a key with a role; `None` requires no key. Records
    /// the name of the key.
    ///
    /// # Errors
    /// Returns an error if keys are required and the header has none with this role.
    pub(crate) fn authorize(
        &self,
        header: Option<&[u8]>,
        needed: Option<KeyRole>,
        record: &CallRecord,
    ) -> Result<(), ServiceError> {
        if let (Some(keys), Some(role)) = (&self.keys, needed) {
            let who = keys.check(header, role)?;
            record.is_by(who);
        }
        Ok(())
    }

    /// Answers a request; `within` is the deadline set by its protocol.
    ///
    /// # Errors
    /// Returns an error if the request is refused, fails, or misses its deadline.
    pub(crate) async fn infer(
        &self,
        call: InferenceCall,
        within: Option<Duration>,
        record: &CallRecord,
    ) -> Result<InferenceReply, ServiceError> {
        let model = self.service.describe(&call.model);
        let model = model.inspect_err(|error| record.fails_by(error))?;
        record.set_model(&model, &call.id);
        let mut tally = self.tallies.tally_of(&model).begin();
        match self.answer(&call, &model, within, record).await {
            Ok((answer, cache, reply)) => {
                // Models may have changed while it waited.
                if answer.model.version != model.version {
                    record.asks_again(&answer.model);
                    tally.goes_to(self.tallies.tally_of(&answer.model));
                }
                note(record, &answer, cache);
                let batches = self.tallies.count_runs(&answer.model, &answer.runs);
                tally.end(Ok((&answer, cache, batches)));
                Ok(reply)
            }
            Err(error) => {
                record.fails_by(&error);
                tally.end(Err(&error));
                Err(error)
            }
        }
    }

    /// Counts a request that was refused while it was read, if its model exists.
    pub(crate) fn count_refusal(&self, model: &ModelId, error: &ServiceError, record: &CallRecord) {
        if let Ok(described) = self.service.describe(model) {
            record.set_model(&described, "");
            self.tallies.tally_of(&described).refuse(error.kind());
        }
        record.fails_by(error);
    }

    async fn answer(
        &self,
        call: &InferenceCall,
        model: &Arc<ModelDescription>,
        within: Option<Duration>,
        record: &CallRecord,
    ) -> Result<(InferenceAnswer, CacheUse, InferenceReply), ServiceError> {
        let ReadyRequest {
            request,
            regions,
            _place,
        } = self.ready(call, model, within, record)?;
        let (mut answer, cache) = self.answer_within(request, model).await?;
        let outputs = std::mem::take(&mut answer.outputs).into_iter().enumerate();
        let outputs = outputs.map(|(at, output)| {
            let region = regions.get(at).and_then(Option::as_ref);
            written(call, &answer.model, at, output, region)
        });
        let reply = InferenceReply {
            model: answer.model.name.clone(),
            version: answer.model.version.clone(),
            id: call.id.clone(),
            outputs: outputs
                .collect::<Result<_, _>>()
                .map_err(ServiceError::after_acceptance)?,
            parameters: std::mem::take(&mut answer.parameters),
        };
        Ok((answer, cache, reply))
    }

    /// Requests an answer from the model or the cache. An answer after the deadline is discarded.
    async fn answer_within(
        &self,
        request: InferenceRequest,
        model: &ModelDescription,
    ) -> Result<(InferenceAnswer, CacheUse), ServiceError> {
        let (began, deadline) = (Instant::now(), request.deadline);
        let answered = self.answer_or_kept(request, model).await?;
        match deadline.is_some_and(|deadline| began.elapsed() > deadline) {
            false => Ok(answered),
            true => Err(ServiceError::new(
                ErrorKind::TimedOut,
                "the answer came after the request's deadline",
            )
            .after_acceptance()),
        }
    }

    async fn answer_or_kept(
        &self,
        request: InferenceRequest,
        model: &ModelDescription,
    ) -> Result<(InferenceAnswer, CacheUse), ServiceError> {
        let Some(cache) = self.cache_for(&request, model) else {
            return Ok((self.service.infer(request).await?, CacheUse::None));
        };
        let began = Instant::now();
        match cache.lookup(&request, self.service.epoch()) {
            CacheLook::Hit(answer) => Ok((answer, CacheUse::Hit(began.elapsed()))),
            CacheLook::Miss(place) => {
                let looked = began.elapsed();
                let answer = self.service.infer(request).await?;
                let began = Instant::now();
                cache.keep(place, &answer, self.service.epoch());
                Ok((answer, CacheUse::Miss(looked + began.elapsed())))
            }
        }
    }

    /// Returns the cache if the answer to a request may be cached.
    fn cache_for(
        &self,
        request: &InferenceRequest,
        model: &ModelDescription,
    ) -> Option<&ResponseCache> {
        let cache = self.cache.as_ref();
        cache.filter(|_| model.cached && request.goals.is_none())
    }

    /// Returns the configuration of a model.
    ///
    /// # Errors
    /// Returns an error if there is no model of this name and version.
    pub(crate) fn config(&self, of: &ModelId) -> Result<ModelConfig, ServiceError> {
        let model = self.service.describe(of)?;
        let cached = self.cache.is_some() && model.cached;
        Ok(ModelConfig {
            response_cache: cached.then_some(ModelResponseCache { enable: true }),
            ..describe::config(&model, &self.service.instances(&model))
        })
    }

    /// Returns the statistics of a version of a model, of all its versions, or of all models.
    ///
    /// # Errors
    /// Returns an error if there is no model of this name and version.
    pub(crate) fn statistics(
        &self,
        of: Option<&ModelId>,
    ) -> Result<Vec<ModelStatistics>, ServiceError> {
        let Some(model) = of else {
            let listed = self.service.index().into_iter().map(|listed| listed.model);
            return Ok(self.statistics_of(self.tallies.completed(listed)));
        };
        let described = self.service.describe(model)?;
        if model.version.is_some() {
            return Ok(vec![self.read_tally(&described)]);
        }
        let versions = described.versions.iter();
        let versions = versions.map(|version| ModelId::new(&*model.name, &**version));
        Ok(self.statistics_of(versions))
    }

    fn statistics_of(&self, models: impl Iterator<Item = ModelId>) -> Vec<ModelStatistics> {
        let described = models.filter_map(|model| self.service.describe(&model).ok());
        described.map(|model| self.read_tally(&model)).collect()
    }

    fn read_tally(&self, model: &ModelDescription) -> ModelStatistics {
        let counted = self.tallies.read(model);
        let waiting = self.service.waiting(model);
        ModelStatistics {
            pending: waiting.map_or(counted.pending, |waiting| waiting as u64),
            ..counted
        }
    }

    /// Returns all metrics.
    pub(crate) fn metrics(&self) -> Vec<SeriesFamily> {
        let models = self.statistics(None).unwrap_or_default();
        let mut gauges = self.service.gauges();
        gauges.extend(self.calls.gauges());
        gauges.extend(self.cache.iter().flat_map(ResponseCache::gauges));
        gauges.extend(host_gauges(recent_load().as_ref()));
        gauges.push(describe::build_info());
        families(&models, &gauges)
    }

    /// Loads a model in its own thread.
    ///
    /// # Errors
    /// Returns the errors of [`ModelService::load`].
    pub(crate) async fn load(
        &self,
        name: String,
        by: ModelOverride,
        held: impl Send + 'static,
    ) -> Result<(), ServiceError> {
        let service = Arc::clone(&self.service);
        control(move || {
            // The client may have left, but its data is still in memory.
            let _held = held;
            service.load(&name, &by)
        })
        .await
    }

    /// Unloads a model in its own thread.
    ///
    /// # Errors
    /// Returns the errors of [`ModelService::unload`].
    pub(crate) async fn unload(&self, name: String, dependents: bool) -> Result<(), ServiceError> {
        let service = Arc::clone(&self.service);
        control(move || service.unload(&name, dependents)).await
    }

    /// Registers a region of shared memory.
    ///
    /// # Errors
    /// Returns the errors of [`Regions::register`].
    pub(crate) fn register(&self, region: RegionStatus) -> Result<(), ServiceError> {
        self.regions.register(region, self.limits.regions)
    }

    /// Returns the regions of shared memory.
    pub(crate) fn regions(&self) -> &Regions {
        &self.regions
    }
}

/// Records an answer in the record of its call.
fn note(record: &CallRecord, answer: &InferenceAnswer, cache: CacheUse) {
    record.note(|facts| {
        facts.add_runs(&answer.model, &answer.runs);
        facts.samples = answer.samples;
        facts.cached = matches!(cache, CacheUse::Hit(_));
        facts.times = match facts.cached {
            true => InferenceTimes::default(),
            false => answer.times,
        };
    });
}

/// Returns an output in the requested form, and writes it to its shared memory region if it has
/// one.
fn written(
    call: &InferenceCall,
    model: &ModelDescription,
    at: usize,
    output: NamedTensor,
    region: Option<&ReservedPart>,
) -> Result<ReplyOutput, ServiceError> {
    let usual = CallOutput::default();
    let wanted = call.outputs.get(at).unwrap_or(&usual);
    let NamedTensor { name, mut tensor } = output;
    if let Some(most) = wanted.classes {
        let labels = model.labels_of(&name).map(|labels| &labels[..]);
        let batched = model.batch.is_some() && !model.one_sample;
        tensor = classified(&name, &tensor, most, batched, labels)?;
    }
    let place = match (&wanted.region, region) {
        (Some(part), Some(region)) => {
            region.write(&tensor.bytes())?;
            ReplyPlace::Region(part.clone())
        }
        _ if wanted.binary.unwrap_or(call.binary) => ReplyPlace::Binary,
        _ => ReplyPlace::Written,
    };
    Ok(ReplyOutput {
        name,
        tensor,
        place,
    })
}

/// Runs blocking work outside the threads that answer clients.
async fn control(
    work: impl FnOnce() -> Result<(), ServiceError> + Send + 'static,
) -> Result<(), ServiceError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| {
        Err(ServiceError::new(
            ErrorKind::Internal,
            "the change stopped unexpectedly",
        ))
    })
}
