//! The memory of the paper's machine, by the paper's own estimate.
//!
//! The estimate that algorithm 1 goes by cannot be what bounds its runs: IMN4 on 2 GPUs
//! leaves one network to the CPU (13 samples/s), and one change of a single entry later
//! that network runs on a GPU (101), at the same batch size. So the estimate is modelled
//! apart from the memory of the profiles, by which all runs are bounded here.

use divisi_model::allocation::{Cell, Matrix};
use divisi_model::profile::CellCost;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::stage::Stage;

/// A worker is estimated to take so many times its weights and the activations of a
/// batch, every layer's apart. Fitted to IMN4 alone, the smallest with one decimal that
/// leaves a network to the CPU on 2 GPUs; it then runs out of memory on 1, and not on 3.
pub const ESTIMATE: f64 = 2.6;

/// Algorithm 1 of the paper as it stands there, every member at the smallest batch size:
/// in order of decreasing memory, to the GPU with most of it left, else to the CPU.
/// None where that has no room either. The paper does not name the CPU's memory; it is
/// taken to be as large as a GPU's.
pub fn algorithm_one(stage: &Stage) -> Option<Matrix> {
    let gpus = stage.devices.count() - 1;
    let capacity = stage.devices.memory_bytes(DeviceIndex::new(0)) as f64;
    let mut free = vec![capacity; gpus + 1];
    let mut matrix = vec![vec![0; stage.ensemble.members.len()]; gpus + 1];
    let batch = stage.frame.batch_sizes.smallest().get();
    for (member, bytes) in by_decreasing_memory(stage, batch) {
        let roomiest = (0..gpus)
            .rev()
            .max_by(|a, b| free[*a].total_cmp(&free[*b]))?;
        let device = [roomiest, gpus].into_iter().find(|d| free[*d] >= bytes)?;
        free[device] -= bytes;
        matrix[device][member] = batch as i64;
    }
    Matrix::from_rows(stage.frame.clone(), &matrix).ok()
}

fn by_decreasing_memory(stage: &Stage, batch: usize) -> Vec<(MemberIndex, f64)> {
    let members = MemberIndex::all(stage.ensemble.members.len());
    let sized = members.map(|m| (m, estimate(stage, m, batch)));
    let mut sized: Vec<(MemberIndex, f64)> = sized.collect();
    sized.sort_by(|a, b| b.1.total_cmp(&a.1));
    sized
}

fn estimate(stage: &Stage, member: MemberIndex, batch: usize) -> f64 {
    let CellCost::Law(_, work) = stage.costs.cell(member, DeviceIndex::new(0)) else {
        return f64::INFINITY;
    };
    let activations: f64 = work.iter().map(|op| op.bytes + op.unfused_bytes).sum();
    let weights: f64 = work.iter().map(|op| op.weight_bytes).sum();
    ESTIMATE * (activations * batch as f64 + weights)
}

/// Members that the CPU serves.
pub fn on_cpu(stage: &Stage, matrix: &Matrix) -> Vec<String> {
    let device = DeviceIndex::new(stage.devices.count() - 1);
    let members = MemberIndex::enumerate(&stage.ensemble.members);
    let there = members.filter(|(member, _)| {
        let member = *member;
        matrix.get(Cell { device, member }).is_some()
    });
    there.map(|(_, m)| m.name.clone()).collect()
}
