//! How far our figures lie from the published ones: the best, the median and the worst.

use std::fmt::Write;

use super::published::Basis;

/// Every cell that was compared.
#[derive(Default)]
pub struct Deviations {
    cells: Vec<Cell>,
}

struct Cell {
    name: String,
    ours: Option<f64>,
    paper: Option<f64>,
    basis: Basis,
}

impl Cell {
    /// Ours over the paper's; none where memory ran out on either side.
    fn ratio(&self) -> Option<f64> {
        Some(self.ours? / self.paper?)
    }

    fn agrees_on_memory(&self) -> bool {
        self.ours.is_some() == self.paper.is_some()
    }
}

impl Deviations {
    /// Takes a cell in.
    pub fn note(&mut self, name: String, ours: Option<f64>, paper: Option<f64>, basis: Basis) {
        let cell = Cell {
            name,
            ours,
            paper,
            basis,
        };
        self.cells.push(cell);
    }

    /// The best, the median and the worst cell of each basis and column.
    pub fn summary(&self) -> String {
        let mut text = String::from(
            "## Table I in short\n\n\
             | cells | | best | median | worst | memory runs out as in the paper |\n\
             |---|---|---|---|---|---|\n",
        );
        for basis in [Basis::Fitted, Basis::Seen, Basis::Judged, Basis::MadeUp] {
            for column in ["A1", "A2"] {
                let of = |c: &&Cell| c.basis == basis && c.name.ends_with(column);
                let cells: Vec<&Cell> = self.cells.iter().filter(of).collect();
                let _ = writeln!(text, "| {column} | {basis} | {} |", in_short(&cells));
            }
        }
        text
    }
}

fn in_short(cells: &[&Cell]) -> String {
    let mut known: Vec<(&Cell, f64)> = cells
        .iter()
        .filter_map(|c| Some((*c, c.ratio()?)))
        .collect();
    let distance = |ratio: f64| ratio.ln().abs();
    known.sort_by(|a, b| distance(a.1).total_cmp(&distance(b.1)));
    let told = |place: usize| known.get(place).map_or_else(|| "–".into(), |k| told(k.0));
    let last = known.len().saturating_sub(1);
    let agree = cells.iter().filter(|c| c.agrees_on_memory()).count();
    format!(
        "{} | {} | {} | {agree} of {}",
        told(0),
        told(known.len() / 2),
        told(last),
        cells.len()
    )
}

fn told(cell: &Cell) -> String {
    let (ours, paper) = (cell.ours.unwrap_or(0.0), cell.paper.unwrap_or(0.0));
    let place = cell.name.split(',').next().unwrap_or_default();
    format!(
        "{place}: {ours:.0} for {paper:.0} ({:+.0} %)",
        100.0 * (ours / paper - 1.0)
    )
}
