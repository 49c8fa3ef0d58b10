//! The slow loop: seconds of a decision for 50 architectures of 6 variants on 20 devices.

use std::time::{Duration, Instant};

use divisi_modelless::placement::HostedInstances;
use divisi_modelless::policies::{
    ChangeRules, PlanObjective, Situation, TaskDemand, WatchedVariant,
};
use divisi_modelless::quantities::QueryRate;
use divisi_modelless::variants::{DeviceKindIndex, TaskVariants};

use crate::arrivals::zipf_shares;
use crate::baselines::ComparedPolicy;
use crate::papers::{ARCHITECTURES, CPU, GPU, INFERENTIA, catalog, stream, task};

const TASKS: usize = 50;

/// Prints the time of the first decision, and of those that follow a load that changes.
pub fn print() {
    let kinds = [
        (CPU, 1),
        (CPU, 4),
        (GPU, 1),
        (GPU, 8),
        (INFERENTIA, 1),
        (INFERENTIA, 4),
    ];
    let tasks = (0..TASKS).map(|at| {
        let variants = kinds.map(|(device, batch)| ARCHITECTURES[at % 22].variant(device, batch));
        TaskVariants {
            name: format!("task {at}"),
            ..task("task", &variants)
        }
    });
    let catalog = catalog(tasks.collect());
    let devices = [CPU, GPU, INFERENTIA]
        .into_iter()
        .cycle()
        .take(20)
        .map(DeviceKindIndex);
    let devices: Vec<DeviceKindIndex> = devices.collect();
    println!("| policy | first decision ms | following, mean ms | most ms |");
    println!("|---|---|---|---|");
    for choice in ComparedPolicy::ALL {
        let mut policy = choice.policy(PlanObjective::default());
        let mut hosted = HostedInstances::new(&catalog, &devices);
        let watched = vec![WatchedVariant::UNSEEN; catalog.variants().len()];
        let mut times = Vec::new();
        for second in 0..20_u32 {
            let demands = demands(500.0 + 400.0 * f64::from(second % 7) / 7.0);
            let start = Instant::now();
            let decision = policy.decide(&Situation {
                now: Duration::from_secs(second.into()),
                rules: ChangeRules::default(),
                catalog: &catalog,
                hosted: &hosted,
                demands: &demands,
                watched: &watched,
                instances: &[],
                slowdowns: &[],
            });
            times.push(start.elapsed().as_secs_f64() * 1e3);
            hosted
                .apply(&catalog, &decision.changes)
                .expect("changes that fit");
        }
        let following = &times[1..];
        println!(
            "| {} | {:.1} | {:.1} | {:.1} |",
            choice.name(),
            times[0],
            following.iter().sum::<f64>() / following.len() as f64,
            following.iter().copied().fold(0.0, f64::max),
        );
    }
}

fn demands(rate: f64) -> Vec<TaskDemand> {
    let shares = zipf_shares(TASKS, 1.0).into_iter().enumerate();
    let each = shares.map(|(at, share)| {
        let stream = stream(at, 1.5 * ARCHITECTURES[at % 22].cpu_millis(), 0.01);
        TaskDemand {
            task: stream.task,
            goals: stream.goals,
            rate: QueryRate::new(rate * share).expect("a rate"),
            usual: QueryRate::ZERO,
            missed: 0.0,
            worth: stream.worth,
        }
    });
    each.collect()
}
