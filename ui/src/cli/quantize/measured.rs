//! The answers of a member in int8, compared with float32.

use anyhow::Result;
use divisi_model::ensemble::{MeasureTally, Quality, label_of};
use divisi_runtime::compute::calibration::{
    CalibratedNetwork, ComparedAnswers, SignalAndNoise, is_weighted,
};

use super::model::{QuantizedMember, QuantizedModel, SpreadRows};

/// A calibrated member and its answers.
pub(super) struct MeasuredMember {
    pub name: String,
    pub calibrated: CalibratedNetwork,
    /// The names of the layers with weights, and whether each is computed in int8.
    pub layers: Vec<(String, bool)>,
    /// The shares of the error caused by layers in int8 that could stay in float32.
    pub costs: Vec<(String, f64)>,
    pub signal: SignalAndNoise,
    /// The share of samples with the same class, if answers are classes.
    pub agreement: Option<f64>,
    /// The measures in float32 and in int8, if samples have targets.
    pub qualities: [Vec<Quality>; 2],
}

impl MeasuredMember {
    pub(super) fn measure(
        model: &QuantizedModel,
        member: &QuantizedMember,
        rows: &SpreadRows<'_>,
        calibrated: CalibratedNetwork,
    ) -> Result<Self> {
        let mut signal = SignalAndNoise::default();
        let mut same = 0;
        let tally = MeasureTally::with_names(model.answers, model.answer_names.as_deref());
        let mut tallies = [tally.clone(), tally];
        let width = member.graph.output().elements();
        let read = |range| rows.read(range);
        let network = (member.graph.as_ref(), member.weights.as_ref());
        let of_rows = rows.calibration(&read);
        let mut count = |answers: ComparedAnswers<'_>| {
            let ComparedAnswers { exact, found, .. } = answers;
            signal.add(exact, found);
            let pairs = exact.chunks_exact(width).zip(found.chunks_exact(width));
            for (index, (exact, found)) in answers.rows.zip(pairs) {
                let answers = [exact, found].map(|row| model.own.answer(member.index, row));
                same += usize::from(label_of(&answers[0]) == label_of(&answers[1]));
                if let Some(targets) = rows.samples().targets() {
                    let target = targets.target(rows.row(index));
                    let each = tallies.iter_mut().zip(&answers);
                    each.for_each(|(tally, answer)| tally.add(answer, target));
                }
            }
        };
        let calibration = &calibrated.calibration;
        calibration.compare(network, of_rows, &mut count)?;
        let graph = &member.graph;
        let name = |node: usize| graph.nodes()[node].name.clone();
        let weighted = (0..graph.nodes().len()).filter(|&node| is_weighted(graph, node));
        let layers = weighted.map(|node| (name(node), calibration.quantises(graph, node)));
        let costs = calibrated
            .costs
            .iter()
            .map(|cost| (name(cost.node), cost.share));
        let is_of_classes = model.answers.is_of_classes();
        Ok(MeasuredMember {
            name: member.name.clone(),
            layers: layers.collect(),
            costs: costs.collect(),
            signal,
            agreement: is_of_classes.then(|| same as f64 / rows.count() as f64),
            qualities: match rows.samples().targets() {
                Some(_) => tallies.map(|tally| tally.qualities()),
                None => [Vec::new(), Vec::new()],
            },
            calibrated,
        })
    }
}
