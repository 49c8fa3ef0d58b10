//! A client that sends steadily while the matrix changes, and counts what came of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use divisi_engine::serving::{Engine, Outcome, Request};
use divisi_model::allocation::Matrix;
use divisi_model::ensemble::BatchSize;
use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

/// Samples of one request.
pub const REQUEST: usize = 8;
/// Requests under way at once: the client sends the next as one is answered.
const UNDER_WAY: usize = 4;

/// The samples to send and the answers to expect.
#[derive(Clone, Copy)]
pub struct Quiz<'a> {
    pub values: &'a [f32],
    /// Values of a sample.
    pub width: usize,
    /// The right rows.
    pub reference: &'a [Vec<f32>],
    /// By how much a value may differ, relative to it.
    pub tolerance: f32,
}

/// A client, with what came of its requests.
#[derive(Default)]
pub struct Client {
    pub sent: usize,
    pub lost: usize,
    pub twice: usize,
    pub different: usize,
    pub refused: usize,
    /// Seconds between one answer and the next.
    pub gaps: Vec<f64>,
}

/// Several random entries changed at once, whatever is valid.
pub fn random_neighbour(engine: &Engine, random: &mut ChaCha8Rng) -> Matrix {
    let mut matrix = engine.matrix();
    let cells: Vec<_> = matrix.cells().collect();
    let sizes: Vec<Option<BatchSize>> = std::iter::once(None)
        .chain(matrix.frame().batch_sizes.iter().map(Some))
        .collect();
    for _ in 0..random.random_range(1..=4) {
        let (cell, size) = (cells.choose(random), sizes.choose(random));
        if let Some(Ok(next)) = cell.zip(size).map(|(c, s)| matrix.with_entry(*c, *s)) {
            matrix = next;
        }
    }
    matrix
}

/// Returns the answers of the engine now.
pub fn reference(engine: &Engine, values: &[f32]) -> Result<Vec<Vec<f32>>> {
    let answer = engine
        .predict(Request::new(values))?
        .map_err(|e| anyhow!("{e}"))?;
    Ok(answer.rows().map(<[f32]>::to_vec).collect())
}

impl Client {
    /// Sends steadily while `meanwhile` does its work.
    pub fn run(
        engine: &Arc<Engine>,
        quiz: Quiz<'_>,
        meanwhile: impl FnOnce() -> Result<()>,
    ) -> Result<Client> {
        let over = Arc::new(AtomicBool::new(false));
        thread::scope(|scope| {
            let flag = Arc::clone(&over);
            let client = scope.spawn(move || send(engine, quiz, &flag));
            let done = meanwhile();
            over.store(true, Ordering::Release);
            let client = client.join().map_err(|_| anyhow!("the client panicked"))?;
            done.map(|()| client)
        })
    }

    fn judge(
        &mut self,
        counted: &mut [usize],
        quiz: &Quiz<'_>,
        number: usize,
        first: usize,
        outcome: Outcome,
    ) {
        counted[number] += 1;
        let Ok(answer) = outcome else {
            self.lost += 1;
            return;
        };
        let same = answer.rows().zip(&quiz.reference[first..]).all(|(a, b)| {
            a.iter()
                .zip(b)
                .all(|(a, b)| (a - b).abs() <= quiz.tolerance * b.abs().max(1e-2))
        });
        self.different += usize::from(!same);
    }
}

fn send(engine: &Engine, quiz: Quiz<'_>, over: &AtomicBool) -> Client {
    let mut client = Client::default();
    let (answers, inbox) = std::sync::mpsc::channel();
    let mut last = Instant::now();
    let mut counted = vec![];
    let mut under_way = 0;
    while !over.load(Ordering::Acquire) {
        while under_way < UNDER_WAY {
            let first = (client.sent * REQUEST) % (quiz.reference.len() - REQUEST);
            let number = client.sent;
            let rows = &quiz.values[first * quiz.width..(first + REQUEST) * quiz.width];
            let answers = answers.clone();
            let reply = move |outcome| {
                let _ = answers.send((number, first, Instant::now(), outcome));
            };
            let sent = engine.submit_with(Request::new(rows), Box::new(reply));
            if sent.is_err() {
                client.refused += 1;
                break;
            }
            counted.push(0);
            client.sent += 1;
            under_way += 1;
        }
        if let Ok((number, first, at, outcome)) = inbox.recv_timeout(Duration::from_secs(2)) {
            under_way -= 1;
            client.judge(&mut counted, &quiz, number, first, outcome);
            client.gaps.push((at - last).as_secs_f64());
            last = at;
        }
    }
    while let Ok((number, first, _, outcome)) = inbox.recv_timeout(Duration::from_secs(2)) {
        client.judge(&mut counted, &quiz, number, first, outcome);
    }
    client.lost += counted.iter().filter(|&&n| n == 0).count();
    client.twice += counted.iter().filter(|&&n| n > 1).count();
    client
}
