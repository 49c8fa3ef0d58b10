//! Figure 5: 22 architectures under a day's load, 113 420 queries from 10 to 1 000 a second.

use std::time::Duration;

use divisi_modelless::demands::QueryStream;
use divisi_modelless::fleet::{FleetJob, FleetRecord, FleetScenario, QueryArrival, WorkerKind};
use divisi_modelless::placement::{DeviceSlot, HostedInstances};
use divisi_modelless::policies::PolicyChoice;
use divisi_modelless::variants::{DeviceKindIndex, VariantCatalog, VariantIndex};

use super::architectures::ARCHITECTURES;
use super::beds::{CPU, GPU, INFERENTIA, catalog, empty, seconds, stream, task, worker};
use super::seeds::{Spread, answered_by, each};
use crate::arrivals::{RateShape, poisson, zipf_shares};
use crate::baselines::ComparedPolicy;

const STATIC: ComparedPolicy = ComparedPolicy::Choice(PolicyChoice::Static);
const INFAAS: ComparedPolicy = ComparedPolicy::Choice(PolicyChoice::Infaas);
const DIVISI: ComparedPolicy = ComparedPolicy::Choice(PolicyChoice::Divisi);

const QUERIES: f64 = 113_420.0;
const POPULAR: usize = 4;
/// Ten times what a query costs where the baselines' machines run all the time.
const WORTH: f64 = 0.0002;

/// Prints throughput, missed goals and cost of each policy, over those of `infaas`, next to the
/// paper's.
pub fn print() {
    println!(
        "Each query has the accuracy of its requested architecture: no policy changes it here.\n"
    );
    let policies = ComparedPolicy::ALL.map(|policy| (policy, false));
    let rows = policies.into_iter().chain([(INFAAS, true), (DIVISI, true)]);
    let runs: Vec<(ComparedPolicy, bool, Vec<DayRun>)> = rows
        .map(|(policy, offline)| (policy, offline, day_runs(WORTH, policy, offline)))
        .collect();
    let infaas = runs.iter().find(|(policy, ..)| *policy == INFAAS);
    let infaas = infaas.map(|(.., runs)| runs).expect("one of them");
    println!(
        "| policy | answered/s | `infaas` over it | paper | missed % | over `infaas` | paper | of popular % | of others % | machines $ | over `infaas` | paper | instances $ | utilisation % | offline rows |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for (policy, offline, runs) in &runs {
        row((*policy, *offline), runs, infaas);
    }
    by_worth(infaas);
}

/// The paper's throughput of INFaaS over a policy's, missed goals and machines of a policy over
/// INFaaS's.
fn published(policy: ComparedPolicy) -> [&'static str; 3] {
    match policy {
        STATIC => ["1.1", "1.63", "1.23"],
        ComparedPolicy::Individual => ["1.3", "2.54", "1.23"],
        INFAAS => ["1", "1 (below 4 %)", "1"],
        _ => ["–"; 3],
    }
}

/// Prints the results of `divisi` over those of `infaas` if queries are worth more or less.
fn by_worth(infaas: &[DayRun]) {
    println!(
        "\n| worth of a query $ | missed % | over `infaas` | machines over `infaas` | instances over `infaas` |"
    );
    println!("|---|---|---|---|---|");
    for worth in [0.01, 0.001, 0.0005, WORTH, 0.00015, 0.0001] {
        let runs = day_runs(worth, DIVISI, false);
        println!(
            "| {worth} | {:.2} | {:.2} | {:.2} | {:.2} |",
            Spread::over(&runs, |run| 100.0 * run.missed),
            Spread::ratio(&runs, infaas, |run| run.missed),
            Spread::ratio(&runs, infaas, |run| run.machines),
            Spread::ratio(&runs, infaas, |run| run.instances),
        );
    }
}

/// The numbers of a simulated day.
struct DayRun {
    answered: f64,
    missed: f64,
    of_popular: f64,
    of_others: f64,
    machines: f64,
    instances: f64,
    utilisation: f64,
    offline_rows: f64,
}

fn day_runs(worth: f64, policy: ComparedPolicy, offline: bool) -> Vec<DayRun> {
    each(|seed| {
        let load = DayLoad::new(worth, seed);
        let report = policy.simulate(&load.scenario(policy, offline));
        let busy = report.ticks.iter().map(|t| t.utilisation).sum::<f64>();
        DayRun {
            answered: answered_by(&report, load.end) as f64 / load.end.as_secs_f64(),
            missed: report.missed(),
            of_popular: missed_of(&report, |stream| usize::from(stream) < POPULAR),
            of_others: missed_of(&report, |stream| usize::from(stream) >= POPULAR),
            machines: report.worker_cost,
            instances: report.instance_cost,
            utilisation: busy / report.ticks.len() as f64,
            offline_rows: report.offline_rows as f64,
        }
    })
}

fn row((policy, offline): (ComparedPolicy, bool), runs: &[DayRun], infaas: &[DayRun]) {
    let [throughput, missed, machines] = published(policy);
    let over = |number: fn(&DayRun) -> f64| Spread::over(runs, number);
    println!(
        "| {}{} | {:.1} | {:.2} | {throughput} | {:.2} | {:.2} | {missed} | {:.2} | {:.2} | {:.3} | {:.2} | {machines} | {:.3} | {:.0} | {:.0} |",
        policy.name(),
        if offline { ", with jobs" } else { "" },
        over(|run| run.answered),
        Spread::ratio(infaas, runs, |run| run.answered),
        over(|run| 100.0 * run.missed),
        Spread::ratio(runs, infaas, |run| run.missed),
        over(|run| 100.0 * run.of_popular),
        over(|run| 100.0 * run.of_others),
        over(|run| run.machines),
        Spread::ratio(runs, infaas, |run| run.machines),
        over(|run| run.instances),
        over(|run| 100.0 * run.utilisation),
        over(|run| run.offline_rows),
    );
}

