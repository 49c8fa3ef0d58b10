//! Running: one network alone, or several at once.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use crate::ask::{Beside, Turn};
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

/// The same of some of `loaded`, which start together, each on a thread on its own core.
pub fn beside(loaded: &mut [Loaded], ask: &Beside) -> Result<Vec<Vec<f64>>> {
    let all = loaded.iter_mut().enumerate();
    let chosen: Vec<&mut Loaded> = all
        .filter(|(i, _)| ask.networks.contains(i))
        .map(|(_, network)| network)
        .collect();
    let start = Barrier::new(chosen.len());
    let pinned = |network: &mut Loaded| {
        network.pin();
        start.wait();
        alone(network, ask.turn)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = chosen
            .into_iter()
            .map(|network| scope.spawn(|| pinned(network)))
            .collect();
        let ended = threads.into_iter().map(|thread| thread.join());
        ended
            .map(|batches| batches.map_err(|_| anyhow!("a network panicked"))?)
            .collect()
    })
}
