//! Answers from a server of the ensemble, over HTTP.

use anyhow::{Context, Result, bail, ensure};
use divisi_door::client::{ClientOptions, HttpClient, ServerAddress};
use divisi_inference::protocol::{NamedTensor, WireTensor};
use divisi_model::ensemble::{Ensemble, Samples};
use divisi_runtime::tensor::{DataType, Signature, TensorSpec, TensorValue};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The input name of an ensemble without input names.
const INPUT: &str = "input";

/// The largest number of samples in a request.
const SAMPLES: usize = 256;

/// The variable with the key. Process lists do not show it.
const KEY: &str = "DIVISI_KEY";

/// The client's key and the trusted certificates, as options.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Server")]
pub(super) struct ServerAccess {
    /// Key for the server (default: DIVISI_KEY, hidden from process lists)
    #[arg(long, value_name = "TOKEN", requires = "server")]
    key: Option<String>,
    /// CA certificates of the server, a PEM file (default: this machine's)
    #[arg(long, value_name = "FILE", requires = "server")]
    trust: Option<PathBuf>,
}

impl ServerAccess {
    pub(super) fn options(&self) -> ClientOptions {
        let kept = || std::env::var(KEY).ok().filter(|key| !key.is_empty());
        ClientOptions {
            key: self.key.clone().or_else(kept),
            trusted: self.trust.clone(),
        }
    }
}

/// The requested model and the parameters of the request.
pub(super) struct TargetModel {
    /// Its name.
    pub(super) name: String,
    /// The goals of each sample, as parameters of its request.
    pub(super) parameters: Map<String, Value>,
}

/// The variants that answered, if the server reports them.
#[derive(Default, Serialize)]
pub(crate) struct AnsweredBy {
    /// The number of samples of each variant.
    variants: BTreeMap<String, usize>,
    /// The number of samples whose answers missed a goal.
    missed_a_goal: usize,
}

impl AnsweredBy {
    fn add(&mut self, parameters: &Map<String, Value>, samples: usize) {
        if let Some(variant) = parameters.get("divisi_variant").and_then(Value::as_str) {
            *self.variants.entry(variant.to_owned()).or_default() += samples;
        }
        if parameters.contains_key("divisi_missed") {
            self.missed_a_goal += samples;
        }
    }

    /// Returns whether the server reported no variants.
    pub(super) fn is_empty(&self) -> bool {
        self.variants.is_empty()
    }

    /// Returns a line for each variant, and one for missed goals.
    pub(super) fn lines(&self) -> Vec<String> {
        let variants = self.variants.iter();
        let mut lines: Vec<String> = variants
            .map(|(name, samples)| format!("{name} answered {samples} samples"))
            .collect();
        if self.missed_a_goal > 0 {
            lines.push(format!("{} answers missed a goal", self.missed_a_goal));
        }
        lines
    }
}

/// Sends the samples to the server and calls `each` with every answer, in order.
pub(super) fn predict(
    address: &ServerAddress,
    options: &ClientOptions,
    asked: &TargetModel,
    ensemble: &Ensemble,
    samples: &Samples,
    mut each: impl FnMut(&[f32]),
) -> Result<AnsweredBy> {
    let mut server = HttpClient::connect(address, options)?;
    let width = ensemble.answer_width();
    let specs = inputs(&mut server, &asked.name, ensemble)?;
    let mut answered_by = AnsweredBy::default();
    // A request holds samples of one length, which may mean a single one. Goals apply to one
    // sample.
    let at_once = match ensemble.lengths.is_some() || !asked.parameters.is_empty() {
        true => 1,
        false => SAMPLES,
    };
    for first in (0..samples.len()).step_by(at_once) {
        let count = at_once.min(samples.len() - first);
        let values = samples.rows(first, count);
        let inputs = tensors(specs.clone(), ensemble.lengths.clone(), &values, count)?;
        let answer = server.infer_with(&asked.name, &inputs, &asked.parameters)?;
        answered_by.add(&answer.parameters, count);
        let mut outputs = answer.outputs;
        in_order(&mut outputs, ensemble);
        let rows = rows(&outputs, count)?;
        ensure!(
            rows.len() == count * width,
            "{address}: expected {width} numbers a sample of `{}`, found {}",
            asked.name,
            rows.len() / count
        );
        rows.chunks_exact(width).for_each(&mut each);
    }
    Ok(answered_by)
}

/// Returns the inputs that the server expects. An unnamed single tensor has another name there: the
/// file's for a network, a default for an ensemble.
fn inputs(server: &mut HttpClient, model: &str, ensemble: &Ensemble) -> Result<Vec<TensorSpec>> {
    if let Some(specs) = &ensemble.tensors {
        return Ok(specs.clone());
    }
    let names = server.input_names(model)?;
    let name = match &names[..] {
        [single] => single,
        // The server refuses the request, and its error names the expected inputs.
        _ => INPUT,
    };
    let sample: Vec<usize> = ensemble.input.shape.into();
    Ok(vec![TensorSpec::fixed(name, DataType::Fp32, &sample)])
}

/// Sorts the outputs of a network into the order of its file, whatever the server's order is.
fn in_order(outputs: &mut [NamedTensor], ensemble: &Ensemble) {
    let [member] = &ensemble.members[..] else {
        return;
    };
    let own = member.graph.signature().outputs;
    outputs.sort_by_key(|output| own.iter().position(|spec| spec.name == output.name));
}

/// Converts rows to named tensors. The inputs of an ensemble are the outputs of a signature.
fn tensors(
    outputs: Vec<TensorSpec>,
    lengths: Option<divisi_runtime::tensor::Lengths>,
    rows: &[f32],
    count: usize,
) -> Result<Vec<NamedTensor>> {
    let length = match &lengths {
        None => 0,
        Some(lengths) => lengths.row_length(rows).context("a sample has no length")?,
    };
    let lead = usize::from(lengths.is_some());
    let signature = Signature {
        inputs: Vec::new(),
        outputs,
        lengths,
    };
    let named = signature.answers_at(&rows[lead..], count, length)?;
    let wire = named.into_iter().map(|(name, value)| {
        let (data_type, dims) = (value.data_type(), value.dims().to_vec());
        let bytes = value.bytes().to_vec();
        let tensor = WireTensor::of_values(data_type, dims, bytes.into());
        NamedTensor { name, tensor }
    });
    Ok(wire.collect())
}

/// Returns the values of each sample in all outputs, one sample after another.
fn rows(outputs: &[NamedTensor], count: usize) -> Result<Vec<f32>> {
    let mut values = Vec::new();
    for NamedTensor { name, tensor } in outputs {
        if tensor.dims().first() != Some(&count) {
            bail!(
                "output `{name}`: expected {count} samples, found {:?}",
                tensor.dims()
            );
        }
        let bytes = tensor.bytes().to_vec();
        let value = TensorValue::new(tensor.data_type(), tensor.dims().to_vec(), bytes)?;
        values.push(value.floats()?);
    }
    let sample = |at: usize| {
        values.iter().flat_map(move |output| {
            let each = output.len() / count;
            &output[at * each..][..each]
        })
    };
    Ok((0..count).flat_map(sample).copied().collect())
}
