//! Answers that are no class scores: manifests, samples, measures and weights.

mod box_measures;
mod manifest;
mod measures;
mod samples;
mod samples_packed;
mod weighed;
