//! Setups drawn at random.

use std::num::NonZeroU32;
use std::time::Duration;

use divisi_engine::serving::{Beside, CoreConfig, Discipline};
use divisi_model::ensemble::{BatchSize, PolicyKind, Wait};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Some milliseconds.
pub fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// True so many times in a thousand.
pub fn chance(random: &mut ChaCha8Rng, in_thousand: u32) -> bool {
    random.random_range(0..1000) < in_thousand
}

/// Devices, members and a pool.
pub fn config(random: &mut ChaCha8Rng) -> CoreConfig {
    let devices = random.random_range(1..=5);
    let members = random.random_range(1..=4);
    let planes: Vec<usize> = (0..members).map(|_| random.random_range(0..2)).collect();
    CoreConfig::ensemble(
        (0..devices).map(|_| discipline(random)).collect(),
        &planes,
        random.random_range(2..=12),
        [4, 16, 32][random.random_range(0..3)],
        policy(random),
    )
}

fn discipline(random: &mut ChaCha8Rng) -> Discipline {
    match random.random_range(0..4) {
        0 | 1 => Discipline::OneAtATime,
        2 => Discipline::SideBySide(Beside::Any),
        _ => Discipline::SideBySide(Beside::Half),
    }
}

/// Any policy.
pub fn policy(random: &mut ChaCha8Rng) -> PolicyKind {
    let wait = Wait::nearest(ms(random.random_range(0..12)));
    match random.random_range(0..7) {
        0 => PolicyKind::NoWait,
        1 => PolicyKind::OptWait { wait },
        2 => PolicyKind::Static { wait },
        3 => PolicyKind::Segment { wait },
        4 => PolicyKind::PipelinedOptWait { wait },
        5 => PolicyKind::Elastic { max_inf: None },
        _ => PolicyKind::Elastic {
            max_inf: max_inf(random),
        },
    }
}

/// Any bound on what is alive.
pub fn max_inf(random: &mut ChaCha8Rng) -> Option<NonZeroU32> {
    NonZeroU32::new(random.random_range(1..24))
}

/// Any batch size.
pub fn size(random: &mut ChaCha8Rng) -> BatchSize {
    BatchSize::new(1 << random.random_range(0..5)).expect("above 0")
}
