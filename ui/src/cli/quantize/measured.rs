//! The answers of a member in int8, compared with float32.

use std::collections::BTreeMap;

use anyhow::Result;
use divisi_model::ensemble::{MeasureTally, Quality, label_of};
use divisi_runtime::compute::calibration::{
    CalibratedNetwork, ComparedAnswers, SignalAndNoise, is_weighted,
};

use super::model::{QuantizedMember, QuantizedModel, SpreadRows};
use super::report::QuantizedRow;

/// Compares the answers of a calibrated member with those in float32. Returns the report, whose file
/// has no name yet.
pub(super) fn measure(
    model: &QuantizedModel,
    member: &QuantizedMember,
    rows: &SpreadRows<'_>,
    calibrated: &CalibratedNetwork,
) -> Result<QuantizedRow> {
    let mut signal = SignalAndNoise::default();
    let mut same = 0;
    let tally = MeasureTally::with_names(model.answers, model.answer_names.as_deref());
    let mut tallies = [tally.clone(), tally];
    let graph = &member.graph;
    let width = graph.output().elements();
    let read = |range| rows.read(range);
    let of_rows = rows.calibration(&read);
    let targets = rows.samples().targets();
    let mut count = |answers: ComparedAnswers<'_>| {
        let ComparedAnswers { exact, found, .. } = answers;
        signal.add(exact, found);
        let pairs = exact.chunks_exact(width).zip(found.chunks_exact(width));
        for (index, (exact, found)) in answers.rows.zip(pairs) {
            let answers = [exact, found].map(|row| model.own.answer(member.index, row));
            same += usize::from(label_of(&answers[0]) == label_of(&answers[1]));
            if let Some(targets) = targets {
                let target = targets.target(rows.row(index));
                let each = tallies.iter_mut().zip(&answers);
                each.for_each(|(tally, answer)| tally.add(answer, target));
            }
        }
    };
    let calibration = &calibrated.calibration;
    calibration.compare(graph, &member.weights, of_rows, &mut count)?;
    let name = |node: usize| graph.nodes()[node].name.clone();
    let weighted = (0..graph.nodes().len()).filter(|&node| is_weighted(graph, node));
    let (quantized, kept): (Vec<usize>, Vec<usize>) =
        weighted.partition(|&node| calibration.quantises(graph, node));
    let costs = calibrated.costs.iter();
    let agreement = model.answers.is_of_classes();
    let qualities = match targets {
        Some(_) => tallies.map(|tally| tally.qualities()),
        None => [Vec::new(), Vec::new()],
    };
    Ok(QuantizedRow {
        name: member.name.clone(),
        file: String::new(),
        quantized: quantized.len(),
        kept: kept.into_iter().map(name).collect(),
        costs: costs.map(|cost| (name(cost.node), cost.share)).collect(),
        signal_to_noise_db: signal.decibels(),
        agreement: agreement.then(|| same as f64 / rows.count() as f64),
        f32: figures(&qualities[0]),
        int8: figures(&qualities[1]),
        qualities,
    })
}

/// Returns the figures by the keys of their measures.
fn figures(qualities: &[Quality]) -> BTreeMap<&'static str, f64> {
    let each = qualities.iter();
    each.map(|q| (q.measure.key(), q.value)).collect()
}
