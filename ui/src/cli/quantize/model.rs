//! The networks to calibrate and their samples.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use divisi_model::ensemble::{
    AnswerKind, AnswerWidth, Ensemble, Input, OutputKind, OwnAnswers, SampleForm, Samples,
    Temperature,
};
use divisi_runtime::compute::calibration::CalibrationRows;
use divisi_runtime::compute::{OwnScales, probabilities};
use divisi_runtime::device::MemberIndex;
use divisi_runtime::network::{Graph, Probabilities, Shape, Weights};
use divisi_server::ensemble_files;

use super::QuantizeArgs;
use crate::cli::network::chosen::layers;
use crate::cli::open::read_samples;

/// The networks of an ensemble, or a single network.
pub(super) struct QuantizedModel {
    pub name: String,
    pub members: Vec<QuantizedMember>,
    /// The folder of its files, or `None` if it is built in.
    pub folder: Option<PathBuf>,
    pub answers: AnswerKind,
    pub answer_names: Option<Vec<String>>,
    pub own: OwnAnswers,
    /// The ensemble, or `None` for a file of layers.
    ensemble: Option<Ensemble>,
}

/// A network to calibrate.
pub(super) struct QuantizedMember {
    pub name: String,
    pub graph: Arc<Graph>,
    pub weights: Arc<Weights>,
    /// Its number among all members.
    pub index: MemberIndex,
    /// The shape of samples, and the network's input.
    input: (Shape, Option<Input>),
}

impl QuantizedModel {
    pub(super) fn open(args: &QuantizeArgs) -> Result<Self> {
        match &args.weights {
            Some(weights) => Self::of_layers(&args.model, weights, args.shape),
            None => Self::of_ensemble(args),
        }
    }

    fn of_ensemble(args: &QuantizeArgs) -> Result<Self> {
        let mut files = ensemble_files(&args.model)?;
        if let Some(shape) = args.shape {
            let shaped = files.with_shape(shape);
            files = shaped.context("--shape requires a single .onnx file, or --weights")?;
        }
        let ensemble = Ensemble::read(&files)?;
        if ensemble.pipeline.is_some() {
            bail!(
                "pipelines cannot be calibrated: their models read the outputs of steps, not samples"
            );
        }
        if ensemble.is_synthetic() {
            bail!(
                "ensemble `{}` has synthetic weights: its ranges are meaningless",
                ensemble.name
            );
        }
        let wanted =
            |member: &QuantizedMember| args.member.as_ref().is_none_or(|name| member.name == *name);
        let sample = ensemble.input.shape;
        let members = MemberIndex::enumerate(&ensemble.members);
        let members = members.map(|(index, member)| QuantizedMember {
            name: member.name.clone(),
            graph: Arc::clone(&member.graph),
            weights: Arc::clone(&member.weights),
            index,
            input: (sample, Some(member.input.clone())),
        });
        let members: Vec<_> = members.filter(wanted).collect();
        if members.is_empty() {
            let names = ensemble.member_names().join(", ");
            bail!("--member: expected one of {names}");
        }
        Ok(QuantizedModel {
            name: ensemble.name.clone(),
            members,
            folder: files.folder(),
            answers: ensemble.answers,
            answer_names: ensemble.answer_names.clone(),
            own: ensemble.own_answers(),
            ensemble: Some(ensemble),
        })
    }

    fn of_layers(path: &Path, weights: &Path, shape: Option<Shape>) -> Result<Self> {
        let graph = layers(path, shape.unwrap_or(Shape::image(3, 224, 224)))?;
        let weights = Weights::open(weights, &graph)
            .with_context(|| format!("{}, weights of {}", weights.display(), path.display()))?;
        let (answers, outputs) = answers(&graph, &weights)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let member = QuantizedMember {
            name: name.clone().into_owned(),
            weights: Arc::new(weights),
            index: MemberIndex::new(0),
            input: (graph.input(), None),
            graph: Arc::new(graph),
        };
        Ok(QuantizedModel {
            name: name.into_owned(),
            members: vec![member],
            folder: Some(path.parent().unwrap_or(Path::new("")).to_owned()),
            answers,
            answer_names: None,
            own: OwnAnswers::new(answers, &[outputs], &[Temperature::ONE]),
            ensemble: None,
        })
    }

