//! The primal simplex method for bounded variables (Dantzig 1955; Chvátal, *Linear Programming*,
//! chapter 8), specialised for one family of linear programs:
//!
//! maximise T such that, for each member, its workers' rates sum up to T; for each device, rate ×
//! seconds per sample sums up to at most 1; and each rate is at most the highest rate of its
//! worker.
//!
//! A worker's column has two entries, so a step costs one update of the dense inverse of the basis,
//! members + devices on a side. A changed matrix starts from the basis of the old one. New workers
//! enter at rate 0. A removed worker is charged more per sample than a sample can be worth, so that
//! the same primal steps empty it.

use super::program::WorkerRate;

/// The charge for each sample of a removed worker. A sample is worth at most its member's price,
/// and the members' prices sum up to 1.
const CHARGE: f64 = 2.0;

/// Variable number 0 is T, followed by the devices' idle shares and the workers.
const THROUGHPUT: usize = 0;
/// The entry of a member's row before its first worker.
const NOBODY: usize = usize::MAX;

/// The largest remaining error of a reduced cost, in units of T.
const TOLERANCE: f64 = 1e-11;
/// A smaller pivot counts as zero.
const LEAST_PIVOT: f64 = 1e-9;
/// Steps without progress before Bland's rule, which cannot cycle, takes over.
const PATIENCE: usize = 30;
/// The most steps per row. Reached only if rounding breaks down. The solution is then feasible, but
/// not proved optimal.
const MOST_STEPS: usize = 200;

/// The state of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VariableState {
    /// At zero.
    Zero,
    /// At its upper bound.
    Most,
    /// In the basis.
    Basic,
}

/// A linear program with a basis.
#[derive(Debug, Default)]
pub(super) struct Simplex {
    members: usize,
    rows: usize,
    workers: Vec<WorkerRate>,
    /// The upper bound of each variable.
    most: Vec<f64>,
    worth: Vec<f64>,
    place: Vec<VariableState>,
    /// The basic variable of each row, and its value.
    basic: Vec<usize>,
    value: Vec<f64>,
    /// The inverse of the basis, column by column.
    inverse: Vec<f64>,
    /// The price of each row: members, then devices.
    prices: Vec<f64>,
    /// The entering variable's column in terms of the basis.
    direction: Vec<f64>,
}

impl Clone for Simplex {
    fn clone(&self) -> Self {
        let mut copy = Simplex::default();
        copy.clone_from(self);
        copy
    }

    /// Reuses the existing buffers.
    fn clone_from(&mut self, from: &Self) {
        self.members = from.members;
        self.rows = from.rows;
        self.workers.clone_from(&from.workers);
        self.most.clone_from(&from.most);
        self.worth.clone_from(&from.worth);
        self.place.clone_from(&from.place);
        self.basic.clone_from(&from.basic);
        self.value.clone_from(&from.value);
        self.inverse.clone_from(&from.inverse);
        self.prices.clone_from(&from.prices);
        self.direction.clone_from(&from.direction);
    }
}

impl Simplex {
    /// Resets to the linear program of `workers` with all rates 0. Every member must have a worker.
    /// Rates are in units in which T is about 1.
    pub(crate) fn begin(&mut self, members: usize, devices: usize, workers: &[WorkerRate]) {
        let rows = members + devices;
        self.members = members;
        self.rows = rows;
        self.workers.clear();
        self.most.clear();
        self.most.resize(1 + devices, f64::INFINITY);
        self.worth.clear();
        self.worth.resize(1 + devices, 0.0);
        self.worth[THROUGHPUT] = 1.0;
        self.place.clear();
        self.place.resize(1 + devices, VariableState::Basic);
        self.place[THROUGHPUT] = VariableState::Zero;
        self.basic.clear();
        self.basic.resize(members, NOBODY);
        self.basic.extend(1..=devices);
        self.value.clear();
        self.value.resize(members, 0.0);
        self.value.resize(rows, 1.0);
        self.prices.clear();
        self.prices.resize(rows, 0.0);
        self.direction.clear();
        self.direction.resize(rows, 0.0);
        self.inverse.clear();
        self.inverse.resize(rows * rows, 0.0);
        for device in members..rows {
            self.inverse[device * rows + device] = 1.0;
        }
        for worker in workers {
            self.add(*worker);
        }
    }

    /// Adds a worker at rate 0. A member's first worker becomes basic.
    pub(crate) fn add(&mut self, worker: WorkerRate) {
        let (member, rows) = (worker.member, self.rows);
        let variable = self.place.len();
        self.workers.push(worker);
        self.most.push(worker.most);
        self.worth.push(0.0);
        if self.basic[member] != NOBODY {
            return self.place.push(VariableState::Zero);
        }
        self.place.push(VariableState::Basic);
        self.basic[member] = variable;
        let column = member.get() * rows;
        self.inverse[column + member.get()] = -1.0;
        self.inverse[column + self.members + worker.device.get()] = worker.seconds;
    }

    /// Charges worker number `index`, so that its rate becomes 0 if possible.
    pub(crate) fn charge(&mut self, index: usize) {
        let variable = self.variable(index);
        self.worth[variable] = -CHARGE;
        if let Some(row) = self.basic.iter().position(|&v| v == variable) {
            self.reprice(row, -CHARGE);
        }
    }

    /// Changes the worth of the basic variable of `row` by `change`.
    fn reprice(&mut self, row: usize, change: f64) {
        for (column, price) in self.prices.iter_mut().enumerate() {
            *price += change * self.inverse[column * self.rows + row];
        }
    }

    fn variable(&self, worker: usize) -> usize {
        1 + self.rows - self.members + worker
    }

    /// Returns the worth of one more sample per second of a worker, present or not.
    pub(crate) fn gain_of(&self, worker: &WorkerRate) -> f64 {
        self.prices[worker.member]
            - worker.seconds * self.prices[self.members + worker.device.get()]
    }

    /// Returns the value of T.
    pub(crate) fn throughput(&self) -> f64 {
        self.value_of(THROUGHPUT)
    }

    /// Returns the rate of worker number `index`.
    pub(crate) fn rate(&self, index: usize) -> f64 {
        self.value_of(self.variable(index))
    }

    fn value_of(&self, variable: usize) -> f64 {
        match self.place[variable] {
            VariableState::Zero => 0.0,
            VariableState::Most => self.most[variable],
            VariableState::Basic => {
                let row = self.basic.iter().position(|&v| v == variable);
                row.map_or(0.0, |row| self.value[row].max(0.0))
            }
        }
    }

    /// Returns the worth of one more unit of each member's answers and of each device's time.
    pub(crate) fn prices(&self) -> (&[f64], &[f64]) {
        self.prices.split_at(self.members)
    }

    /// Steps until no step gains anything.
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

    /// Returns the variable whose change is worth most, with its worth: above zero to increase,
    /// below to decrease. If `careful`, returns the first variable with a gain.
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
            let member = column(worker.member.get());
            let device = column(self.members + worker.device.get());
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

    /// Moves a variable as far as possible. Returns whether anything moved.
    fn enter(&mut self, variable: usize, gain: f64, careful: bool) -> bool {
        self.direct(variable);
        let sign = gain.signum();
        let (far, leaving) = self.furthest(variable, sign, careful);
        if !far.is_finite() {
            // Happens only for a worker without costs; its rate then exceeds that of any device.
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

    /// Returns how far a variable can move, and the row that then leaves the basis with its new
    /// state, or `None` if the variable's own bound comes first. Among tied rows it takes the
    /// largest pivot, or the first variable if `careful`.
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

    /// Lets the entering variable take over `row`; its gain becomes 0.
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
