//! Running: one network alone, or several at once.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use crate::ask::Turn;
use crate::loaded::Loaded;

/// Seconds of each batch of one network.
pub fn alone(network: &mut Loaded, turn: Turn) -> Result<Vec<f64>> {
    let began = Instant::now();
    let length = Duration::from_secs_f64(turn.seconds);
    let mut batches = Vec::new();
    while batches.len() < turn.least || began.elapsed() < length {
        let start = Instant::now();
        network.once()?;
        batches.push(start.elapsed().as_secs_f64());
    }
    Ok(batches)
}

/// The same of several networks that start together, each on a thread on its own core.
pub fn beside<'a>(
    networks: impl IntoIterator<Item = &'a mut Loaded>,
    turn: Turn,
) -> Result<Vec<Vec<f64>>> {
    let networks: Vec<&mut Loaded> = networks.into_iter().collect();
    let start = Barrier::new(networks.len());
    let pinned = |network: &mut Loaded| {
        network.pin();
        start.wait();
        alone(network, turn)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = networks
            .into_iter()
            .map(|network| scope.spawn(|| pinned(network)))
            .collect();
        let ended = threads.into_iter().map(|thread| thread.join());
        ended
            .map(|batches| batches.map_err(|_| anyhow!("a network panicked"))?)
            .collect()
    })
}
