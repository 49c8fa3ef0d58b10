//! The end of the model's search: runs of its best candidates together with the start, then last
//! steps if a run takes only milliseconds.

use divisi_model::allocation::{Cell, Matrix};
use divisi_model::metrics::stats::mean_and_error;

use super::control::Control;
use super::error::SearchError;
use super::evaluator::{Evaluator, Score};
use super::model::{ModelEvaluator, RUN};
use super::model_search::{Candidates, ModelSearch};
use super::progress::{Tried, changes};
use super::result::{Comparison, SearchResult, compare};

impl ModelSearch<'_> {
    /// Returns the best of the first candidates by running them, or by prediction if none are to be
    /// run.
    pub(super) fn measured(
        &self,
        start: &Matrix,
        candidates: Candidates,
    ) -> Result<SearchResult, SearchError> {
        let (mut candidates, second) = (candidates.matrices, candidates.second);
        // If a run takes milliseconds, there is time for all candidates.
        if !self.job.is_simulated() || self.job.method.finalists == 0 {
            candidates.truncate(self.job.method.finalists.max(1));
        }
        let best = candidates[0].clone();
        if self.job.method.finalists == 0 {
            return Ok(self.unmeasured(best, start));
        }
        self.control.update(|p| {
            p.measuring = !self.job.is_simulated();
            p.scores.clear();
            p.climbs.0 = p.climbs.1;
        });
        let mut judge = self.judge()?;
        let mut won = halving(start, candidates, judge.as_mut(), self.control)?;
        if won.score.samples_per_s <= 0.0 {
            // The remaining memory next to the running models is too small for measuring.
            return Ok(self.unmeasured(best, start));
        }
        self.say_run(&won.matrix, won.score, won.start);
        if self.job.is_simulated() {
            self.polished(&mut won, second, judge.as_mut())?;
        }
        Ok(SearchResult {
            predicted: Some(self.expected(&won.matrix)),
            gain: won.gain,
            evaluations: won.runs,
            ..SearchResult::new(won.matrix, won.score, won.start)
        })
    }

    /// Takes last steps from the winner and from `second`, because runs cost almost nothing.
    fn polished(
        &self,
        won: &mut Final,
        second: Option<Matrix>,
        judge: &mut dyn Evaluator,
    ) -> Result<(), SearchError> {
        let first = (won.matrix.clone(), won.score.samples_per_s);
        let mut starts = vec![first];
        if let Some(second) = second.filter(|m| *m != won.matrix) {
            let score = judge.score(&second, 0.0)?.samples_per_s;
            self.control.update(|p| p.evaluations += 1);
            starts.push((second, score));
        }
        for (matrix, score) in starts {
            let model = &mut self.model();
            let (matrix, score, runs) = refine(matrix, score, model, judge, self.control)?;
            won.runs += runs;
            if score > won.score.samples_per_s {
                let start = won.start.samples_per_s;
                won.gain = Some(Comparison::exact(start, score));
                won.matrix = matrix;
                won.score = Score::exact(score);
            }
        }
        Ok(())
    }

    /// Returns a matrix with its predicted figures.
    fn unmeasured(&self, matrix: Matrix, start: &Matrix) -> SearchResult {
        let predicted = self.predicted(&matrix);
        let score = predicted.score();
        let start = self.predicted(start).score();
        self.control.update(|p| {
            p.start(start);
            p.step_to(&matrix, score);
        });
        SearchResult {
            predicted: Some(predicted),
            ..SearchResult::new(matrix, score, start)
        }
    }

    /// Returns the throughputs of `matrix` and `start`: from alternating runs, or predicted.
    pub(crate) fn figures(
        &self,
        matrix: &Matrix,
        start: &Matrix,
    ) -> Result<SearchResult, SearchError> {
        let unmeasured = self.unmeasured(matrix.clone(), start);
        if self.job.method.finalists == 0 {
            return Ok(unmeasured);
        }
        self.control
            .update(|p| p.measuring = !self.job.is_simulated());
        let mut judge = self.judge()?;
        if matrix == start {
            let score = judge.score(start, 0.0)?;
            return Ok(match score.samples_per_s > 0.0 {
                true => self.start_result(unmeasured, score),
                false => unmeasured,
            });
        }
        let compared = compare(start, matrix, RUN, judge.as_mut(), self.control)?;
        let Some(compared) = compared else {
            return Ok(unmeasured);
        };
        self.say_run(matrix, compared.other, compared.start);
        Ok(unmeasured.compared(compared))
    }

    /// Returns the result if the start itself was run.
    fn start_result(&self, found: SearchResult, score: Score) -> SearchResult {
        self.say_run(&found.matrix, score, score);
        SearchResult {
            score: score.samples_per_s,
            doubt: score.doubt,
            start_score: score.samples_per_s,
            start_doubt: score.doubt,
            evaluations: found.evaluations + 1,
            ..found
        }
    }

    fn say_run(&self, best: &Matrix, score: Score, start: Score) {
        self.control.update(|p| {
            p.start(start);
            p.run(best, score);
        });
    }
}

/// The most steps.
const STEPS: usize = 8;
/// Neighbours run in a step.
const NEIGHBOURS: usize = 12;

