//! How often the weights are in the GPU's memory, by what its driver counts.

use anyhow::Result;
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::device::MemberIndex;
use serde_json::json;

use crate::bed::{BUILTIN, Bed, networks};
use crate::lane::Lane;

const LANES: usize = 6;

pub fn run() -> Result<()> {
    let all = Bed::open(BUILTIN, Precision::Bf16)?;
    for network in networks(&["vgg19", "resnet152"]) {
        let bed = all.only(&network)?;
        // What the driver and its libraries take at first use is not the weights'.
        drop(Lane::new(&bed, MemberIndex::new(0), 1)?);
        let before = bed.settled_bytes()?;
        let program = bed.program(MemberIndex::new(0))?;
        let mut used = vec![bed.settled_bytes()?];
        let mut lanes = Vec::new();
        for _ in 0..LANES {
            let mut lane = Lane::new(&bed, MemberIndex::new(0), 1)?;
            lane.launch()?.wait()?;
            lanes.push(lane);
            used.push(bed.settled_bytes()?);
        }
        let weights = program.weight_bytes();
        drop((lanes, program));
        let line = json!({
            "network": network,
            "weights": weights,
            "program": used[0].saturating_sub(before),
            "lanes": used.windows(2).map(|u| u[1].saturating_sub(u[0])).collect::<Vec<u64>>(),
            "left": bed.settled_bytes()?.saturating_sub(before),
        });
        println!("{line}");
    }
    Ok(())
}
