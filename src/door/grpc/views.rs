//! Descriptions of servers and models, as messages.

use divisi_runtime::tensor::TensorSpec;

use crate::describe::{platform, rows, shape, versions};
use crate::metrics::{BatchStatistics, ModelStatistics, TimedCount};
use crate::proto::inference as proto;
use crate::proto::inference::model_metadata_response::TensorMetadata;
use crate::regions::RegionStatus;
use divisi_inference::protocol::ModelId;
use divisi_inference::service::ModelDescription;

/// Returns the metadata of a model for the request `asked`.
pub(super) fn metadata(model: &ModelDescription, asked: &ModelId) -> proto::ModelMetadataResponse {
    let tensors = |specs: &[TensorSpec]| {
        let view = |spec: &TensorSpec| TensorMetadata {
            name: spec.name.clone(),
            datatype: spec.data_type.name().to_owned(),
            shape: shape(spec, rows(model)),
        };
        specs.iter().map(view).collect()
    };
    proto::ModelMetadataResponse {
        name: model.name.clone(),
        versions: versions(model, asked).to_vec(),
        platform: platform(model).to_owned(),
        inputs: tensors(&model.signature.inputs),
        outputs: tensors(&model.signature.outputs),
    }
}

fn duration(TimedCount { count, ns }: TimedCount) -> Option<proto::StatisticDuration> {
    Some(proto::StatisticDuration { count, ns })
}

fn batches(of: &BatchStatistics) -> proto::InferBatchStatistics {
    proto::InferBatchStatistics {
        batch_size: of.size,
        compute_input: duration(of.input),
        compute_infer: duration(of.compute),
        compute_output: duration(of.output),
    }
}

/// Returns the statistics of a model.
pub(super) fn statistics(model: &ModelStatistics) -> proto::ModelStatistics {
    let of = duration;
    proto::ModelStatistics {
        name: model.name.clone(),
        version: model.version.clone(),
        last_inference: model.last,
        inference_count: model.samples,
        execution_count: model.executions,
        inference_stats: Some(proto::InferStatistics {
            success: of(model.success),
            fail: of(model.fail),
            queue: of(model.queue),
            compute_input: of(model.input),
            compute_infer: of(model.compute),
            compute_output: of(model.output),
            cache_hit: of(model.hits),
            cache_miss: of(model.misses),
        }),
        batch_stats: model.batches.iter().map(batches).collect(),
        ..proto::ModelStatistics::default()
    }
}

/// Returns the regions of shared memory by name.
pub(super) fn regions(all: Vec<RegionStatus>) -> proto::SystemSharedMemoryStatusResponse {
    let each = all.into_iter().map(|region| {
        let view = proto::system_shared_memory_status_response::RegionStatus {
            name: region.name.clone(),
            key: region.key,
            offset: region.offset,
            byte_size: region.size,
        };
        (region.name, view)
    });
    proto::SystemSharedMemoryStatusResponse {
        regions: each.collect(),
    }
}
