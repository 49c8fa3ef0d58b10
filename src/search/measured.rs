//! What the model's search found, run beside the start: the best few of an algorithm's
//! candidates, or what a rule gave.

use crate::allocation::Matrix;

use super::comparison::{Comparison, compare};
use super::evaluator::{Evaluator, Score, SearchError};
use super::found::Found;
use super::halving::{Final, halving};
use super::model::RUN;
use super::model_search::{Candidates, ModelSearch};
use super::refine::refine;

impl ModelSearch<'_> {
    /// The best of the first few candidates by running them; by prediction where none
    /// are to be run.
    pub(super) fn measured(
        &self,
        start: &Matrix,
        candidates: Candidates,
    ) -> Result<Found, SearchError> {
        let (mut candidates, second) = (candidates.matrices, candidates.second);
        // Where a run takes milliseconds, there is time for all of them.
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
        let mut judge = self.job.judge(self.control, &self.costs)?;
        let mut won = halving(start, candidates, judge.as_mut(), self.control)?;
        if won.score.samples_per_s <= 0.0 {
            // Beside what serves there is no room to measure in.
            return Ok(self.unmeasured(best, start));
        }
        self.say_run(&won.matrix, won.score, won.start);
        if self.job.is_simulated() {
            self.polished(&mut won, second, judge.as_mut())?;
        }
        Ok(Found {
            predicted: Some(self.predict(&won.matrix)),
            gain: won.gain,
            evaluations: won.runs,
            ..Found::of(won.matrix, won.score, won.start)
        })
    }

    /// Last steps from who won and from `second`, where a run costs next to nothing.
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

    /// A matrix with what the model says of it.
    fn unmeasured(&self, matrix: Matrix, start: &Matrix) -> Found {
        let score = Score::predicted(self.predict(&matrix));
        let start = Score::predicted(self.predict(start));
        self.control.update(|p| {
            p.start(start);
            p.step_to(&matrix, score);
        });
        Found {
            predicted: Some(score.samples_per_s),
            ..Found::of(matrix, score, start)
        }
    }

    /// How fast `matrix` and `start` are: run in turn, or predicted.
    pub fn figures(&self, matrix: &Matrix, start: &Matrix) -> Result<Found, SearchError> {
        let unmeasured = self.unmeasured(matrix.clone(), start);
        if self.job.method.finalists == 0 {
            return Ok(unmeasured);
        }
        self.control
            .update(|p| p.measuring = !self.job.is_simulated());
        let mut judge = self.job.judge(self.control, &self.costs)?;
        if matrix == start {
            let score = judge.score(start, 0.0)?;
            return Ok(match score.samples_per_s > 0.0 {
                true => self.said(unmeasured, score),
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

    /// The start itself, once it was run.
    fn said(&self, found: Found, score: Score) -> Found {
        self.say_run(&found.matrix, score, score);
        Found {
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
