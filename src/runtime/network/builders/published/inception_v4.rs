//! Inception v4 (Szegedy et al., "Inception-v4, Inception-ResNet and the impact of
//! residual connections", figures 3 to 9); timm's names. Made for 299×299.

use super::super::heads::classify;
use super::inception::{chain, fork, same, shrink, smooth, valid};
use crate::network::{Graph, GraphBuilder, GraphError, NodeId, Op, Pool};

const AVERAGE: Pool = Pool::new(3, 1).inside();

pub(super) fn build(mut b: GraphBuilder, classes: usize) -> Result<Graph, GraphError> {
    let mut x = stem(&mut b)?;
    for i in 6..10 {
        x = block_a(&mut b, &format!("features.{i}"), x)?;
    }
    x = reduce_a(&mut b, "features.10", x)?;
    for i in 11..18 {
        x = block_b(&mut b, &format!("features.{i}"), x)?;
    }
    x = reduce_b(&mut b, "features.18", x)?;
    for i in 19..22 {
        x = block_c(&mut b, &format!("features.{i}"), x)?;
    }
    classify(b, "last_linear", x, classes)
}

/// Figure 3.
fn stem(b: &mut GraphBuilder) -> Result<NodeId, GraphError> {
    let first = [
        ("0", valid(32, 3, 2)),
        ("1", valid(32, 3, 1)),
        ("2", same(64, 3)),
    ];
    let x = chain(b, "features", &first, NodeId::INPUT)?;
    let (pool, conv) = ([("pool", shrink())], [("conv", valid(96, 3, 2))]);
    let x = fork(b, "features.3", &[&pool, &conv], x)?;
    let branches: [&[_]; 2] = [
        &[("branch0.0", same(64, 1)), ("branch0.1", valid(96, 3, 1))],
        &[
            ("branch1.0", same(64, 1)),
            ("branch1.1", same(64, (1, 7))),
            ("branch1.2", same(64, (7, 1))),
            ("branch1.3", valid(96, 3, 1)),
        ],
    ];
    let x = fork(b, "features.4", &branches, x)?;
    let conv = [("conv", valid(192, 3, 2))];
    fork(b, "features.5", &[&conv, &pool], x)
}

/// Figure 4.
fn block_a(b: &mut GraphBuilder, name: &str, x: NodeId) -> Result<NodeId, GraphError> {
    let branches: [&[_]; 4] = [
        &[("branch0", same(96, 1))],
        &[("branch1.0", same(64, 1)), ("branch1.1", same(96, 3))],
        &[
            ("branch2.0", same(64, 1)),
            ("branch2.1", same(96, 3)),
            ("branch2.2", same(96, 3)),
        ],
        &[("branch3.0", smooth(AVERAGE)), ("branch3.1", same(96, 1))],
    ];
    fork(b, name, &branches, x)
}

/// Figure 7 with k, l, m, n = 192, 224, 256, 384: from 35×35 to 17×17.
fn reduce_a(b: &mut GraphBuilder, name: &str, x: NodeId) -> Result<NodeId, GraphError> {
    let branches: [&[_]; 3] = [
        &[("branch0", valid(384, 3, 2))],
        &[
            ("branch1.0", same(192, 1)),
            ("branch1.1", same(224, 3)),
            ("branch1.2", valid(256, 3, 2)),
        ],
        &[("branch2", shrink())],
    ];
    fork(b, name, &branches, x)
}

/// Figure 5.
fn block_b(b: &mut GraphBuilder, name: &str, x: NodeId) -> Result<NodeId, GraphError> {
    let branches: [&[_]; 4] = [
        &[("branch0", same(384, 1))],
        &[
            ("branch1.0", same(192, 1)),
            ("branch1.1", same(224, (1, 7))),
            ("branch1.2", same(256, (7, 1))),
        ],
        &[
            ("branch2.0", same(192, 1)),
            ("branch2.1", same(192, (7, 1))),
            ("branch2.2", same(224, (1, 7))),
            ("branch2.3", same(224, (7, 1))),
            ("branch2.4", same(256, (1, 7))),
        ],
        &[("branch3.0", smooth(AVERAGE)), ("branch3.1", same(128, 1))],
    ];
    fork(b, name, &branches, x)
}

/// Figure 8: from 17×17 to 8×8.
fn reduce_b(b: &mut GraphBuilder, name: &str, x: NodeId) -> Result<NodeId, GraphError> {
    let branches: [&[_]; 3] = [
        &[("branch0.0", same(192, 1)), ("branch0.1", valid(192, 3, 2))],
        &[
            ("branch1.0", same(256, 1)),
            ("branch1.1", same(256, (1, 7))),
            ("branch1.2", same(320, (7, 1))),
            ("branch1.3", valid(320, 3, 2)),
        ],
        &[("branch2", shrink())],
    ];
    fork(b, name, &branches, x)
}

/// Figure 6.
fn block_c(b: &mut GraphBuilder, name: &str, x: NodeId) -> Result<NodeId, GraphError> {
    let single = chain(b, name, &[("branch0", same(256, 1))], x)?;
    let short = chain(b, name, &[("branch1_0", same(384, 1))], x)?;
    let long = [
        ("branch2_0", same(384, 1)),
        ("branch2_1", same(448, (3, 1))),
        ("branch2_2", same(512, (1, 3))),
    ];
    let long = chain(b, name, &long, x)?;
    let mut ends = vec![single];
    for (part, from, kernel) in [
        ("branch1_1a", short, (1, 3)),
        ("branch1_1b", short, (3, 1)),
        ("branch2_3a", long, (1, 3)),
        ("branch2_3b", long, (3, 1)),
    ] {
        ends.push(chain(b, name, &[(part, same(256, kernel))], from)?);
    }
    let pooled = [("branch3.0", smooth(AVERAGE)), ("branch3.1", same(256, 1))];
    ends.push(chain(b, name, &pooled, x)?);
    b.add(format!("{name}.concat"), Op::Concat, &ends)
}