    /// Fails if a member's file is already quantised as a whole.
    pub(super) fn refuse_quantised(&self) -> Result<()> {
        let mut members = self.members.iter();
        let whole = |m: &&QuantizedMember| m.own_scales().is_some_and(OwnScales::is_whole);
        match members.find(whole) {
            Some(member) => bail!(
                "member `{}`: expected a float32 network, found a quantised one: its own scales are \
                 used, and a calibration has no effect",
                member.name
            ),
            None => Ok(()),
        }
    }

    /// Returns warnings of members that are already quantised in part.
    pub(super) fn warnings(&self) -> impl Iterator<Item = String> + '_ {
        self.members.iter().filter_map(|member| {
            let own = member.own_scales()?;
            let (name, layers, all) = (&member.name, own.layers, own.weighted);
            Some(format!(
                "{name}: {layers} of {all} layers are already quantised and keep the file's scales; \
                 this calibration covers the others"
            ))
        })
    }

    /// Reads the samples of the command line, or else of the manifest.
    pub(super) fn samples(&self, args: &QuantizeArgs) -> Result<Arc<Samples>> {
        let (named, files) = (&args.input, &args.files);
        let samples = match (named, &self.ensemble) {
            (Some(path), Some(ensemble)) => read_samples(path, files, ensemble.sample_form())?,
            (Some(path), None) => {
                let form = SampleForm::new(self.members[0].graph.input());
                read_samples(path, files, form.answers(self.answers, None))?
            }
            (None, ensemble) => {
                let samples = ensemble.as_ref().and_then(|e| e.calibration.clone());
                let samples = samples.filter(|samples| !samples.are_made_up());
                return samples.context("--calibration: expected a file of samples");
            }
        };
        Ok(Arc::new(samples))
    }
}

impl QuantizedMember {
    /// Returns the scales in its file, if the file is quantised.
    fn own_scales(&self) -> Option<OwnScales> {
        OwnScales::from_graph(&self.graph)
    }
}

/// Returns the kind of a single network's answers, and of its values.
fn answers(graph: &Graph, weights: &Weights) -> Result<(AnswerKind, OutputKind)> {
    let output = graph.output();
    let count = AnswerWidth::new(u32::try_from(output.elements())?)?;
    Ok(match output {
        Shape::Vector { features } if features > 1 => {
            let outputs = match probabilities(graph, weights, features) {
                Some(Probabilities::Shares { .. }) => OutputKind::Probabilities,
                Some(Probabilities::Each) => OutputKind::Values,
                None => OutputKind::Logits,
            };
            (AnswerKind::Classes { count }, outputs)
        }
        _ => {
            let normalise = false;
            (AnswerKind::Values { count, normalise }, OutputKind::Values)
        }
    })
}

/// Samples spread evenly over a file, in the form of a member's input.
pub(super) struct SpreadRows<'a> {
    samples: &'a Samples,
    member: &'a QuantizedMember,
    count: usize,
}

impl<'a> SpreadRows<'a> {
    /// Takes at most `most` samples.
    pub(super) fn new(samples: &'a Samples, member: &'a QuantizedMember, most: usize) -> Self {
        SpreadRows {
            samples,
            member,
            count: most.min(samples.len()),
        }
    }

    pub(super) fn samples(&self) -> &'a Samples {
        self.samples
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the row in the file of a sample.
    pub(super) fn row(&self, index: usize) -> usize {
        index * self.samples.len() / self.count
    }

    /// Returns samples in the form of the network's input.
    pub(super) fn read(&self, range: Range<usize>) -> Vec<f32> {
        let (sample, input) = &self.member.input;
        let width = self.member.graph.input().elements();
        let mut values = vec![0.0; range.len() * width];
        for (index, to) in range.zip(values.chunks_exact_mut(width)) {
            let row = self.samples.rows(self.row(index), 1);
            match input {
                Some(input) => input.convert(*sample, (&row[..]).into(), to),
                None => to.copy_from_slice(&row),
            }
        }
        values
    }

    /// Returns the samples for a calibration, by `read`.
    pub(super) fn calibration<'b>(
        &self,
        read: &'b dyn Fn(Range<usize>) -> Vec<f32>,
    ) -> CalibrationRows<'b> {
        CalibrationRows::new(self.count, read)
    }
}
