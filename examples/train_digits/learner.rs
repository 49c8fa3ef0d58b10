//! One network being trained: its variables, running statistics and optimiser.

use std::collections::{BTreeMap, HashMap};

use anyhow::Result;
use candle_core::{Device, Tensor, Var};
use candle_nn::{AdamW, Optimizer, ParamsAdamW, loss, ops};
use divisi_model::ensemble::{Ensemble, Samples, label_of};
use divisi_runtime::compute::reference::{self, Fixed, ParameterSource};
use divisi_runtime::network::{Graph, ParameterRole, Weights};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const BATCH: usize = 50;
const RATE: f64 = 2e-3;
/// Share of the new batch in running statistics (PyTorch's default).
const MOMENTUM: f64 = 0.1;

pub struct Learner<'a> {
    graph: &'a Graph,
    variables: BTreeMap<String, Var>,
    statistics: Statistics,
    optimiser: AdamW,
    random: ChaCha8Rng,
}

/// Running means and variances by parameter name.
type Statistics = BTreeMap<String, Tensor>;

impl<'a> Learner<'a> {
    pub fn new(graph: &'a Graph, seed: u64) -> Result<Self> {
        let start = Weights::synthetic(graph, seed);
        let (mut variables, mut statistics) = (BTreeMap::new(), BTreeMap::new());
        for parameter in graph.parameters() {
            let values = start.get(&parameter.name);
            let tensor = Tensor::from_slice(values, parameter.shape.clone(), &Device::Cpu)?;
            if matches!(
                parameter.role,
                ParameterRole::RunningMean | ParameterRole::RunningVariance
            ) {
                statistics.insert(parameter.name, tensor);
            } else {
                variables.insert(parameter.name, Var::from_tensor(&tensor)?);
            }
        }
        let params = ParamsAdamW {
            lr: RATE,
            weight_decay: 0.02,
            ..ParamsAdamW::default()
        };
        let optimiser = AdamW::new(variables.values().cloned().collect(), params)?;
        let random = ChaCha8Rng::seed_from_u64(seed);
        Ok(Learner {
            graph,
            variables,
            statistics,
            optimiser,
            random,
        })
    }

    /// One pass over the samples in random order; the mean loss.
    pub fn epoch(
        &mut self,
        ensemble: &Ensemble,
        samples: &Samples,
        epoch: usize,
        epochs: usize,
    ) -> Result<f32> {
        // A cosine from the full rate to nothing (Loshchilov and Hutter, SGDR, eq. 5).
        let done = (epoch - 1) as f64 / epochs as f64;
        let rate = RATE * 0.5 * (1.0 + (std::f64::consts::PI * done).cos());
        self.optimiser.set_learning_rate(rate);
        let mut order: Vec<usize> = (0..samples.len()).collect();
        order.shuffle(&mut self.random);
        let (mut sum, mut steps) = (0.0, 0.0);
        for batch in order.chunks(BATCH) {
            sum += self.step(ensemble, samples, batch)?;
            steps += 1.0;
        }
        Ok(sum / steps)
    }

    fn step(&mut self, ensemble: &Ensemble, samples: &Samples, batch: &[usize]) -> Result<f32> {
        let x = self.shaken(ensemble, samples, batch)?;
        let labels: Vec<u32> = batch
            .iter()
            .map(|&i| samples.label(i).unwrap_or(0) as u32)
            .collect();
        let labels = Tensor::new(labels, &Device::Cpu)?;
        let mut source = Training {
            variables: &self.variables,
            statistics: &mut self.statistics,
        };
        let logits = reference::run(self.graph, &mut source, &x)?;
        let loss = loss::nll(&ops::log_softmax(&logits, 1)?, &labels)?;
        self.optimiser.backward_step(&loss)?;
        Ok(loss.to_scalar()?)
    }