/// Improves `matrix` with score `score`. Returns the result, its score and the number of runs.
///
/// # Errors
/// A run failed, or the search was cancelled.
fn refine(
    matrix: Matrix,
    score: f64,
    model: &mut ModelEvaluator,
    judge: &mut dyn Evaluator,
    control: &Control,
) -> Result<(Matrix, f64, usize), SearchError> {
    let mut best = (matrix, score);
    let mut runs = 0;
    for _ in 0..STEPS {
        let (from, before) = best.clone();
        let neighbours = likely(&from, model)?;
        control.update(|p| p.expect(neighbours.len()));
        for neighbour in neighbours {
            control.checkpoint()?;
            runs += 1;
            let score = judge.score(&neighbour, best.1)?.samples_per_s;
            let tried = Tried::from_neighbour(&from, &neighbour, score);
            control.update(|p| {
                p.evaluations += 1;
                p.neighbour += 1;
                p.scores.push(score);
                tried.into_iter().for_each(|tried| p.tried(tried));
                if score > p.best_score.unwrap_or(0.0) {
                    p.lead(&neighbour, Score::exact(score));
                }
            });
            if score > best.1 {
                best = (neighbour, score);
            }
        }
        if best.1 <= before {
            break;
        }
        control.update(|p| p.accept(changes(&from, &best.0), best.1));
    }
    Ok((best.0, best.1, runs))
}

/// Returns the neighbours with the best predictions, and the matrix without its slowest worker,
/// whose last batch a prediction may underestimate.
fn likely(matrix: &Matrix, model: &mut ModelEvaluator) -> Result<Vec<Matrix>, SearchError> {
    let mut scored = Vec::new();
    for neighbour in matrix.neighbours() {
        let score = model.score(&neighbour, 0.0)?.samples_per_s;
        if score > 0.0 {
            scored.push((score, neighbour));
        }
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.truncate(NEIGHBOURS - 1);
    let slowest = matrix.workers().max_by(|a, b| {
        let latency = |cell: Cell, size| model.latency(cell, size);
        latency(a.0, a.1).total_cmp(&latency(b.0, b.1))
    });
    let without = slowest.and_then(|(cell, _)| matrix.with_entry(cell, None).ok());
    let likely = scored.into_iter().map(|(_, matrix)| matrix);
    Ok(without.into_iter().chain(likely).collect())
}

/// Samples per matrix in a round.
const SAMPLES: usize = 384;
/// The number of rounds.
const ROUNDS: usize = 2;

/// The winner, with the figures of the start.
#[derive(Clone, Debug)]
struct Final {
    /// The matrix.
    matrix: Matrix,
    /// The score.
    score: Score,
    /// The score of the start.
    start: Score,
    /// The comparison, or `None` without a contender or without memory for runs.
    gain: Option<Comparison>,
    /// The number of runs.
    runs: usize,
}

/// Runs the contenders, then the better half of them again (successive halving), then the leader in
/// turn with the start. The leader wins only if it is certainly faster than the start in these last
/// runs, which did not influence its selection.
///
/// # Errors
/// A run failed, or the search was cancelled.
fn halving(
    start: &Matrix,
    contenders: Vec<Matrix>,
    judge: &mut dyn Evaluator,
    control: &Control,
) -> Result<Final, SearchError> {
    let others = contenders.into_iter().filter(|m| m != start);
    let mut field: Vec<Contender> = others.map(|m| (m, Vec::new())).collect();
    let mut runs = 0;
    control.update(|p| p.expect(field.len() + field.len().div_ceil(2)));
    control.begin_phase(0);
    for _ in 0..ROUNDS {
        for (matrix, rates) in &mut field {
            control.checkpoint()?;
            rates.push(judge.glance(matrix, SAMPLES)?.samples_per_s);
            runs += 1;
            control.update(|p| p.scored(mean_and_error(rates).0));
        }
        field.sort_by(|a, b| mean(b).total_cmp(&mean(a)));
        field.truncate(field.len().div_ceil(2));
    }
    let mut won = match field.into_iter().next() {
        Some(leader) => challenged(start, leader, judge, control)?,
        None => alone(start, judge)?,
    };
    won.runs += runs;
    Ok(won)
}

/// Compares the leader with the start.
fn challenged(
    start: &Matrix,
    (matrix, rates): Contender,
    judge: &mut dyn Evaluator,
    control: &Control,
) -> Result<Final, SearchError> {
    let Some(compared) = compare(start, &matrix, SAMPLES, judge, control)? else {
        // One of the two does not fit next to the running models.
        return Ok(Final {
            score: Score::of_runs(&rates),
            start: Score::NONE,
            gain: None,
            runs: 1,
            matrix,
        });
    };
    let (matrix, score) = match compared.gain.is_better() {
        true => (matrix, compared.other),
        false => (start.clone(), compared.start),
    };
    Ok(Final {
        matrix,
        score,
        start: compared.start,
        gain: Some(compared.gain),
        runs: compared.runs,
    })
}

/// Scores the start if there is no contender.
fn alone(start: &Matrix, judge: &mut dyn Evaluator) -> Result<Final, SearchError> {
    let score = judge.score(start, 0.0)?;
    Ok(Final {
        matrix: start.clone(),
        score,
        start: score,
        gain: None,
        runs: 1,
    })
}

/// A matrix and the samples per second of its runs.
type Contender = (Matrix, Vec<f64>);

fn mean((_, rates): &Contender) -> f64 {
    mean_and_error(rates).0
}
