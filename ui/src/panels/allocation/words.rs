//! Under the matrix: queues and rates of members, then messages; during editing, the effects of the
//! staged changes.

use divisi_model::allocation::Difference;
use divisi_model::ensemble::PolicyKind;
use divisi_session::{
    DeviceView, EntryView, MemberView, ProbationState, ReloadState, SettingChange,
};

use super::geometry::MatrixColumns;
use super::precisions;
use crate::commands::APPLY_PROPOSAL;
use crate::layout::Panel;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::panels::what_if::{self, StyledLine};
use crate::panels::{header, keys, lints};
use crate::text::{Severity, checks, format, proposal, status};
use crate::view::SetupEdit;

/// A text and its role.
pub(super) type StyledText = (String, Role);

/// Draws queues and rates of members, then words, as far as there is room.
pub(super) fn draw(inside: &mut Painter<'_>, mut y: u16, model: &Model, columns: MatrixColumns) {
    if let Some(edit) = &model.edit {
        return draw_staged(inside, y, model, edit, columns);
    }
    let mut words = words(model);
    let has_hidden = columns.shown < model.snapshot.members.len();
    let urgent = u16::from(has_hidden || words.iter().any(urgent));
    y = draw_rows(inside, y, model, columns, urgent);
    let left = inside.height().saturating_sub(y);
    if left > words.len() as u16 {
        y += 1;
    } else if left < words.len() as u16 {
        words.sort_by_key(|w| !self::urgent(w));
    }
    let room = inside.width().saturating_sub(1);
    for (i, (text, role)) in words.iter().enumerate() {
        inside.text(0, y + i as u16, &cut(text, room), *role);
    }
}

/// Draws the rows of members, with `spare` rows left for words, and returns the row after them.
/// Precisions stay longer than queues and rates, which panel 7 also shows.
fn draw_rows(
    inside: &mut Painter<'_>,
    mut y: u16,
    model: &Model,
    columns: MatrixColumns,
    spare: u16,
) -> u16 {
    let room = inside.height().saturating_sub(y);
    let own = u16::from(precisions::is_shown(model) && room > spare);
    let rows = room.saturating_sub(own + spare).min(2);
    if rows == 2 || spare == 0 {
        member_rows(inside, y, rows, model, columns);
        y += rows;
    }
    if inside.height().saturating_sub(y) >= 5 {
        growth(inside, y, model, columns);
        y += 1;
    }
    if own > 0 {
        precisions::draw(inside, y, model, columns);
        y += 1;
    }
    y
}

/// Shortens a lint: its words are cut before its keys.
fn cut(text: &str, room: u16) -> String {
    let (head, keys) = match text.rsplit_once(" · ") {
        Some((head, keys)) if text.starts_with(['!', '·']) => (head, keys),
        _ => return format::fit(text, room),
    };
    let taken = format::width(keys).saturating_add(3);
    match format::width(text) <= room || taken.saturating_add(12) > room {
        true => format::fit(text, room),
        false => format!("{} · {keys}", format::fit(head, room - taken)),
    }
}

/// Draws queues and rates on `rows` lines.
fn member_rows(inside: &mut Painter<'_>, y: u16, rows: u16, model: &Model, columns: MatrixColumns) {
    let number = |value: f64| format::short(value);
    if rows > 0 {
        let queued = |m: &MemberView| number(m.queued as f64);
        member_row(inside, y, "queue", model, columns, queued);
    }
    if rows > 1 {
        let rate = |m: &MemberView| number(m.samples_per_s);
        member_row(inside, y + 1, "smp/s", model, columns, rate);
    }
}

fn member_row(
    inside: &mut Painter<'_>,
    y: u16,
    name: &str,
    model: &Model,
    columns: MatrixColumns,
    text: impl Fn(&MemberView) -> String,
) {
    inside.text(0, y, name, Role::Dim);
    for member in columns.members() {
        if let Some(view) = model.snapshot.member(member) {
            inside.text_right(columns.end(member) - 1, y, &text(view), Role::Dim);
        }
    }
}

/// Draws the growth of queues in samples per second.
fn growth(inside: &mut Painter<'_>, y: u16, model: &Model, columns: MatrixColumns) {
    inside.text(0, y, "grows", Role::Dim);
    for member in columns.members() {
        if let Some(view) = model.snapshot.member(member) {
            let sign = match view.growth {
                g if g >= 0.5 => "+",
                g if g <= -0.5 => "−",
                _ => "",
            };
            let text = format!("{sign}{}", format::short(view.growth.abs()));
            let role = match lints::grows(view) {
                true => Role::Warn,
                false => Role::Dim,
            };
            inside.text_right(columns.end(member) - 1, y, &text, role);
        }
    }
}

