//! From the manifest as written to an ensemble that can be served.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::batch_sizes::BatchSizes;
use super::error::{EnsembleError, line_of};
use super::files::Files;
use super::manifest::{InputTable, Manifest, MemberTable};
use super::member::Member;
use super::policy::{DEFAULT_WAIT, PolicyKind};
use super::samples::Samples;
use super::{Ensemble, Input};
use crate::network::builders::Builder;
use crate::network::file::LayersFile;
use crate::network::{Graph, Shape, Weights};

/// Characters of a name at most.
const MAX_NAME: usize = 64;

/// Samples in a segment where the manifest says nothing (the paper, section III).
const DEFAULT_SEGMENT: i64 = 128;

pub(super) fn read(files: &Files) -> Result<Ensemble, EnsembleError> {
    let text = files.read_text(files.manifest())?;
    let page = Page {
        files,
        file: files.manifest(),
        text: &text,
    };
    let manifest: Manifest = toml::from_str(&text)
        .map_err(|e| EnsembleError::toml(files.display(page.file), &text, &e))?;
    ensemble(&page, manifest)
}

/// A file being checked, to say where in it something is wrong.
struct Page<'a> {
    files: &'a Files,
    file: &'a str,
    text: &'a str,
}

impl Page<'_> {
    fn wrong(&self, offset: usize, message: impl Into<String>) -> EnsembleError {
        EnsembleError::Place {
            file: self.files.display(self.file),
            line: line_of(self.text, offset),
            message: message.into(),
        }
    }

    /// A whole number of at least 1 and at most `most`.
    fn count(
        &self,
        field: &str,
        value: &toml::Spanned<i64>,
        most: i64,
    ) -> Result<usize, EnsembleError> {
        let n = *value.get_ref();
        if (1..=most).contains(&n) {
            return Ok(n as usize);
        }
        Err(self.wrong(
            value.span().start,
            format!("{field}: expected a whole number from 1 to {most}, found {n}"),
        ))
    }
}

/// What a terminal and a table can show.
fn check_name(page: &Page<'_>, at: usize, field: &str, name: &str) -> Result<(), EnsembleError> {
    let shown = !name.trim().is_empty() && !name.chars().any(char::is_control);
    if shown && name.chars().count() <= MAX_NAME {
        return Ok(());
    }
    let found = name.escape_debug();
    let why = format!("{field}: expected 1 to {MAX_NAME} printable characters, found `{found}`");
    Err(page.wrong(at, why))
}

fn ensemble(page: &Page<'_>, manifest: Manifest) -> Result<Ensemble, EnsembleError> {
    check_name(page, 0, "name", &manifest.name)?;
    let classes = page.count("classes", &manifest.classes, 1 << 24)?;
    let input = input(page, &manifest.input)?;
    let default_segment = toml::Spanned::new(0..0, DEFAULT_SEGMENT);
    let segment = manifest.segment_size.as_ref().unwrap_or(&default_segment);
    let batch_sizes = match &manifest.batch_sizes {
        None => BatchSizes::default(),
        Some(sizes) => BatchSizes::new(sizes.get_ref())
            .map_err(|why| page.wrong(sizes.span().start, format!("batch_sizes: {why}")))?,
    };
    let labels = labels(page, &manifest, classes)?;
    let members = members(page, &manifest, input.shape, classes)?;
    Ok(Ensemble {
        segment_size: page.count("segment_size", segment, 1 << 20)?,
        policy: policy(page, &manifest)?,
        calibration: calibration(page, &manifest, input.shape, classes)?,
        name: manifest.name,
        rule: manifest.rule,
        devices: manifest.devices,
        members,
        input,
        classes,
        labels,
        batch_sizes,
    })
}

fn input(page: &Page<'_>, table: &InputTable) -> Result<Input, EnsembleError> {
    let at = table.shape.span().start;
    let dims: Option<Vec<usize>> = table
        .shape
        .get_ref()
        .iter()
        .map(|&d| usize::try_from(d).ok())
        .collect();
    let shape = dims
        .ok_or_else(|| "no dimension may be negative".to_owned())
        .and_then(Shape::try_from)
        .map_err(|why| page.wrong(at, format!("input.shape: {why}")))?;
    let number = |field: &str, value: &Option<toml::Spanned<f64>>, default: f32| match value {
        None => Ok(default),
        Some(v) if (*v.get_ref() as f32).is_finite() => Ok(*v.get_ref() as f32),
        Some(v) => Err(page.wrong(
            v.span().start,
            format!("input.{field}: expected a finite number"),
        )),
    };
    Ok(Input {
        shape,
        scale: number("scale", &table.scale, 1.0)?,
        shift: number("shift", &table.shift, 0.0)?,
    })
}

fn labels(
    page: &Page<'_>,
    manifest: &Manifest,
    classes: usize,
) -> Result<Option<Vec<String>>, EnsembleError> {
    match &manifest.labels {
        Some(labels) if labels.get_ref().len() != classes => Err(page.wrong(
            labels.span().start,
            format!(
                "labels: expected one a class ({classes}), found {}",
                labels.get_ref().len()
            ),
        )),
        Some(labels) => {
            for label in labels.get_ref() {
                check_name(page, labels.span().start, "labels", label)?;
            }
            Ok(Some(labels.get_ref().clone()))
        }
        None => Ok(None),
    }
}

