//! The comparison of staged changes with the running setup, as lines.

use divisi_model::allocation::WorkerChange;
use divisi_session::{EditPreview, Prediction, Snapshot};

use super::lines::{LineFront, LineWords, Said};
use crate::text::{format, status as words};

pub(super) fn compare(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    words.none()?;
    let setup = front.setup()?;
    let preview = front.session.preview(&setup);
    let preview = preview.map_err(|refusal| refusal.to_string())?;
    let mut lines: Vec<String> = changes(front.shown, &preview).collect();
    if lines.is_empty() {
        lines.push("nothing changes".into());
    }
    lines.extend(preview.settings.iter().cloned());
    lines.extend(preview.remarks.iter().cloned());
    lines.extend(memory(front.shown, &preview));
    let paused = preview.paused_members.iter();
    lines.extend(paused.map(|m| format!("{m} pauses briefly")));
    lines.extend(predicted(&preview.prediction));
    Ok(lines)
}

fn predicted(said: &Prediction) -> Option<String> {
    let before = said.before?;
    let Some(after) = said.after else {
        return Some(format!("no prediction: {}", said.source));
    };
    let gain = format::gain(before.samples_per_s, after.samples_per_s).unwrap_or_default();
    let [before, low, high] = [before.samples_per_s, after.low, after.high].map(f64::round);
    let (after, source) = (after.samples_per_s.round(), &said.source);
    Some(format!(
        "predicted: {before} to {after} samples/s ({low} … {high}), {gain}; {source}"
    ))
}

fn changes<'a>(shown: &'a Snapshot, preview: &'a EditPreview) -> impl Iterator<Item = String> + 'a {
    let changed = preview.difference.changed();
    changed.map(|entry| {
        let place = words::cell(shown, entry.cell);
        match entry.change {
            WorkerChange::Keep(size) => format!("keep {place}, batch {size}"),
            WorkerChange::Start(size) => format!("start {place}, batch {size}"),
            WorkerChange::Stop(size) => format!("stop {place}, batch {size}"),
            WorkerChange::Resize { from, to } => format!("change {place}, batch {from} to {to}"),
            WorkerChange::Rebuild(size) => format!("rebuild {place}, batch {size}"),
        }
    })
}

fn memory<'a>(shown: &'a Snapshot, preview: &'a EditPreview) -> impl Iterator<Item = String> + 'a {
    let pairs = shown.devices.iter().zip(&preview.memory);
    let differ = pairs.filter(|(_, (now, after))| now != after);
    differ.map(|(device, (now, after))| {
        let (now, after) = (format::bytes(*now), format::bytes(*after));
        format!("{}: memory {now} to {after}", device.name)
    })
}