/// Returns whether there is an urgent message under the matrix.
pub(super) fn is_urgent(model: &Model) -> bool {
    words(model).iter().any(urgent)
}

fn urgent(line: &StyledText) -> bool {
    line.1 != Role::Dim
}

fn words(model: &Model) -> Vec<StyledText> {
    if model.edit.is_some() {
        return Vec::new();
    }
    let lints = lints::lints(model).into_iter();
    let lints = lints.map(|(grave, l)| (grave, format!("{} {l}", grave.sign())));
    let (faults, others): (Vec<_>, Vec<_>) = lints.partition(|(g, _)| *g == Severity::Fault);
    let line = |(grave, text): (Severity, String)| (text, Role::from(grave));
    let mut words: Vec<StyledText> = faults.into_iter().map(line).collect();
    words.extend(reload(model));
    words.extend(model.snapshot.devices.iter().filter_map(loss));
    words.extend(checked(model).map(|text| (format!("› {text}"), Role::Warn)));
    // The header shows this too, so it may be left out without room.
    let watched = header::watching(model);
    words.extend(watched.map(|text| (format!("› {text}"), Role::Warn)));
    let proposed = proposal::words(&model.snapshot);
    let key = keys::label(model, &APPLY_PROPOSAL);
    words.extend(proposed.map(|p| (format!("› {key}: {p}"), Role::Accent)));
    if model.focus == Panel::Allocation {
        words.extend(details(model).map(|text| (text, Role::Dim)));
    }
    words.extend(others.into_iter().map(line));
    words
}

/// Returns value, limit and earlier value of each check of the probation.
fn checked(model: &Model) -> impl Iterator<Item = String> {
    let watched = model.snapshot.probation.as_ref();
    let watched = watched.filter(|p| p.state == ProbationState::Watching);
    watched
        .into_iter()
        .flat_map(|p| &p.checks)
        .map(checks::missing_first)
}

fn reload(model: &Model) -> Option<(String, Role)> {
    let reload = model.snapshot.reload.as_ref()?;
    match &reload.state {
        ReloadState::Done => None,
        ReloadState::Running => {
            let step = reload.steps.last().map_or("", String::as_str);
            let time = format::duration(reload.elapsed);
            Some((format!("› reload {time}: {step}"), Role::Accent))
        }
        ReloadState::Failed(why) => Some((format!("✗ reload failed: {why}"), Role::Bad)),
    }
}

/// Returns the reason for a device's loss, if its driver reported one.
fn loss(view: &DeviceView) -> Option<StyledText> {
    let why = view.loss.as_ref()?;
    Some((format!("✗ {}: {why}", view.name), Role::Bad))
}

/// Returns the entry at the cursor, then details of its device if there are any.
fn details(model: &Model) -> impl Iterator<Item = String> {
    let device = model.snapshot.device(model.cursor.device);
    let device = device.and_then(|d| device_detail(d, model));
    std::iter::once(entry_detail(model)).chain(device)
}

fn entry_detail(model: &Model) -> String {
    let cell = model.cursor;
    let frame = model.snapshot.matrix.frame();
    let device = frame.device(cell.device).unwrap_or("");
    let Some(member) = frame.member(cell.member) else {
        return format!("{device}: nothing is served");
    };
    let view = model.snapshot.member(cell.member);
    let computed = view.and_then(|view| status::unusual_precision(view, &model.snapshot));
    let computed = computed.map_or(String::new(), |own| format!(" in {own}"));
    let Some(size) = model.snapshot.matrix.get(cell) else {
        return format!("{device} × {member}{computed}: no worker");
    };
    let Some(view) = model.snapshot.entry(cell) else {
        return String::new();
    };
    let slower = view.interfered.map(format::times);
    let slower = slower.map_or(String::new(), |s| format!(" · {s} the profiled time"));
    let restarts = match view.restarts {
        0 => String::new(),
        n => format!(" · {n} restarts"),
    };
    format!(
        "{device} × {member}{computed}: batch {size}{slower} · load {} · filled {} · {} wait · \
         copies {} · {} batches{restarts}",
        format::percent(view.load).trim(),
        measured(view.fill, view),
        format::grouped(view.waiting as u64),
        measured(view.copying, view),
        format::grouped(view.batches)
    )
}

/// Formats a share of the current batches, or a dash without batches.
fn measured(share: f64, view: &EntryView) -> String {
    match view.fill > 0.0 {
        true => format::percent(share).trim().to_owned(),
        false => "–".to_owned(),
    }
}

