//! Recurrent layers, one step of the sequence after the other: `RNN`, `GRU` and `LSTM`.

mod steps;

use super::inputs::{Added, Inputs, unsupported};
use crate::network::Activation as Function;
use crate::onnx::activation::{Activation, Value};
use crate::onnx::error::NodeFault;
use crate::onnx::node::Node;
use crate::onnx::partial::{PartialNetwork, Refusal};
use crate::onnx::tensor::{Constant, Values};

/// The most steps of a sequence, in all directions; each step has its own operations.
const MOST_STEPS: usize = 512;

/// A layer with the settings of its node.
struct RecurrentLayer<'n, 'a> {
    network: &'n mut PartialNetwork<'a>,
    node: Node<'a>,
    kind: RecurrentKind,
    hidden: usize,
    clip: Option<f32>,
}

#[derive(Clone, Copy, PartialEq)]
enum RecurrentKind {
    Rnn,
    Gru,
    Lstm,
}

impl RecurrentKind {
    const fn gates(self) -> usize {
        match self {
            RecurrentKind::Rnn => 1,
            RecurrentKind::Gru => 3,
            RecurrentKind::Lstm => 4,
        }
    }
}

/// One direction of a layer.
struct LayerDirection {
    /// `[hidden, gates · hidden]`.
    recurrent: Activation,
    /// The part of the bias that a GRU adds before its reset gate.
    inner_bias: Option<Constant>,
    /// Weights from the cell to the input, output and forget gates of an LSTM.
    peepholes: Option<[Constant; 3]>,
    functions: Vec<Function>,
    backwards: bool,
}

/// The state between steps; `None` represents zeros.
#[derive(Clone, Default)]
struct RecurrentState {
    hidden: Option<Activation>,
    cell: Option<Activation>,
}

/// Answers all states, the last one, and the last cell of an LSTM.
pub(super) fn layer<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Result<Vec<Activation>, Refusal> {
    let kind = match node.operator() {
        Some("LSTM") => RecurrentKind::Lstm,
        Some("GRU") => RecurrentKind::Gru,
        _ => RecurrentKind::Rnn,
    };
    let by_row = node.integer("layout") == Some(1);
    let mut x = network.input(node, inputs, 0)?;
    if by_row && x.dims().len() == 3 {
        x = x.transposed(&[1, 0, 2]);
    }
    let &[steps, batch, _] = x.dims() else {
        return unsupported(format!("its sequences are {:?}", x.dims()));
    };
    let recurrent = inputs.constant(2)?.ok_or(NodeFault::NoInput(2))?;
    let &[directions, _, hidden] = &recurrent.dims[..] else {
        return unsupported("its recurrent weights do not have three dimensions");
    };
    if !matches!(directions, 1 | 2) || hidden == 0 {
        let dims = &recurrent.dims;
        let why = format!("recurrent weights of {dims:?}: expected 1 or 2 directions, and states");
        return Err(NodeFault::Shapes(why).into());
    }
    if steps.saturating_mul(directions) > MOST_STEPS {
        return unsupported(format!("sequences of more than {MOST_STEPS} steps"));
    }
    whole_sequences(inputs, steps)?;
    let clip = node.float("clip");
    let mut layer = RecurrentLayer {
        network,
        node,
        kind,
        hidden,
        clip,
    };
    let (mut states, mut lasts, mut cells) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..directions {
        let start = layer.start(inputs, n, by_row)?;
        let gates = layer.gates_of_inputs(inputs, &x, n)?;
        let direction = layer.direction(inputs, n, directions)?;
        let (all, last) = layer.run(&gates, &direction, start, steps)?;
        states.push(
            layer
                .network
                .reshaped(node, &all, &[steps, 1, batch, hidden])?,
        );
        for (state, to) in [(last.hidden, &mut lasts), (last.cell, &mut cells)] {
            if let Some(state) = state {
                to.push(layer.network.reshaped(node, &state, &[1, batch, hidden])?);
            }
        }
    }
    let mut answers = vec![network.joined_parts(node, states, 1)?];
    for parts in [lasts, cells] {
        if !parts.is_empty() {
            answers.push(network.joined_parts(node, parts, 0)?);
        }
    }
    if by_row {
        let orders: [&[usize]; 3] = [&[2, 0, 1, 3], &[1, 0, 2], &[1, 0, 2]];
        let turned = answers
            .iter()
            .zip(orders)
            .map(|(x, order)| x.transposed(order));
        answers = turned.collect();
    }
    Ok(answers)
}

