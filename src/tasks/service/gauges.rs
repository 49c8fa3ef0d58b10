//! The figures of tasks in `/metrics`.

use divisi_inference::service::Gauge;
use divisi_modelless::goals::{ChoicePreference, QueryGoals};
use divisi_modelless::quantities::COST_QUERIES;

use crate::routing::{AskedGoals, GoalsName, GoalsTally, LiveRouter, TaskTally, VariantTally};
use crate::scaling::words::{WHOLE, as_asked};

/// A figure of a variant: its name, its help text, its additional label and its value.
type VariantFigure = (&'static str, &'static str, Option<&'static str>, f64);

/// Returns the figures of tasks and of all variants that have received queries.
pub(super) fn task_gauges(router: &LiveRouter) -> Vec<Gauge> {
    let counts = router.counts();
    let of_variants = counts.variants.iter().flat_map(|(name, tally)| {
        let labels = vec![
            ("task", name.task.clone()),
            ("variant", name.entry.clone()),
            ("batch", name.batch.to_string()),
        ];
        figures(tally).map(move |figure| gauge(figure, "goal", labels.clone()))
    });
    let of_tasks = counts.tasks.iter().flat_map(|(name, tally)| {
        let labels = vec![("task", name.clone())];
        refused(*tally).map(move |figure| gauge(figure, "reason", labels.clone()))
    });
    let of_goals = counts.goals.iter().flat_map(|tally| {
        let mut labels = vec![("task", tally.name.task.clone())];
        labels.extend(goal_labels(&tally.name));
        outcomes(tally).map(move |figure| gauge(figure, "outcome", labels.clone()))
    });
    let all = of_variants.chain(of_tasks).chain(of_goals);
    let mut gauges: Vec<Gauge> = all.chain(costs(router)).collect();
    // The text format requires metrics of the same name to be adjacent.
    gauges.sort_by_key(|gauge| gauge.name);
    gauges
}

/// Returns the cost of the devices so far, and of a million samples in the last minute.
fn costs(router: &LiveRouter) -> Vec<Gauge> {
    const PAID: (&str, &str) = (
        "divisi_task_paid_cost_total",
        "Price of the devices for the time held, at any load",
    );
    const MILLION: (&str, &str) = (
        "divisi_task_cost_per_million",
        "Cost of a million samples in the last minute: as paid for the devices, and at saturation",
    );
    let paid = router.paid().into_iter().map(|(device, paid)| {
        let labels = vec![("device", device)];
        gauge((PAID.0, PAID.1, None, paid), "at", labels)
    });
    let current = router.router();
    let tasks = current.tasks().names();
    let costs = tasks.filter_map(|(_, name)| Some((name, router.cost(name)?)));
    let costs = costs.flat_map(|(name, cost)| {
        let both = [("load", cost.paid), ("saturation", cost.saturated)];
        both.map(|(at, value)| Gauge {
            counts: false,
            ..gauge(
                (MILLION.0, MILLION.1, Some(at), value),
                "at",
                vec![("task", name.to_owned())],
            )
        })
    });
    paid.chain(costs).collect()
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
        "Registered cost of the samples that a variant answered: that of saturated devices",
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
fn goal_labels(name: &GoalsName) -> impl Iterator<Item = (&'static str, String)> + use<> {
    let (goals, named) = match &name.goals {
        AskedGoals::Stated(goals) => (*goals, None),
        AskedGoals::Whole => (QueryGoals::default(), Some(WHOLE)),
        AskedGoals::Other => (QueryGoals::default(), Some("other")),
    };
    let accuracy = goals
        .accuracy
        .map(|goal| as_asked(100.0 * goal.get()).to_string());
    let millis = goals.latency.map(|goal| 1e3 * goal.get().as_secs_f64());
    let latency = millis.map(|millis| as_asked(millis).to_string());
    let max_cost = goals.max_cost.map(|goal| COST_QUERIES * goal.get());
    let cost = max_cost.map(|cost| as_asked(cost).to_string());
    let prefer = goals.prefer == ChoicePreference::MostAccurate;
    let labels = [
        ("goals", named.map(str::to_owned)),
        ("accuracy", accuracy),
        ("latency_ms", latency),
        ("max_cost", cost),
        ("model", name.ensemble.clone()),
        ("prefer", prefer.then(|| "accuracy".to_owned())),
    ];
    labels
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
}

fn outcomes(tally: &GoalsTally) -> impl Iterator<Item = VariantFigure> + use<> {
    const OVER: (&str, &str) = (
        "divisi_task_asked_total",
        "Queries by requested goals, rare goals together; queries refused for lack of time count as missed",
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
