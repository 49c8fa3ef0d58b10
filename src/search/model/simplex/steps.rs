//! From one basis to a better one.

use super::{Simplex, THROUGHPUT, VariableState};

/// Largest error left in a reduced cost, in units of T.
const TOLERANCE: f64 = 1e-11;
/// A pivot smaller than this is taken for zero.
const LEAST_PIVOT: f64 = 1e-9;
/// Steps without progress before Bland's rule, which cannot cycle, chooses.
const PATIENCE: usize = 30;
/// Steps at most, times rows: never reached unless rounding breaks down, and then
/// what there is can be done, if not proved best.
const MOST_STEPS: usize = 200;
impl Simplex {
    /// Steps until nothing is gained by another.
    pub(crate) fn optimise(&mut self) {
        let mut idle = 0;
        for _ in 0..MOST_STEPS * self.rows {
            let careful = idle > PATIENCE;
            let Some((variable, gain)) = self.entering(careful) else {
                return;
            };
            let moved = self.enter(variable, gain, careful);
            idle = if moved { 0 } else { idle + 1 };
        }
    }

    /// The variable whose change is worth most, and its worth: above zero to increase,
    /// below to decrease. The first one where `careful`.
    fn entering(&self, careful: bool) -> Option<(usize, f64)> {
        let mut best = (0, TOLERANCE);
        for variable in 0..self.place.len() {
            let gain = match self.place[variable] {
                VariableState::Basic => continue,
                VariableState::Zero => self.gain(variable),
                VariableState::Most => -self.gain(variable),
            };
            if gain > best.1 {
                best = (variable, gain);
                if careful {
                    break;
                }
            }
        }
        let (variable, gain) = best;
        (gain > TOLERANCE).then(|| match self.place[variable] {
            VariableState::Most => (variable, -gain),
            _ => (variable, gain),
        })
    }

    /// Returns the worth of one more unit of a variable at the present prices.
    fn gain(&self, variable: usize) -> f64 {
        let devices = self.rows - self.members;
        if variable > devices {
            let worker = &self.workers[variable - devices - 1];
            return self.worth[variable] + self.gain_of(worker);
        }
        if variable == THROUGHPUT {
            return 1.0 - self.prices[..self.members].iter().sum::<f64>();
        }
        -self.prices[self.members + variable - 1]
    }

    fn direct(&mut self, variable: usize) {
        let (rows, devices) = (self.rows, self.rows - self.members);
        let column = |row: usize| &self.inverse[row * rows..(row + 1) * rows];
        if variable > devices {
            let worker = &self.workers[variable - devices - 1];
            let (member, device) = (column(worker.member), column(self.members + worker.device));
            for ((to, m), d) in self.direction.iter_mut().zip(member).zip(device) {
                *to = worker.seconds * d - m;
            }
        } else if variable == THROUGHPUT {
            self.direction.fill(0.0);
            for member in 0..self.members {
                let column = &self.inverse[member * rows..(member + 1) * rows];
                self.direction
                    .iter_mut()
                    .zip(column)
                    .for_each(|(to, c)| *to += c);
            }
        } else {
            self.direction
                .copy_from_slice(column(self.members + variable - 1));
        }
    }

    /// Moves a variable as far as possible; whether anything moved.
    fn enter(&mut self, variable: usize, gain: f64, careful: bool) -> bool {
        self.direct(variable);
        let sign = gain.signum();
        let (far, leaving) = self.furthest(variable, sign, careful);
        if !far.is_finite() {
            // Only where a worker costs nothing; more than any device serves is enough.
            return false;
        }
        for (value, along) in self.value.iter_mut().zip(&self.direction) {
            *value -= sign * far * along;
        }
        let from = match self.place[variable] {
            VariableState::Most => self.most[variable],
            _ => 0.0,
        };
        match leaving {
            None => {
                self.place[variable] = if sign > 0.0 {
                    VariableState::Most
                } else {
                    VariableState::Zero
                }
            }
            Some((row, place)) => {
                self.place[self.basic[row]] = place;
                self.place[variable] = VariableState::Basic;
                self.basic[row] = variable;
                self.value[row] = from + sign * far;
                self.pivot(row, gain);
            }
        }
        far > TOLERANCE
    }

    /// How far a variable can move, and which row then leaves the basis to where; none
    /// where its own bound comes first. Of rows that tie, the one with the largest
    /// pivot, or the first variable where `careful`.
    fn furthest(
        &self,
        variable: usize,
        sign: f64,
        careful: bool,
    ) -> (f64, Option<(usize, VariableState)>) {
        let mut far = self.most[variable];
        let mut leaving: Option<(usize, VariableState)> = None;
        for row in 0..self.rows {
            let along = sign * self.direction[row];
            let (room, place) = if along > LEAST_PIVOT {
                (self.value[row], VariableState::Zero)
            } else if along < -LEAST_PIVOT {
                (
                    self.most[self.basic[row]] - self.value[row],
                    VariableState::Most,
                )
            } else {
                continue;
            };
            let reach = room.max(0.0) / along.abs();
            let better = match leaving {
                _ if reach < far - TOLERANCE => true,
                Some((other, _)) if reach <= far + TOLERANCE => {
                    if careful {
                        self.basic[row] < self.basic[other]
                    } else {
                        along.abs() > self.direction[other].abs()
                    }
                }
                _ => false,
            };
            if better {
                far = reach;
                leaving = Some((row, place));
            }
        }
        (far, leaving)
    }

    /// The entering variable takes over `row`; its gain becomes 0.
    fn pivot(&mut self, row: usize, gain: f64) {
        let pivot = self.direction[row];
        for column in 0..self.rows {
            let entries = &mut self.inverse[column * self.rows..(column + 1) * self.rows];
            let share = entries[row] / pivot;
            if share == 0.0 {
                continue;
            }
            for (entry, along) in entries.iter_mut().zip(&self.direction) {
                *entry -= share * along;
            }
            entries[row] = share;
            self.prices[column] += gain * share;
        }
    }
}