/// Checks that all sequences are of the full length.
fn whole_sequences(inputs: &Inputs<'_>, steps: usize) -> Result<(), Refusal> {
    if !inputs.has(4) {
        return Ok(());
    }
    let lengths = inputs.integers(4)?.unwrap_or_default();
    match lengths.iter().all(|length| *length == steps as i64) {
        true => Ok(()),
        false => unsupported("sequences of different lengths"),
    }
}

impl<'a> PartialNetwork<'a> {
    fn joined_parts(&mut self, node: Node<'a>, parts: Vec<Activation>, axis: usize) -> Added {
        match &parts[..] {
            [one] => Ok(one.clone()),
            parts => self.join(node, parts, axis),
        }
    }
}

/// Returns the part `n` along the first axis of a constant of floats.
fn part(constant: &Constant, n: usize) -> Result<Constant, Refusal> {
    let (Some(values), Some((_, rest))) = (constant.as_floats(), constant.dims.split_first())
    else {
        return unsupported("its weights are not floats");
    };
    let each: usize = rest.iter().product();
    let own = values.get(n * each..(n + 1) * each);
    let own = own.ok_or_else(|| NodeFault::Shapes("its weights have too few directions".into()))?;
    Ok(floats(rest.to_vec(), own.to_vec()))
}

fn floats(dims: Vec<usize>, values: Vec<f32>) -> Constant {
    let values = Values::Floats(values.into());
    Constant { dims, values }
}

/// Returns a row of a constant vector, as wide as the state.
fn row(constant: &Constant, n: usize, width: usize) -> Result<Vec<f32>, Refusal> {
    let values = constant.as_floats().unwrap_or_default();
    let own = values.get(n * width..(n + 1) * width);
    let own = own.ok_or_else(|| NodeFault::Shapes(format!("biases of {:?}", constant.dims)))?;
    Ok(own.to_vec())
}

/// Returns the functions of one direction by the names in the node.
fn functions(node: Node<'_>, kind: RecurrentKind, n: usize) -> Result<Vec<Function>, Refusal> {
    let default: &[&[u8]] = match kind {
        RecurrentKind::Rnn => &[b"Tanh"],
        RecurrentKind::Gru => &[b"Sigmoid", b"Tanh"],
        RecurrentKind::Lstm => &[b"Sigmoid", b"Tanh", b"Tanh"],
    };
    let written = node.attribute("activations").map(|a| a.strings.as_slice());
    let each = default.iter().enumerate().map(|(at, default)| {
        let written = written.and_then(|w| w.get(n * default_count(kind) + at));
        let name = written.map_or(*default, |name| name.as_slice());
        match name.to_ascii_lowercase().as_slice() {
            b"sigmoid" => Ok(Function::Sigmoid),
            b"tanh" => Ok(Function::Tanh),
            b"relu" => Ok(Function::Relu),
            other => unsupported(format!("the function {}", String::from_utf8_lossy(other))),
        }
    });
    each.collect()
}

const fn default_count(kind: RecurrentKind) -> usize {
    match kind {
        RecurrentKind::Rnn => 1,
        RecurrentKind::Gru => 2,
        RecurrentKind::Lstm => 3,
    }
}

