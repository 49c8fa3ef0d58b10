//! The order of the engine's locks.
//!
//! A thread takes locks only in ascending rank. Debug builds check this
//! ([`Ranked`](divisi_runtime::lock::Ranked)). The locks of changes and of sessions are part of the
//! same order. A [`Leaf`] comes last: no lock is taken while it is held.

use divisi_runtime::lock::LockRank;

pub(crate) use divisi_runtime::lock::{Leaf, SharedLeaf};

macro_rules! ranks {
    ($($order:literal $rank:ident $name:literal)*) => {
        $(
            #[doc = concat!("The rank of ", $name, ".")]
            #[derive(Debug)]
            pub(crate) enum $rank {}

            impl LockRank for $rank {
                const ORDER: u8 = $order;
                const NAME: &'static str = $name;
            }
        )*
    };
}

ranks! {
    // 3 belongs to the door: `src/server/door.rs`.
    4 TurnRank "the turn of a change that its caller waits for"
    5 DeploymentRank "a change of the served models"
    // 10 belongs to the built-in load: `src/session/live/load.rs`.
    20 ApplyingRank "a change of the running setup"
    25 RequestsRank "the requested change of the models"
    30 MachineRank "the machine of changes"
    40 ReservationRank "the lent memory"
    50 GpuDrivingRank "the start of batches on a GPU"
    55 GpuWorkersRank "the workers on a GPU"
    56 GpuLanesRank "the lanes of a worker on a GPU"
    57 GpuCopierRank "the copier of a GPU"
    60 GpuMakingRank "the creation of lanes on a GPU"
    62 NetworksRank "the lowered networks"
    70 CpuWorkerRank "a worker on a CPU partition"
    80 CoreRank "the core"
    85 GpuSamplesRank "the samples in a GPU's memory"
    91 LatencyRank "the latencies"
    92 LatencyTallyRank "the latencies by time"
    93 AnsweredRank "the rates of answers"
    94 CheckpointsRank "the kept readings"
    97 EvaluationRank "the evaluation of members"
    98 SampleRowsRank "the members' answers to a request"
}