/// The part of some streams' queries that missed a goal.
fn missed_of(report: &FleetRecord, of: impl Fn(u16) -> bool) -> f64 {
    let queries = report.queries.iter().filter(|q| of(q.stream));
    let (all, missed) = queries.fold((0, 0), |(all, missed), q| {
        (all + 1, missed + u32::from(!q.met))
    });
    f64::from(missed) / f64::from(all)
}

/// The same queries for every policy.
struct DayLoad {
    catalog: VariantCatalog,
    streams: Vec<QueryStream>,
    shares: Vec<f64>,
    arrivals: Vec<QueryArrival>,
    end: Duration,
}

impl DayLoad {
    /// `worth` is the money that an answer within its goals is worth.
    fn new(worth: f64, seed: u64) -> Self {
        let tasks = ARCHITECTURES.iter().map(|a| task(a.0, &a.variants()));
        // 80 % for the four popular ones, by Zipf's law among them and among the others.
        let popular = zipf_shares(POPULAR, 1.0).into_iter().map(|s| 0.8 * s);
        let others = zipf_shares(ARCHITECTURES.len() - POPULAR, 1.0);
        let shares: Vec<f64> = popular.chain(others.into_iter().map(|s| 0.2 * s)).collect();
        let goal = |at: usize| match at < POPULAR {
            true => 50.0,
            false => 1.5 * ARCHITECTURES[at].cpu_millis(),
        };
        let streams = (0..ARCHITECTURES.len()).map(|at| stream(at, goal(at), worth));
        let day = RateShape::day(10.0, 1000.0, seconds(400.0), 10 + seed).expect("a shape");
        let factor = QUERIES / day.expected();
        DayLoad {
            catalog: catalog(tasks.collect()),
            streams: streams.collect(),
            arrivals: poisson(&day.stretched(factor), &shares, seed),
            shares,
            end: seconds(400.0 * factor),
        }
    }

    fn scenario(&self, policy: ComparedPolicy, offline: bool) -> FleetScenario {
        let fixed = matches!(policy, STATIC | ComparedPolicy::Individual);
        let workers = machines(fixed);
        let mut scenario = empty(self.catalog.clone(), self.end);
        scenario.initial = self.initial(&workers, policy);
        scenario.workers = workers;
        scenario.streams = self.streams.clone();
        scenario.arrivals = self.arrivals.clone();
        if offline {
            let variant = self.place(1, CPU, 1);
            let job = FleetJob {
                variant,
                rows: 500,
                at: seconds(0.0),
            };
            scenario.jobs = vec![job; 4];
        }
        scenario
    }

    fn place(&self, task: usize, device: u16, batch: u32) -> VariantIndex {
        let wanted = ARCHITECTURES[task].variant(device, batch).variant();
        let at = self.catalog.variants().iter().position(|v| *v == wanted);
        VariantIndex(at.expect("one of them") as u32)
    }

    /// GPU variants of batch 8 for the popular ones, CPU variants for the others. `static` shares
    /// its 28 quarters of GPUs and 24 halves of CPUs by the work that each has.
    fn initial(
        &self,
        workers: &[WorkerKind],
        policy: ComparedPolicy,
    ) -> Vec<(VariantIndex, DeviceSlot)> {
        let devices = workers
            .iter()
            .flat_map(|w| (0..w.initial).flat_map(|_| w.devices.clone()));
        let devices: Vec<DeviceKindIndex> = devices.collect();
        let mut hosted = HostedInstances::new(&self.catalog, &devices);
        let mut placed = Vec::new();
        let mut put = |variant: VariantIndex, count: usize| {
            for _ in 0..count {
                let Some(device) = hosted.best_fit(&self.catalog, variant) else {
                    return;
                };
                hosted.add(&self.catalog, variant, device).expect("it fits");
                placed.push((variant, device));
            }
        };
        let chosen = |task: usize| match task < POPULAR {
            true => self.place(task, GPU, 8),
            false => self.place(task, CPU, 1),
        };
        let tasks = 0..ARCHITECTURES.len();
        tasks.clone().for_each(|task| put(chosen(task), 1));
        if policy == STATIC {
            let work = |task: usize| {
                self.shares[task] / self.catalog.variant(chosen(task)).saturation().get()
            };
            for (group, parts) in [(0..POPULAR, 24.0), (POPULAR..tasks.end, 6.0)] {
                let all: f64 = group.clone().map(work).sum();
                group.for_each(|task| {
                    put(chosen(task), (parts * work(task) / all).round() as usize)
                });
            }
        }
        placed
    }
}

/// The machines at AWS's prices: 5 with a CPU and 7 with a GPU, or 5, 5 and 2 with an accelerator,
/// of which the paper's run started a third.
fn machines(fixed: bool) -> Vec<WorkerKind> {
    let gpus = if fixed { 7 } else { 5 };
    let mut kinds = vec![
        worker(&[CPU], 0.384, 5, 5),
        worker(&[GPU, CPU], 3.06, gpus, gpus),
    ];
    if !fixed {
        kinds.push(worker(&[INFERENTIA, CPU], 0.584, 2, 3));
    }
    kinds
}
