//! Checks whether a file keeps the samples of a batch apart.
//!
//! A network is built for one sample, and runs each sample of a batch on its own. This matches the
//! file only if no node mixes samples and no number depends on the batch size. So, in addition to
//! the values for one sample, this module follows the values for a larger batch: the place of its
//! samples in each activation, and the other value of each constant. If nodes are invalid for a
//! larger batch, the file takes only single samples, and nothing can be mixed.

mod followed;
mod lookups;
mod moves;
mod place;
mod products;
mod rules;

pub(super) use followed::{
    BatchFault, BatchTrace, Batched, Followed, FollowedAnswers, FollowedOperand, mixes,
};
pub(super) use rules::answers;
