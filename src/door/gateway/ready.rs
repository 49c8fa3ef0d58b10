//! A request as its model is asked: its tensors read, and room found for it and for its answer.

use std::sync::Arc;
use std::time::Duration;

use crate::limits::{AllowanceShare, no_memory};
use crate::metrics::Tallies;
use crate::regions::ReservedPart;
use divisi_inference::error::{ErrorKind, ServiceError};
use divisi_inference::protocol::{CallInput, InferenceCall, InputSource, NamedTensor, WireTensor};
use divisi_inference::service::{InferenceRequest, ModelDescription};

use super::Gateway;

/// A request as its model is asked.
pub(super) struct ReadyRequest {
    pub(super) request: InferenceRequest,
    /// Where outputs are written, one for each that is wanted by name.
    pub(super) regions: Vec<Option<ReservedPart>>,
    /// Its place among those that may be under way.
    pub(super) _place: AllowanceShare,
}

impl Gateway {
    /// Reads what a model is asked, and finds room for the request and its answer.
    ///
    /// # Errors
    /// An input is wrong, or there is no room.
    pub(super) fn ready(
        &self,
        call: &InferenceCall,
        model: &ModelDescription,
        within: Option<Duration>,
    ) -> Result<ReadyRequest, ServiceError> {
        let most = self.limits.requests;
        let _place = self.requests.one().ok_or_else(|| {
            let message = format!("{most} requests are in progress, the maximum");
            ServiceError::new(ErrorKind::TooMany, message)
        })?;
        let (deadline, patience) = timeouts(call, model, within);
        let request = InferenceRequest {
            model: call.model.clone(),
            inputs: self.inputs(call)?,
            outputs: call.outputs.iter().map(|o| o.name.clone()).collect(),
            deadline,
            priority: call.priority,
            goals: call.goals.clone(),
            patience,
            due: None,
            untold: Arc::<Tallies>::clone(&self.tallies),
        };
        // What cannot be written is refused before anything is computed for it.
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

    /// Returns the inputs of a request. What is in shared memory is copied once there is room for all
    /// of it: a small request can name much.
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

    /// Finds room for the copy of an input. Of one that lies in the request there is none.
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

/// Returns the deadline of a request, and how long it may wait in its model's queue: where that lets
/// requests say so, its `timeout` means the queue alone.
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
