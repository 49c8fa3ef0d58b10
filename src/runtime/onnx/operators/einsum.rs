//! `Einsum` of one or two inputs: reductions, transpositions and one product of matrices.

use super::inputs::{Added, Inputs, unsupported};
use crate::network::Reduction;
use crate::onnx::activation::Activation;
use crate::onnx::error::NodeFault;
use crate::onnx::node::Node;
use crate::onnx::partial::{PartialNetwork, Refusal};

/// An input with a letter for each axis.
struct Term {
    x: Activation,
    letters: Vec<char>,
}

pub(super) fn einsum<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let equation = node.text("equation").unwrap_or_default();
    let equation = String::from_utf8_lossy(equation).replace(' ', "");
    let (read, written) = match equation.split_once("->") {
        Some((read, written)) => (read, Some(written)),
        None => (equation.as_str(), None),
    };
    let mut terms = Vec::new();
    for (n, letters) in read.split(',').enumerate() {
        let x = network.input(node, inputs, n)?;
        let letters = axis_letters(letters, x.dims().len())?;
        terms.push(Term { x, letters });
    }
    let answer = match written {
        Some(written) => {
            let dots = terms
                .iter()
                .flat_map(|t| &t.letters)
                .filter(|c| c.is_ascii_digit());
            let dots = dots.collect::<std::collections::BTreeSet<_>>().len();
            let width = written.replace("...", "").chars().count();
            axis_letters(written, width + dots)?
        }
        None => implied(&terms),
    };
    for term in &terms {
        let repeated = |(n, c): (usize, &char)| term.letters[..n].contains(c);
        if term.letters.iter().enumerate().any(repeated) {
            return unsupported(format!("the equation {equation}: a diagonal"));
        }
    }
    let made = match <[Term; 2]>::try_from(terms) {
        Ok([a, b]) => paired(network, node, a, b, &answer)?,
        Err(terms) => match <[Term; 1]>::try_from(terms) {
            Ok([one]) => summed(network, node, one, &answer)?,
            Err(_) => return unsupported(format!("the equation {equation}: more than two inputs")),
        },
    };
    ordered(&made, &answer)
}

/// Returns a letter for each of `rank` axes. The axes of an ellipsis get digits, counted from the
/// last one.
fn axis_letters(letters: &str, rank: usize) -> Result<Vec<char>, NodeFault> {
    let wrong = || NodeFault::Shapes(format!("`{letters}` does not fit {rank} axes"));
    let all: Vec<char> = match letters.split_once("...") {
        None => letters.chars().collect(),
        Some((before, behind)) => {
            let named = before.chars().count() + behind.chars().count();
            let dots = rank
                .checked_sub(named)
                .filter(|d| *d < 10)
                .ok_or_else(wrong)?;
            let dots = (0..dots as u32)
                .rev()
                .filter_map(|d| char::from_digit(d, 10));
            before.chars().chain(dots).chain(behind.chars()).collect()
        }
    };
    match all.len() == rank && all.iter().all(|c| c.is_ascii_alphanumeric()) {
        true => Ok(all),
        false => Err(wrong()),
    }
}

/// Returns the letters of an omitted answer: the ellipsis, then the letters that occur once, in
/// order.
fn implied(terms: &[Term]) -> Vec<char> {
    let all: Vec<char> = terms
        .iter()
        .flat_map(|t| t.letters.iter().copied())
        .collect();
    let count = |c: &char| all.iter().filter(|other| *other == c).count();
    let mut dots: Vec<char> = all.iter().copied().filter(char::is_ascii_digit).collect();
    dots.sort_unstable_by(|a, b| b.cmp(a));
    dots.dedup();
    let single = all.iter().filter(|c| !c.is_ascii_digit() && count(c) == 1);
    let mut single: Vec<char> = single.copied().collect();
    single.sort_unstable();
    dots.into_iter().chain(single).collect()
}

/// Sums over all axes whose letters are not among `kept`.
fn summed<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    term: Term,
    kept: &[char],
) -> Result<Term, Refusal> {
    let Term { x, letters } = term;
    let over = (0..letters.len()).filter(|&a| !kept.contains(&letters[a]));
    let over: Vec<usize> = over.collect();
    if over.is_empty() {
        return Ok(Term { x, letters });
    }
    let x = network.reduce(node, Reduction::Sum, &x, &over)?;
    let left = (0..letters.len()).filter(|a| !over.contains(a));
    let left: Vec<usize> = left.collect();
    let dims: Vec<usize> = left.iter().map(|&a| x.dims()[a]).collect();
    Ok(Term {
        x: network.reshaped(node, &x, &dims)?,
        letters: left.into_iter().map(|a| letters[a]).collect(),
    })
}

/// Returns a value as `[batch…, product of one, product of other]`.
fn matrices<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    term: &Term,
    parts: [&[char]; 3],
) -> Added {
    let wanted: Vec<char> = parts.concat();
    let place = |c: &char| term.letters.iter().position(|l| l == c);
    let axes: Vec<usize> = wanted.iter().filter_map(place).collect();
    let size = |c: &char| place(c).map_or(1, |axis| term.x.dims()[axis]);
    let [batch, one, other] = parts;
    let mut dims: Vec<usize> = batch.iter().map(size).collect();
    dims.push(one.iter().map(size).product());
    dims.push(other.iter().map(size).product());
    let x = term.x.transposed(&axes);
    network.reshaped(node, &x, &dims)
}

/// Multiplies. Axes of both operands are a batch if the answer has them, otherwise they are summed.
fn paired<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    a: Term,
    b: Term,
    answer: &[char],
) -> Result<Term, Refusal> {
    let kept = |other: &Term| [answer, &other.letters].concat();
    let (of_a, of_b) = (kept(&b), kept(&a));
    let a = summed(network, node, a, &of_a)?;
    let b = summed(network, node, b, &of_b)?;
    let letters = |of: &Term, in_other: bool, other: &Term, answered: bool| -> Vec<char> {
        let all = of.letters.iter().copied();
        all.filter(|c| other.letters.contains(c) == in_other && answer.contains(c) == answered)
            .collect()
    };
    let batch = letters(&a, true, &b, true);
    let inner = letters(&a, true, &b, false);
    let (rows, columns) = (letters(&a, false, &b, true), letters(&b, false, &a, true));
    let left = matrices(network, node, &a, [&batch, &rows, &inner])?;
    let right = matrices(network, node, &b, [&batch, &inner, &columns])?;
    let made = network.product(node, &left, &right)?;
    let size = |c: &char| {
        let of = |term: &Term| {
            let axis = term.letters.iter().position(|l| l == c);
            axis.map_or(1, |axis| term.x.dims()[axis])
        };
        of(&a).max(of(&b))
    };
    let all: Vec<char> = [batch, rows, columns].concat();
    let dims: Vec<usize> = all.iter().map(size).collect();
    Ok(Term {
        x: network.reshaped(node, &made, &dims)?,
        letters: all,
    })
}

/// Returns a value with its axes in the order of the answer.
fn ordered(made: &Term, answer: &[char]) -> Added {
    let place = |c: &char| made.letters.iter().position(|l| l == c);
    let axes: Option<Vec<usize>> = answer.iter().map(place).collect();
    match axes {
        Some(axes) if axes.len() == made.letters.len() => Ok(made.x.transposed(&axes)),
        _ => unsupported("its equation has answer letters that no input has"),
    }
}
