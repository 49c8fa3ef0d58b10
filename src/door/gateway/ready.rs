//! Prepares a request for its model: reads its tensors and reserves memory for it and its answer.

use std::sync::Arc;
use std::time::Duration;

use crate::calls::CallRecord;
use crate::limits::{AllowanceShare, no_memory};
use crate::metrics::Tallies;
use crate::regions::ReservedPart;
use divisi_inference::error::{ErrorKind, ServiceError};
use divisi_inference::protocol::{CallInput, InferenceCall, InputSource, NamedTensor, WireTensor};
use divisi_inference::service::{InferenceRequest, ModelDescription};

use super::Gateway;

/// A request prepared for its model.
pub(super) struct ReadyRequest {
    pub(super) request: InferenceRequest,
    /// The shared memory of outputs, one for each requested output.
    pub(super) regions: Vec<Option<ReservedPart>>,
    /// Its place among the requests in progress.
    pub(super) _place: AllowanceShare,
}

impl Gateway {
    /// Reads the inputs of a request, and reserves memory for it and its answer.
    ///
    /// # Errors
    /// Returns an error if an input is invalid or there is no room.
    pub(super) fn ready(
        &self,
        call: &InferenceCall,
        model: &Arc<ModelDescription>,
        within: Option<Duration>,
        record: &CallRecord,
    ) -> Result<ReadyRequest, ServiceError> {
        let most = self.limits.requests;
        let _place = self.requests.take_one().ok_or_else(|| {
            let message = format!("{most} requests are in progress, the maximum");
            ServiceError::new(ErrorKind::TooMany, message)
        })?;
        let (deadline, patience) = timeouts(call, model, within);
        let request = InferenceRequest {
            model: call.model.clone(),
            described: Some(Arc::clone(model)),
            inputs: self.inputs(call)?,
            outputs: call.outputs.iter().map(|o| o.name.clone()).collect(),
            deadline,
            priority: call.priority,
            goals: call.goals.clone(),
            patience,
            due: None,
            untold: Arc::<Tallies>::clone(&self.tallies),
            origin: record.origin(&call.id),
        };
        // Outputs that cannot be written are refused before any computation.
        let regions = call.outputs.iter().map(|output| {
            let part = output.region.as_ref();
            part.map(|part| self.regions.reserve(part)).transpose()
        });
        Ok(ReadyRequest {
            request,
            regions: regions.collect::<Result<_, _>>()?,
            _place,
        })
    }

    /// Returns the inputs of a request. Shared memory is copied only once there is room for all of
    /// it: a small request can refer to large regions.
    fn inputs(&self, call: &InferenceCall) -> Result<Vec<NamedTensor>, ServiceError> {
        let (most, found) = (self.limits.bodies, call.region_bytes());
        if found > most {
            let message = format!(
                "inputs in shared memory: expected at most {most} bytes in all, found {found}"
            );
            return Err(ServiceError::new(ErrorKind::TooLarge, message));
        }
        let rooms = call.inputs.iter().map(|input| self.room_for(input));
        let rooms = rooms.collect::<Result<Vec<_>, _>>()?;
        let inputs = call.inputs.iter().zip(rooms);
        inputs
            .map(|(input, room)| self.input(input, room))
            .collect()
    }

    /// Reserves memory for the copy of an input; inputs within the request need none.
    fn room_for(&self, input: &CallInput) -> Result<AllowanceShare, ServiceError> {
        let mut room = self.bodies.share();
        let Some(part) = input.region() else {
            return Ok(room);
        };
        if part.size > self.limits.body {
            let (most, found) = (self.limits.body, part.size);
            let message = format!(
                "shared memory region `{}`: expected at most {most} bytes, found {found}",
                part.region
            );
            return Err(ServiceError::new(ErrorKind::TooLarge, message));
        }
        let (name, dims) = (&input.name, &input.dims);
        WireTensor::check(name, input.data_type, dims, part.size, &self.limits.request)?;
        match room.take(part.size) {
            true => Ok(room),
            false => Err(no_memory()),
        }
    }

    fn input(&self, input: &CallInput, room: AllowanceShare) -> Result<NamedTensor, ServiceError> {
        let bytes = match &input.source {
            InputSource::Here(bytes) => bytes.clone(),
            InputSource::Region(part) => self.regions.read(part, room)?.into(),
        };
        let (name, dims) = (input.name.clone(), input.dims.clone());
        let tensor = WireTensor::new(&name, input.data_type, dims, bytes, &self.limits.request)?;
        Ok(NamedTensor { name, tensor })
    }
}

/// Returns the deadline of a request, and its limit in its model's queue. If the model allows
/// timeouts in requests, `timeout` applies to the queue only.
fn timeouts(
    call: &InferenceCall,
    model: &ModelDescription,
    within: Option<Duration>,
) -> (Option<Duration>, Option<Duration>) {
    let queueing = model.queueing.as_ref();
    match queueing.is_some_and(|queueing| queueing.may_be_shorter(call.priority)) {
        true => (within, call.timeout),
        false => (call.timeout.into_iter().chain(within).min(), None),
    }
}
