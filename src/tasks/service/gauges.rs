//! The figures of tasks in `/metrics`.

use divisi_inference::service::Gauge;
use divisi_modelless::goals::{ChoicePreference, QueryGoals};
use divisi_modelless::quantities::COST_QUERIES;
use divisi_modelless::variants::VariantIndex;

use crate::routing::{StreamTally, TaskRouter, TaskTally, VariantTally};
use crate::scaling::words::as_asked;

/// A figure of a variant: its name, its help text, its additional label and its value.
type VariantFigure = (&'static str, &'static str, Option<&'static str>, f64);

/// Returns the figures of tasks and of all variants that have received queries.
pub(super) fn task_gauges(router: &TaskRouter) -> Vec<Gauge> {
    let tasks = router.tasks();
    let tallies = (0_u32..).map(VariantIndex).zip(router.variant_tallies());
    let asked = tallies.filter(|(_, tally)| tally.answered + tally.unanswered > 0);
    let of_variants = asked.flat_map(|(at, tally)| {
        let group = &tasks.groups()[tasks.group_of(at)];
        let labels = vec![
            ("task", tasks.catalog().name(group.task).to_owned()),
            ("variant", group.name.clone()),
            ("batch", tasks.catalog().variant(at).batch.to_string()),
        ];
        figures(&tally).map(move |figure| gauge(figure, "goal", labels.clone()))
    });
    let of_tasks = tasks.names().zip(router.task_tallies());
    let of_tasks = of_tasks.flat_map(|((_, name), tally)| {
        let labels = vec![("task", name.to_owned())];
        refused(tally).map(move |figure| gauge(figure, "reason", labels.clone()))
    });
    let of_streams = router.stream_tallies().into_iter().flat_map(|tally| {
        let name = tasks.catalog().name(tally.stream.task);
        let mut labels = vec![("task", name.to_owned())];
        labels.extend(goal_labels(&tally.stream.goals));
        outcomes(tally).map(move |figure| gauge(figure, "outcome", labels.clone()))
    });
    let of_tasks = of_tasks.chain(of_streams);
    let mut gauges: Vec<Gauge> = of_variants.chain(of_tasks).collect();
    // The text format requires metrics of the same name to be adjacent.
    gauges.sort_by_key(|gauge| gauge.name);
    gauges
}

fn figures(tally: &VariantTally) -> impl Iterator<Item = VariantFigure> + use<> {
    const QUERIES: (&str, &str) = (
        "divisi_task_queries_total",
        "Queries that a variant answered",
    );
    const UNANSWERED: (&str, &str) = (
        "divisi_task_unanswered_total",
        "Queries that a variant did not answer: refused because the pool was full, failed or cancelled",
    );
    const MISSED: (&str, &str) = (
        "divisi_task_goals_missed_total",
        "Answers of a variant that missed a goal",
    );
    const COST: (&str, &str) = (
        "divisi_task_cost_total",
        "Cost of the samples that a variant answered",
    );
    let missed = |goal, count: u64| (MISSED.0, MISSED.1, Some(goal), count as f64);
    [
        (QUERIES.0, QUERIES.1, None, tally.answered as f64),
        (UNANSWERED.0, UNANSWERED.1, None, tally.unanswered as f64),
        missed("accuracy", tally.missed_accuracy),
        missed("latency", tally.missed_latency),
        missed("cost", tally.missed_cost),
        (COST.0, COST.1, None, tally.cost),
    ]
    .into_iter()
}

fn refused(tally: TaskTally) -> impl Iterator<Item = VariantFigure> {
    const REFUSED: (&str, &str) = (
        "divisi_task_refused_total",
        "Queries of a task refused before a variant was chosen",
    );
    let of = |reason, count: u64| (REFUSED.0, REFUSED.1, Some(reason), count as f64);
    [
        of("unreachable", tally.unreachable),
        of("too_late", tally.too_late),
        of("not_loaded", tally.not_loaded),
    ]
    .into_iter()
}

/// Returns goals as labels: the named parameters in the same units.
fn goal_labels(goals: &QueryGoals) -> impl Iterator<Item = (&'static str, String)> {
    let accuracy = goals
        .accuracy
        .map(|goal| as_asked(100.0 * goal.get()).to_string());
    let millis = goals.latency.map(|goal| 1e3 * goal.get().as_secs_f64());
    let latency = millis.map(|millis| as_asked(millis).to_string());
    let max_cost = goals.max_cost.map(|goal| COST_QUERIES * goal.get());
    let cost = max_cost.map(|cost| as_asked(cost).to_string());
    let model = goals.model.map(|model| model.0.to_string());
    let prefer = goals.prefer == ChoicePreference::MostAccurate;
    let labels = [
        ("accuracy", accuracy),
        ("latency_ms", latency),
        ("max_cost", cost),
        ("model", model),
        ("prefer", prefer.then(|| "accuracy".to_owned())),
    ];
    labels
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
}

fn outcomes(tally: StreamTally) -> impl Iterator<Item = VariantFigure> {
    const OVER: (&str, &str) = (
        "divisi_task_asked_total",
        "Queries by requested goals; queries refused for lack of time count as missed",
    );
    let of = |outcome, count: u64| (OVER.0, OVER.1, Some(outcome), count as f64);
    [of("met", tally.met), of("missed", tally.missed)].into_iter()
}

fn gauge(
    (name, help, detail, value): VariantFigure,
    of: &'static str,
    mut labels: Vec<(&'static str, String)>,
) -> Gauge {
    labels.extend(detail.map(|detail| (of, detail.to_owned())));
    Gauge {
        name,
        help,
        counts: true,
        labels,
        value,
    }
}