/// Returns details of a simulated, lost, slowed or limited device, or of a GPU.
fn device_detail(view: &DeviceView, model: &Model) -> Option<String> {
    let mut parts = Vec::new();
    if view.faults_on_demand {
        parts.push(view.kind.clone());
    }
    if view.lost {
        parts.push("lost: other devices serve its members".to_owned());
    }
    if view.slowdown != 1.0 {
        parts.push(format!("slowed down {}", format::times(view.slowdown)));
    }
    let doing = view.gpu.as_ref().filter(|_| !view.lost);
    parts.extend(doing.into_iter().flat_map(status::gpu_words));
    parts.extend(alive(view, model));
    (!parts.is_empty()).then(|| format!("{}: {}", view.name, parts.join(" · ")))
}

/// Returns the samples in execution, with the limit under elastic batching.
fn alive(view: &DeviceView, model: &Model) -> Option<String> {
    let set = view.max_inf.map(|n| n.get());
    match (model.snapshot.policy, set) {
        (PolicyKind::Elastic { max_inf }, set) => {
            let most = set.or(max_inf.map(|n| n.get()));
            let most = most.unwrap_or_else(|| batch_sizes(model));
            Some(format!("{} of {most} samples alive (MaxInf)", view.alive))
        }
        (_, Some(most)) => Some(format!("MaxInf {most} once elastic")),
        (_, None) if view.side_by_side => Some(format!("{} samples alive", view.alive)),
        _ => None,
    }
}

/// Returns the sum of the batch sizes on the device at the cursor.
fn batch_sizes(model: &Model) -> u32 {
    let workers = model.snapshot.matrix.workers();
    let here = workers.filter(|w| w.0.device == model.cursor.device);
    here.map(|w| u32::try_from(w.1.get()).unwrap_or(u32::MAX))
        .sum()
}

/// Returns the number of staged changes, for the title.
pub(super) fn staged_note(model: &Model, edit: &SetupEdit) -> String {
    let difference = Difference::between(&model.snapshot.matrix, edit.staged());
    let settings = SettingChange::between(&model.snapshot.setup(), edit.setup());
    let staged = difference.changed().count() + settings.len();
    format!("EDITING · {staged} staged")
}

/// Draws the staged changes, with the queues and rates of members if both fit.
fn draw_staged(
    inside: &mut Painter<'_>,
    mut y: u16,
    model: &Model,
    edit: &SetupEdit,
    columns: MatrixColumns,
) {
    let width = inside.width().saturating_sub(1);
    let mut lines = lines(model, edit, width);
    let room = inside.height().saturating_sub(y);
    let own = u16::from(precisions::is_shown(model) && room > 0);
    if room >= lines.len() as u16 + own + 2 {
        member_rows(inside, y, 2, model, columns);
        y += 2;
    }
    if own > 0 {
        precisions::draw(inside, y, model, columns);
        y += 1;
    }
    let left = inside.height().saturating_sub(y);
    if left > lines.len() as u16 {
        y += 1;
    } else if left < lines.len() as u16 && !(own > 0 && precisions::are_told(model, columns)) {
        // Staged changes come before remarks on them, and these before their effects.
        lines.sort_by_key(|line| {
            let mut parts = line.iter();
            let is_staged = parts.any(|part| matches!(part.1, Role::Bad | Role::Warn));
            let is_remark = line.first().is_some_and(|part| part.0.starts_with("! "));
            (!is_staged, is_remark)
        });
    }
    for (i, line) in lines.iter().enumerate() {
        let mut x = 0;
        for (text, role) in line {
            let text = format::fit(text, width.saturating_sub(x));
            x = inside.text(x, y + i as u16, &text, *role);
        }
    }
}

fn lines(model: &Model, edit: &SetupEdit, width: u16) -> Vec<StyledLine> {
    let mut lines: Vec<StyledLine> = marked(edit).into_iter().collect();
    match edit.preview() {
        None => lines.push(vec![("comparing …".to_owned(), Role::Dim)]),
        Some(Err(why)) => {
            let text = format!("✗ cannot be applied: {why}");
            lines.extend(what_if::wrapped(&text, width, Role::Bad));
        }
        Some(Ok(preview)) => lines.extend(what_if::brief(preview, model, width)),
    }
    let sizes = &model.snapshot.matrix.frame().batch_sizes;
    let text = format!("0 or {sizes} · + start  − stop  ~ resize");
    lines.push(vec![(text, Role::Dim)]);
    lines
}

/// Returns the line about the taken worker.
fn marked(edit: &SetupEdit) -> Option<StyledLine> {
    let mark = edit.mark()?;
    let frame = edit.staged().frame();
    let member = frame.member(mark.from.member)?;
    let device = frame.device(mark.from.device)?;
    let word = if mark.moves { "move" } else { "copy" };
    let text = format!(
        "› {word} {member} {} of {device}: choose a device, then Enter",
        mark.size
    );
    Some(vec![(text, Role::Accent)])
}
