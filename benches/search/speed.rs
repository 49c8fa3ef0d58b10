//! Matrices scored a second by the model, on one thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use divisi_engine::search::local::{EntryEdit, MemoryBudget, Position};
use divisi_engine::search::model::{Batching, Rates};
use divisi_model::allocation::{Cell, Footprints, Frame, Matrix};
use divisi_model::profile::Costs;
use divisi_runtime::device::Devices;
use divisi_runtime::device::simulated::{DeviceClass, DeviceProfile, find_profile};
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::common::Bed;

const TIME: Duration = Duration::from_secs(1);
/// Neighbours scored before moving to one of them.
const BETWEEN: usize = 100;

pub fn run() -> Result<()> {
    let ensemble = Bed::open("sample_ensembles/imn12", &["cpu:0"])?.ensemble;
    for class in [DeviceClass::Cpu, DeviceClass::Gpu] {
        let devices = seventeen(class)?;
        let footprints = Footprints::plan(&ensemble, &devices);
        let frame = Frame::from_ensemble(&ensemble, &devices);
        let costs = Costs::of_laws(&ensemble, &devices);
        let rates = Rates::new(&frame, &devices, &costs, Batching::from_ensemble(&ensemble));
        let room = MemoryBudget::new(&frame, &devices, &footprints);
        let how = match class {
            DeviceClass::Cpu => "the linear program",
            DeviceClass::Gpu => "shared devices",
        };
        for (what, entries) in [("12 members, 60 entries", 60), ("12 × 17, all 204", 204)] {
            let matrix = filled(&frame, entries)?;
            let mut position = Position::new(&rates, room.clone(), &matrix);
            let speed = walk(&mut position, entries);
            println!("{what}, {how}: {speed:.0} matrices/s");
        }
    }
    Ok(())
}

/// Devices with room for anything; they run a batch at a time, or workers side by side.
fn seventeen(class: DeviceClass) -> Result<Devices> {
    let profile = find_profile("v100").map_err(|e| anyhow!(e))?;
    let roomy = DeviceProfile {
        memory_bytes: 1 << 42,
        class,
        ..DeviceProfile::clone(&profile)
    };
    Ok(Devices::simulated(&Arc::new(roomy), 17))
}

/// Entries at random places, a worker for every member among them.
fn filled(frame: &Arc<Frame>, entries: usize) -> Result<Matrix> {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let (devices, members) = (frame.devices.len(), frame.members.len());
    let sizes: Vec<_> = frame.batch_sizes.iter().collect();
    let mut places: Vec<usize> = (members..devices * members).collect();
    places.shuffle(&mut random);
    let mut all = vec![None; devices * members];
    for place in (0..members).chain(places).take(entries) {
        all[place] = sizes.choose(&mut random).copied();
    }
    Ok(Matrix::new(Arc::clone(frame), all)?)
}

/// Random neighbours of one entry, each checked against memory and solved; now and
/// then a step to one that keeps the number of entries.
fn walk(position: &mut Position<'_>, most: usize) -> f64 {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let cells: Vec<Cell> = position.cells().collect();
    let sizes = position.rates().sizes().len();
    let (mut scored, start) = (0, Instant::now());
    while start.elapsed() < TIME {
        let cell = *cells.choose(&mut random).expect("cells");
        let to = Some(random.random_range(0..=sizes)).filter(|&s| s < sizes);
        let edit = [EntryEdit { cell, to }];
        if position.get(cell) == to || !position.allows(&edit) {
            continue;
        }
        std::hint::black_box(position.score_with(&edit));
        scored += 1;
        let entries = position.entries().iter().flatten().count();
        let stays = to.is_some() && (position.get(cell).is_some() || entries < most);
        if scored % BETWEEN == 0 && stays {
            position.go(&edit);
        }
    }
    scored as f64 / start.elapsed().as_secs_f64()
}
