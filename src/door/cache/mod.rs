//! Cached answers: a repeated request gets the same answer while the served models are unchanged.
//!
//! Answers are found by a hash of 128 bits with a random key, so that clients cannot construct
//! collisions. The requests are also compared before the answer is used.

mod machine;

use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::Arc;

use bytes::Bytes;
use divisi_runtime::lock::Leaf;

use divisi_inference::protocol::{ModelId, NamedTensor, WireTensor};
use divisi_inference::service::{Gauge, InferenceAnswer, InferenceRequest};

pub use machine::CacheMachine;

/// The approximate bytes of an answer in addition to its tensors.
const OVERHEAD: usize = 512;

/// A request in the form used for comparison.
#[derive(Debug, PartialEq, Eq)]
struct CachedRequest {
    model: ModelId,
    outputs: Vec<String>,
    inputs: Vec<NamedTensor>,
}

/// An answer and its request.
#[derive(Debug)]
struct CachedAnswer {
    request: CachedRequest,
    answer: InferenceAnswer,
}

/// A cache of answers.
pub(crate) struct ResponseCache {
    hashes: [RandomState; 2],
    machine: Leaf<CacheMachine<Arc<CachedAnswer>>>,
}

/// The place of a missing answer.
#[derive(Debug)]
pub(crate) struct CachePlace {
    key: u128,
    epoch: u64,
    request: CachedRequest,
}

/// A cached answer, or the place for it.
#[derive(Debug)]
pub(crate) enum CacheLook {
    /// The answer is cached.
    Hit(InferenceAnswer),
    /// The answer is not cached.
    Miss(CachePlace),
}

impl ResponseCache {
    /// Creates an empty cache of at most `most` bytes.
    pub(crate) fn new(most: usize) -> Self {
        ResponseCache {
            hashes: [RandomState::new(), RandomState::new()],
            machine: Leaf::new(CacheMachine::new(most)),
        }
    }

    /// Looks up the answer to a request, in the current epoch of the served models.
    pub(crate) fn lookup(&self, request: &InferenceRequest, epoch: u64) -> CacheLook {
        let key = self.key(request);
        let found = {
            let mut machine = self.machine.lock();
            machine.enter(epoch);
            machine.find(key).map(Arc::clone)
        };
        match found {
            Some(cached) if cached.request.is(request) => CacheLook::Hit(cached.answer.clone()),
            _ => CacheLook::Miss(CachePlace {
                key,
                epoch,
                request: CachedRequest::from_request(request),
            }),
        }
    }

    /// Stores an answer if `epoch` is still current.
    pub(crate) fn keep(&self, place: CachePlace, answer: &InferenceAnswer, epoch: u64) {
        if place.epoch != epoch {
            return;
        }
        let CachePlace { key, request, .. } = place;
        let answer = InferenceAnswer {
            outputs: answer.outputs.iter().map(own).collect(),
            runs: Vec::new(),
            ..answer.clone()
        };
        let request = CachedRequest {
            inputs: request.inputs.iter().map(own).collect(),
            ..request
        };
        let bytes = OVERHEAD + size(&request.inputs) + size(&answer.outputs);
        let cached = Arc::new(CachedAnswer { request, answer });
        self.machine.lock().keep(key, cached, bytes, epoch);
    }

    /// Returns the size of the cache, for `/metrics`.
    pub(crate) fn gauges(&self) -> Vec<Gauge> {
        let (bytes, answers) = {
            let machine = self.machine.lock();
            (machine.bytes(), machine.len())
        };
        let gauge = |name, help, value: usize| Gauge {
            name,
            help,
            counts: false,
            labels: Vec::new(),
            value: value as f64,
        };
        vec![
            gauge("divisi_cache_bytes", "Bytes of cached answers", bytes),
            gauge("divisi_cache_answers", "Cached answers", answers),
        ]
    }

    fn key(&self, request: &InferenceRequest) -> u128 {
        let half = |state: &RandomState| {
            let mut hasher = state.build_hasher();
            hash(request, &mut hasher);
            u128::from(hasher.finish())
        };
        let [first, second] = &self.hashes;
        half(first) << 64 | half(second)
    }
}

fn hash(request: &InferenceRequest, hasher: &mut impl Hasher) {
    request.model.name.hash(hasher);
    request.model.version.hash(hasher);
    request.outputs.hash(hasher);
    for NamedTensor { name, tensor } in &request.inputs {
        name.hash(hasher);
        tensor.data_type().name().hash(hasher);
        tensor.dims().hash(hasher);
        tensor.bytes().hash(hasher);
    }
}

impl CachedRequest {
    fn from_request(request: &InferenceRequest) -> Self {
        CachedRequest {
            model: request.model.clone(),
            outputs: request.outputs.clone(),
            inputs: request.inputs.clone(),
        }
    }

    fn is(&self, request: &InferenceRequest) -> bool {
        self.model == request.model
            && self.outputs == request.outputs
            && self.inputs == request.inputs
    }
}

/// Returns a tensor in its own memory, so that it does not keep the buffer of a whole request.
fn own(named: &NamedTensor) -> NamedTensor {
    let NamedTensor { name, tensor } = named;
    let bytes = Bytes::copy_from_slice(&tensor.bytes());
    NamedTensor {
        name: name.clone(),
        tensor: WireTensor::of_values(tensor.data_type(), tensor.dims().to_vec(), bytes),
    }
}

fn size(tensors: &[NamedTensor]) -> usize {
    let one = |named: &NamedTensor| {
        let NamedTensor { name, tensor } = named;
        name.len() + size_of_val(tensor.dims()) + tensor.size()
    };
    tensors.iter().map(one).sum()
}
