//! Tables I and III of Pochelu, Petiton and Conche (arXiv 2208.14049), samples/s.

use std::fmt;

/// How a figure of ours depends on the published one that it stands beside.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// A number of a profile was chosen so that this one comes out.
    Fitted,
    /// Of the half that the law was chosen by: in sight, but no number was set to it.
    Seen,
    /// Of the other half: no number was set to it.
    Judged,
    /// The paper does not name the networks; ours are made up after its description.
    MadeUp,
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Basis::Fitted => "fitted",
            Basis::Seen => "seen",
            Basis::Judged => "judged",
            Basis::MadeUp => "made up",
        })
    }
}

/// One line of Table I: devices, A1 and A2; none where memory ran out.
pub type Row = (usize, Option<f64>, Option<f64>);

/// One ensemble of Table I.
pub struct Ensemble {
    pub name: &'static str,
    pub rows: [Row; 9],
}

impl Ensemble {
    /// Returns how our figure for A1 on so many devices depends on the paper's.
    pub fn basis_of_start(&self, gpus: usize) -> Basis {
        match (self.name, gpus) {
            ("imn1", 1) | ("imn4", 1 | 2) => Basis::Fitted,
            _ => self.half(),
        }
    }

    /// The same for A2.
    pub fn basis_of_best(&self, gpus: usize) -> Basis {
        match (self.name, gpus) {
            ("imn1", 1) => Basis::Fitted,
            _ => self.half(),
        }
    }

    fn half(&self) -> Basis {
        match self.name {
            "imn1" | "imn4" => Basis::Seen,
            "imn12" => Basis::Judged,
            _ => Basis::MadeUp,
        }
    }
}

const GPUS: [usize; 9] = [1, 2, 3, 4, 5, 6, 8, 12, 16];

/// Rows from `(A1, A2)`; 0 where memory ran out.
const fn rows(cells: [(f64, f64); 9]) -> [Row; 9] {
    let mut rows = [(0, None, None); 9];
    let mut i = 0;
    while i < 9 {
        let (a1, a2) = cells[i];
        rows[i] = match a1 > 0.0 {
            true => (GPUS[i], Some(a1), Some(a2)),
            false => (GPUS[i], None, None),
        };
        i += 1;
    }
    rows
}

const NONE: (f64, f64) = (0.0, 0.0);

/// Table I. The columns right of IMN4 are our reading of a scrambled text; of CIF36 on
/// 6 GPUs the order of the two figures is inferred.
pub const TABLE_ONE: [Ensemble; 5] = [
    Ensemble {
        name: "imn1",
        rows: rows([
            (106.0, 136.0),
            (106.0, 270.0),
            (106.0, 394.0),
            (106.0, 539.0),
            (106.0, 617.0),
            (106.0, 722.0),
            (106.0, 974.0),
            (106.0, 1436.0),
            (106.0, 1897.0),
        ]),
    },
    Ensemble {
        name: "imn4",
        rows: rows([
            NONE,
            (13.0, 101.0),
            (158.0, 199.0),
            (160.0, 251.0),
            (160.0, 294.0),
            (160.0, 351.0),
            (160.0, 472.0),
            (160.0, 686.0),
            (160.0, 877.0),
        ]),
    },
    Ensemble {
        name: "imn12",
        rows: rows([
            NONE,
            NONE,
            NONE,
            (15.0, 24.0),
            (65.0, 106.0),
            (103.0, 194.0),
            (103.0, 226.0),
            (103.0, 317.0),
            (103.0, 405.0),
        ]),
    },
    Ensemble {
        name: "fos14",
        rows: rows([
            NONE,
            (213.0, 233.0),
            (308.0, 339.0),
            (380.0, 410.0),
            (388.0, 461.0),
            (397.0, 470.0),
            (483.0, 518.0),
            (511.0, 545.0),
            (511.0, 559.0),
        ]),
    },
    Ensemble {
        name: "cif36",
        rows: rows([
            NONE,
            NONE,
            NONE,
            NONE,
            (15.0, 15.0),
            (35.0, 37.0),
            (239.0, 243.0),
            (428.0, 481.0),
            (563.0, 633.0),
        ]),
    },
];

/// Table III: ensemble, GPUs, the best batch size of each member, bounded greedy.
pub const TABLE_THREE: [(&str, usize, f64, f64, Basis); 3] = [
    ("imn1", 1, 136.0, 136.0, Basis::Fitted),
    ("imn4", 4, 211.0, 251.0, Basis::Seen),
    ("imn12", 12, 136.0, 338.0, Basis::Judged),
];
