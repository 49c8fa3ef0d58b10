//! Whether a file keeps the samples of a batch apart.
//!
//! A network is made for one sample, and runs each sample of a batch by itself. That is what the
//! file says only where no node mixes samples, and where no number follows from how many there
//! are. So beside the values for one sample it is followed what they would be for a larger
//! batch: where its samples lie in each activation, and the other value of each constant.
//! Nodes that make no sense for a larger batch say that the file takes single samples alone;
//! nothing can be mixed then.

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
