//! The share of queries of a task that met their goals, second by second.

use divisi_modelless::quantities::significant;
use divisi_session::{GoalSecond, StreamView, TaskCostView, TaskView};

use super::{TaskLine, row, wrapped};
use crate::look::Role;
use crate::text::format;

/// The time of the shown shares, in seconds.
const WINDOW: usize = 60;

/// Returns the lines of a task: the share of queries that met their goals, a column per second, and
/// its streams.
pub(super) fn lines(task: &TaskView, width: u16) -> Vec<TaskLine> {
    let mut lines = vec![Vec::new(), summary(task, width)];
    if task.seconds.iter().any(|second| over(second) > 0) {
        lines.push(columns(&task.seconds, width));
    }
    lines.extend(unreachable(task, width));
    lines.extend(not_served(task, width));
    lines.extend(task.cost.iter().map(|view| cost(view, width)));
    lines.extend(task.streams.iter().map(|view| stream(view, width)));
    lines
}

fn over(second: &GoalSecond) -> u32 {
    second.met + second.missed
}

/// Returns the lines about recent queries whose goals no variant meets, if there were any.
fn unreachable(task: &TaskView, width: u16) -> Vec<TaskLine> {
    let Some(view) = &task.unreachable else {
        return Vec::new();
    };
    let when = match view.seconds {
        0 => "in the last second".to_owned(),
        1 => "1 s ago".to_owned(),
        seconds => format!("{seconds} s ago"),
    };
    let text = format!(
        "{} refused {when}: no variant meets their goals; nearest variant: {}",
        format::grouped(view.queries),
        view.nearest
    );
    wrapped(
        vec![("  ✗ ".to_owned(), Role::Bad)],
        &text,
        Role::Bad,
        width,
    )
}

/// Returns the lines about ensembles that are not served.
fn not_served(task: &TaskView, width: u16) -> Vec<TaskLine> {
    let each = task.not_served.iter().flat_map(|why| {
        let sign = vec![("  ✗ ".to_owned(), Role::Bad)];
        wrapped(sign, &format!("not served: {why}"), Role::Bad, width)
    });
    each.collect()
}

/// Returns the cost of queries as paid for the held devices, and on saturated devices.
fn cost(view: &TaskCostView, width: u16) -> TaskLine {
    let (paid, saturated) = (significant(view.paid), significant(view.saturated));
    let text = format!(
        "  cost/M {paid} paid for the devices, {saturated} at saturation (last {} s)",
        view.seconds
    );
    row(&text, Role::Text, width)
}

fn summary(task: &TaskView, width: u16) -> TaskLine {
    let (seconds, counted) = (task.seconds.len().min(WINDOW), task.counted(WINDOW));
    let name = format::fit_name(&task.name, width / 3);
    let Some(missed) = counted.share_missed() else {
        let text = format!("  no answered queries in the last {seconds} s");
        return vec![(name, Role::Strong), (text, Role::Dim)];
    };
    let part = 1.0 - missed;
    let role = match part {
        part if part >= 0.99 => Role::Good,
        part if part >= 0.95 => Role::Warn,
        _ => Role::Bad,
    };
    let met = format!("  goals met {}", format::met(part));
    let of = format!(
        " of {} queries in the last {seconds} s",
        format::grouped(counted.all())
    );
    vec![(name, Role::Strong), (met, role), (of, Role::Dim)]
}

/// Returns a column per second: the number of queries that missed a goal.
fn columns(seconds: &[GoalSecond], width: u16) -> TaskLine {
    const WORDS: &str = "  missed ";
    let room = usize::from(width).saturating_sub(WORDS.len());
    let first = seconds.len().saturating_sub(room);
    let mut line = vec![(WORDS.to_owned(), Role::Dim)];
    for second in &seconds[first..] {
        line.push(column(second));
    }
    line
}

fn column(second: &GoalSecond) -> (String, Role) {
    const BARS: [&str; 7] = ["▂", "▃", "▄", "▅", "▆", "▇", "█"];
    let (sign, role) = match (second.missed, over(second)) {
        (_, 0) => (" ", Role::Dim),
        (0, _) => ("▁", Role::Good),
        (missed, all) => {
            let part = f64::from(missed) / f64::from(all);
            let at = (part * BARS.len() as f64).ceil() as usize;
            (BARS[at.clamp(1, BARS.len()) - 1], Role::Bad)
        }
    };
    (sign.to_owned(), role)
}

fn stream(view: &StreamView, width: u16) -> TaskLine {
    let text = format!(
        "  {:<18} {:>8}/s  missed {} (mean of {} s)",
        view.goals,
        significant(view.rate),
        format::missed(view.missed),
        view.seconds
    );
    row(&text, Role::Text, width)
}