impl<'a> RecurrentLayer<'_, 'a> {
    /// Returns the state before the first step.
    fn start(
        &mut self,
        inputs: &Inputs<'_>,
        n: usize,
        by_row: bool,
    ) -> Result<RecurrentState, Refusal> {
        let mut of = |at: usize| {
            if !inputs.has(at) {
                return Ok(None);
            }
            let mut x = self.network.input(self.node, inputs, at)?;
            if by_row && x.dims().len() == 3 {
                x = x.transposed(&[1, 0, 2]);
            }
            let &[directions, batch, hidden] = x.dims() else {
                return unsupported("its initial state does not have three dimensions");
            };
            if n >= directions || hidden != self.hidden {
                return Err(NodeFault::Shapes(format!("initial state of {:?}", x.dims())).into());
            }
            let own = self.network.slice(self.node, &x, 0, n, 1, 1)?;
            self.network
                .reshaped(self.node, &own, &[batch, hidden])
                .map(Some)
        };
        let hidden = of(5)?;
        let cell = match self.kind {
            RecurrentKind::Lstm => of(6)?,
            _ => None,
        };
        Ok(RecurrentState { hidden, cell })
    }

    /// Returns the input's contribution to the gates in each step, with all biases outside of a
    /// reset gate.
    fn gates_of_inputs(&mut self, inputs: &Inputs<'_>, x: &Activation, n: usize) -> Added {
        let weights = part(inputs.constant(1)?.ok_or(NodeFault::NoInput(1))?, n)?;
        let &[width, features] = &weights.dims[..] else {
            return unsupported("its weights do not have three dimensions");
        };
        if width != self.kind.gates() * self.hidden {
            let why = format!("weights of {width} do not fit states of {}", self.hidden);
            return Err(NodeFault::Shapes(why).into());
        }
        let bias = match inputs.constant(3)? {
            Some(bias) => {
                let bias = part(bias, n)?;
                let (own, mut inner) = (row(&bias, 0, width)?, row(&bias, 1, width)?);
                if self.is_reset_first() {
                    inner[2 * self.hidden..].fill(0.0);
                }
                Some(own.iter().zip(&inner).map(|(a, b)| a + b).collect())
            }
            None => None,
        };
        let dense = super::dense::Dense {
            values: weights.to_floats().into(),
            bias,
            inputs: features,
            features: width,
        };
        dense.add(self.network, self.node, x)
    }

    /// Returns whether a GRU's reset gate scales the product with the state instead of the state.
    fn is_reset_first(&self) -> bool {
        self.kind == RecurrentKind::Gru && self.node.integer("linear_before_reset") == Some(1)
    }

    fn direction(
        &mut self,
        inputs: &Inputs<'_>,
        n: usize,
        directions: usize,
    ) -> Result<LayerDirection, Refusal> {
        let (hidden, gates) = (self.hidden, self.kind.gates());
        let recurrent = part(inputs.constant(2)?.ok_or(NodeFault::NoInput(2))?, n)?;
        if recurrent.dims != [gates * hidden, hidden] {
            let why = format!("recurrent weights of {:?}", recurrent.dims);
            return Err(NodeFault::Shapes(why).into());
        }
        let recurrent = crate::onnx::fold::permuted(&recurrent, &[1, 0]);
        let recurrent = self
            .network
            .operand(self.node, &Value::Constant(recurrent))?;
        let inner_bias = match inputs.constant(3)? {
            Some(bias) if self.is_reset_first() => {
                let values = row(&part(bias, n)?, gates + 2, hidden)?;
                Some(floats(vec![hidden], values))
            }
            _ => None,
        };
        let peepholes = match inputs.constant(7) {
            Ok(Some(all)) if self.kind == RecurrentKind::Lstm => {
                let all = part(all, n)?;
                let of = |gate| Ok::<_, Refusal>(floats(vec![hidden], row(&all, gate, hidden)?));
                Some([of(0)?, of(1)?, of(2)?])
            }
            Ok(_) => None,
            Err(refusal) => return Err(refusal),
        };
        let reverse = self.node.text("direction") == Some(b"reverse");
        Ok(LayerDirection {
            recurrent,
            inner_bias,
            peepholes,
            functions: functions(self.node, self.kind, n)?,
            backwards: reverse || directions == 2 && n == 1,
        })
    }

    /// Runs all steps, and returns the states in the order of the sequence and the last one.
    fn run(
        &mut self,
        gates: &Activation,
        direction: &LayerDirection,
        mut state: RecurrentState,
        steps: usize,
    ) -> Result<(Activation, RecurrentState), Refusal> {
        let mut order: Vec<usize> = (0..steps).collect();
        if direction.backwards {
            order.reverse();
        }
        let &[_, batch, width] = gates.dims() else {
            return unsupported("its sequences have another rank");
        };
        let mut states = Vec::new();
        for step in order {
            let own = self.network.slice(self.node, gates, 0, step, 1, 1)?;
            let own = self.network.reshaped(self.node, &own, &[batch, width])?;
            state = match self.kind {
                RecurrentKind::Rnn => self.rnn(&own, direction, state)?,
                RecurrentKind::Gru => self.gru(&own, direction, state)?,
                RecurrentKind::Lstm => self.lstm(&own, direction, state)?,
            };
            if let Some(hidden) = &state.hidden {
                let dims = [1, batch, self.hidden];
                states.push(self.network.reshaped(self.node, hidden, &dims)?);
            }
        }
        if direction.backwards {
            states.reverse();
        }
        Ok((self.network.joined_parts(self.node, states, 0)?, state))
    }
}
