//! GoogLeNet with batch norms and without its auxiliary heads (Szegedy et al., "Going deeper with
//! convolutions", table 1 and figure 2(b)), with torchvision's names. As in torchvision, 3×3
//! convolutions replace the 5×5 ones. A manifest with torchvision's trained weights sets
//! `transform_input`, as for Inception v3.

use super::inception::{chain, fork, plain, same, strided};
use super::plain::classify;
use super::row::{PublishedRow, row};
use crate::network::{Graph, GraphBuilder, GraphError, NodeId, Op, Pool};

/// GoogLeNet.
pub(super) const NETWORKS: [PublishedRow; 1] = [row("googlenet", 224, googlenet)];

/// A module's name and its channels: of the 1×1 branch, inside and at the end of both 3×3 ones,
/// and of the pooled one.
type ModuleRow = (&'static str, usize, [usize; 2], [usize; 2], usize);

/// The modules of table 1, with the windows of the pools before them.
const STAGES: [(usize, &[ModuleRow]); 3] = [
    (
        3,
        &[
            ("inception3a", 64, [96, 128], [16, 32], 32),
            ("inception3b", 128, [128, 192], [32, 96], 64),
        ],
    ),
    (
        3,
        &[
            ("inception4a", 192, [96, 208], [16, 48], 64),
            ("inception4b", 160, [112, 224], [24, 64], 64),
            ("inception4c", 128, [128, 256], [24, 64], 64),
            ("inception4d", 112, [144, 288], [32, 64], 64),
            ("inception4e", 256, [160, 320], [32, 128], 128),
        ],
    ),
    (
        2,
        &[
            ("inception5a", 256, [160, 320], [32, 128], 128),
            ("inception5b", 384, [192, 384], [48, 128], 128),
        ],
    ),
];

fn googlenet(mut b: GraphBuilder, classes: usize) -> Result<Graph, GraphError> {
    let x = chain(&mut b, "", &[("conv1", strided(64, 7))], NodeId::INPUT)?;
    let x = pool(&mut b, "maxpool1", 3, x)?;
    let stem = [("conv2", same(64, 1)), ("conv3", same(192, 3))];
    let mut x = chain(&mut b, "", &stem, x)?;
    for (at, (window, modules)) in STAGES.into_iter().enumerate() {
        x = pool(&mut b, &format!("maxpool{}", at + 2), window, x)?;
        for row in modules {
            x = module(&mut b, row, x)?;
        }
    }
    classify(b, "fc", x, classes)
}

fn pool(b: &mut GraphBuilder, name: &str, window: usize, x: NodeId) -> Result<NodeId, GraphError> {
    let pool = Pool::new(window, 2).covering(b.shape(x));
    b.add(name, Op::MaxPool(pool), &[x])
}

fn module(b: &mut GraphBuilder, row: &ModuleRow, x: NodeId) -> Result<NodeId, GraphError> {
    let (name, single, [in_short, short], [in_long, long], pooled) = *row;
    let pool = Op::MaxPool(Pool::new(3, 1).padded(1));
    let branches: [&[_]; 4] = [
        &[("branch1", same(single, 1))],
        &[
            ("branch2.0", same(in_short, 1)),
            ("branch2.1", same(short, 3)),
        ],
        &[
            ("branch3.0", same(in_long, 1)),
            ("branch3.1", same(long, 3)),
        ],
        &[("branch4.0", plain(pool)), ("branch4.1", same(pooled, 1))],
    ];
    fork(b, name, &branches, x)
}