fn policy(page: &Page<'_>, manifest: &Manifest) -> Result<PolicyKind, EnsembleError> {
    let Some(spanned) = &manifest.policy else {
        return Ok(PolicyKind::NoWait);
    };
    let (at, table) = (spanned.span().start, spanned.get_ref());
    let wait = match table.wait_ms {
        None => DEFAULT_WAIT,
        Some(ms) if (0.0..=60_000.0).contains(&ms) => Duration::from_secs_f64(ms / 1e3),
        Some(ms) => {
            return Err(page.wrong(
                at,
                format!("policy.wait_ms: expected 0 to 60000, found {ms}"),
            ));
        }
    };
    PolicyKind::named(&table.kind, wait)
        .map_err(|why| page.wrong(at, format!("policy.kind: {why}")))
}

fn calibration(
    page: &Page<'_>,
    manifest: &Manifest,
    shape: Shape,
    classes: usize,
) -> Result<Option<Arc<Samples>>, EnsembleError> {
    let Some(spanned) = &manifest.calibration else {
        return Ok(None);
    };
    let table = spanned.get_ref();
    let bytes = page.files.read(&table.file)?;
    let samples = Samples::parse(&table.file, &bytes, shape, Some(classes))
        .and_then(|s| s.skip(table.skip))
        .map_err(|e| EnsembleError::File {
            file: page.files.display(&table.file),
            reason: e.to_string(),
        })?;
    Ok(Some(Arc::new(samples)))
}

fn members(
    page: &Page<'_>,
    manifest: &Manifest,
    input: Shape,
    classes: usize,
) -> Result<Vec<Arc<Member>>, EnsembleError> {
    let tables = manifest.members.get_ref();
    if tables.is_empty() {
        return Err(page.wrong(
            manifest.members.span().start,
            "members: expected at least one",
        ));
    }
    let mut names = HashSet::new();
    let mut members = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        let member = table.get_ref();
        check_name(page, table.span().start, "members.name", &member.name)?;
        if !names.insert(&member.name) {
            let why = format!("members.name: `{}` appears twice", member.name);
            return Err(page.wrong(table.span().start, why));
        }
        members.push(Arc::new(build_member(page, member, index, input, classes)?));
    }
    let total: f64 = members.iter().map(|m| m.vote_weight).sum();
    if total > 0.0 {
        Ok(members)
    } else {
        let at = manifest.members.span().start;
        Err(page.wrong(at, "members.vote_weight: expected at least one above 0"))
    }
}

fn build_member(
    page: &Page<'_>,
    table: &MemberTable,
    index: usize,
    input: Shape,
    classes: usize,
) -> Result<Member, EnsembleError> {
    let graph = network(page, table, input, classes)?;
    let weights = match &table.weights {
        None => Weights::synthetic(&graph, index as u64),
        Some(name) => {
            let bytes = page.files.read(name)?;
            Weights::from_safetensors(&bytes, &graph).map_err(|e| EnsembleError::File {
                file: page.files.display(name),
                reason: format!("member `{}`: {e}", table.name),
            })?
        }
    };
    let vote_weight = match &table.vote_weight {
        None => 1.0,
        Some(w) if w.get_ref().is_finite() && *w.get_ref() >= 0.0 => *w.get_ref(),
        Some(w) => {
            let why = format!("vote_weight: expected 0 or more, found {}", w.get_ref());
            return Err(page.wrong(w.span().start, why));
        }
    };
    Ok(Member {
        name: table.name.clone(),
        graph: Arc::new(graph),
        weights: Arc::new(weights),
        outputs: table.outputs,
        vote_weight,
    })
}

fn network(
    page: &Page<'_>,
    table: &MemberTable,
    input: Shape,
    classes: usize,
) -> Result<Graph, EnsembleError> {
    let Range { start, .. } = table.network.span();
    let spec = table.network.get_ref();
    let fail = |why: String| page.wrong(start, format!("network of `{}`: {why}", table.name));
    let graph = match spec.get("file") {
        Some(toml::Value::String(file)) if spec.len() == 1 => layers(page.files, file, input)?,
        Some(_) => {
            return Err(fail(
                "expected `file` alone, the name of a file of layers".into(),
            ));
        }
        None => Builder::from_table(spec)
            .map_err(&fail)?
            .build(input, classes)
            .map_err(|e| fail(e.to_string()))?,
    };
    graph.answers(classes).map_err(|e| fail(e.to_string()))
}

fn layers(files: &Files, file: &str, input: Shape) -> Result<Graph, EnsembleError> {
    let text = files.read_text(file)?;
    let parsed: LayersFile =
        toml::from_str(&text).map_err(|e| EnsembleError::toml(files.display(file), &text, &e))?;
    parsed.build(input).map_err(|e| EnsembleError::Place {
        file: files.display(file),
        line: line_of(&text, e.offset),
        message: e.error.to_string(),
    })
}
