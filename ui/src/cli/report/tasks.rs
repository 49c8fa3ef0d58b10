//! Tasks in a report: their goals, their loaded variants, changes of these, and batch jobs.

use divisi_modelless::quantities::significant;
use divisi_session::{ScalingChange, ScalingView};

use super::text::{percent, section, table};

/// The number of changes in the report, the last ones.
const CHANGES: usize = 10;

/// Returns the task sections of a report.
pub(super) fn parts(scaling: &ScalingView) -> Vec<String> {
    let held = scaling.held.iter().map(|why| format!(" (held: {why})"));
    let title = format!(
        "tasks (policy {}{})",
        scaling.policy,
        held.collect::<String>()
    );
    let jobs = jobs(scaling);
    let mut parts = vec![
        section(&title, &streams(scaling)),
        section("cost of a million queries", &costs(scaling)),
        section("loaded variants", &loaded(scaling)),
        section(
            "changes of loaded variants and of device shares",
            &changes(scaling),
        ),
    ];
    let not_served = scaling.tasks.iter().flat_map(|task| &task.not_served);
    let not_served: Vec<String> = not_served.map(|why| format!("  {why}")).collect();
    parts.push(section("not served", &not_served.join("\n")));
    if !scaling.jobs.is_empty() {
        parts.push(section("batch jobs", &jobs));
    }
    parts
}

fn streams(scaling: &ScalingView) -> String {
    let head = ["task", "goals", "queries/s", "% missed (4 s mean)"];
    let all = scaling.tasks.iter();
    let rows = all.flat_map(|task| {
        task.streams.iter().map(|stream| {
            let rate = format!("{:.1}", stream.rate);
            vec![
                task.name.clone(),
                stream.goals.clone(),
                rate,
                percent(stream.missed),
            ]
        })
    });
    table(&head, rows)
}

/// Returns the cost of each task's queries as paid for the held devices, and on saturated devices.
fn costs(scaling: &ScalingView) -> String {
    let head = ["task", "paid for the devices", "at saturation", "last"];
    let costs = scaling
        .tasks
        .iter()
        .filter_map(|task| Some((task, task.cost?)));
    let rows = costs.map(|(task, cost)| {
        vec![
            task.name.clone(),
            significant(cost.paid),
            significant(cost.saturated),
            format!("{} s", cost.seconds),
        ]
    });
    table(&head, rows)
}

fn loaded(scaling: &ScalingView) -> String {
    let head = ["variant", "batch", "device share (1/20)", "state"];
    let rows = scaling.loaded.iter().map(|variant| {
        let (batch, instances) = (variant.batch.to_string(), variant.instances.to_string());
        vec![
            variant.name.clone(),
            batch,
            instances,
            variant.state.clone(),
        ]
    });
    table(&head, rows)
}

fn changes(scaling: &ScalingView) -> String {
    let skipped = scaling.changes.len().saturating_sub(CHANGES);
    let lines = scaling.changes.iter().skip(skipped).map(change);
    lines.collect::<Vec<_>>().join("\n")
}

fn change(change: &ScalingChange) -> String {
    let at = change.at.as_secs_f64();
    let outcome = match &change.outcome {
        Ok(_) if change.shares_alone => "shares only".to_owned(),
        Ok(took) => format!("in {:.3} s", took.as_secs_f64()),
        Err(why) => format!("failed: {why}"),
    };
    format!("  {at:.1} s, {}, {outcome}: {}", change.policy, change.what)
}

fn jobs(scaling: &ScalingView) -> String {
    let head = ["job", "task", "goals", "written", "of", "state"];
    let rows = scaling.jobs.iter().map(|job| {
        vec![
            job.number.to_string(),
            job.task.clone(),
            job.goals.clone(),
            job.written.to_string(),
            job.rows.to_string(),
            job.state.clone(),
        ]
    });
    table(&head, rows)
}