    /// The batch scaled as when served, each image moved by up to a pixel.
    fn shaken(
        &mut self,
        ensemble: &Ensemble,
        samples: &Samples,
        batch: &[usize],
    ) -> Result<Tensor> {
        let width = samples.width();
        let side = 8i32;
        let mut values = vec![0.0; batch.len() * width];
        for (row, &index) in values.chunks_exact_mut(width).zip(batch) {
            let mut scaled = vec![0.0; width];
            ensemble
                .input
                .transform(samples.row(index).into(), &mut scaled);
            let (dx, dy) = (
                self.random.random_range(-1..=1),
                self.random.random_range(-1..=1),
            );
            for y in 0..side {
                for x in 0..side {
                    let (fx, fy) = (x + dx, y + dy);
                    if (0..side).contains(&fx) && (0..side).contains(&fy) {
                        row[(y * side + x) as usize] = scaled[(fy * side + fx) as usize];
                    }
                }
            }
        }
        Ok(Tensor::from_vec(
            values,
            (batch.len(), width),
            &Device::Cpu,
        )?)
    }

    /// Share of `samples` classified rightly with the running statistics.
    pub fn accuracy(&self, ensemble: &Ensemble, samples: &Samples) -> Result<f32> {
        let weights = Weights::from_values(self.values()?, self.graph)?;
        let mut scaled = vec![0.0; samples.values().len()];
        ensemble
            .input
            .transform(samples.values().into(), &mut scaled);
        let x = Tensor::from_vec(scaled, (samples.len(), samples.width()), &Device::Cpu)?;
        let rows: Vec<Vec<f32>> =
            reference::run(self.graph, &mut Fixed::new(self.graph, &weights), &x)?.to_vec2()?;
        let right = rows
            .iter()
            .enumerate()
            .filter(|(i, row)| samples.label(*i).is_some() && samples.label(*i) == label_of(row))
            .count();
        Ok(right as f32 / samples.len() as f32)
    }

    /// All weights by name.
    pub fn tensors(&self) -> Result<HashMap<String, Tensor>> {
        let learned = self
            .variables
            .iter()
            .map(|(n, v)| (n.clone(), v.as_tensor().clone()));
        let statistics = self.statistics.iter().map(|(n, t)| (n.clone(), t.clone()));
        Ok(learned.chain(statistics).collect())
    }

    fn values(&self) -> Result<BTreeMap<String, Vec<f32>>> {
        self.tensors()?
            .into_iter()
            .map(|(n, t)| Ok((n, t.flatten_all()?.to_vec1()?)))
            .collect()
    }
}

/// Weights under training; batch norms use the batch and keep running statistics.
struct Training<'a> {
    variables: &'a BTreeMap<String, Var>,
    statistics: &'a mut Statistics,
}

impl ParameterSource for Training<'_> {
    fn parameter(&self, name: &str) -> candle_core::Result<Tensor> {
        match self.variables.get(name) {
            Some(var) => Ok(var.as_tensor().clone()),
            None => candle_core::bail!("no parameter {name}"),
        }
    }

    fn batch_norm(&mut self, name: &str, x: &Tensor, eps: f32) -> candle_core::Result<Tensor> {
        let by_channel = x.transpose(0, 1)?.flatten_from(1)?;
        let mean = by_channel.mean(1)?;
        let centred = by_channel.broadcast_sub(&mean.unsqueeze(1)?)?;
        let variance = centred.sqr()?.mean(1)?;
        self.remember(&format!("{name}.running_mean"), &mean)?;
        self.remember(&format!("{name}.running_var"), &variance)?;
        let scale =
            (self.parameter(&format!("{name}.weight"))? / (variance + f64::from(eps))?.sqrt()?)?;
        let shift = (self.parameter(&format!("{name}.bias"))? - (mean * &scale)?)?;
        reference::per_channel(x, &scale, &shift)
    }
}

impl Training<'_> {
    fn remember(&mut self, name: &str, now: &Tensor) -> candle_core::Result<()> {
        if let Some(kept) = self.statistics.get_mut(name) {
            *kept = ((&*kept * (1.0 - MOMENTUM))? + (now.detach() * MOMENTUM)?)?;
        }
        Ok(())
    }
}
