//! The element types of a file's values, and the nodes that do not accept the types of their
//! inputs.

mod operators;
mod rule;
mod sets;

use super::ends::{FLOAT, name_of, type_of};
use super::error::Unsupported;
use super::node::Node;
use super::partial::PartialNetwork;
use super::tensor::type_name;
use rule::{TypeRule, TypedInput};

const UINT8: i32 = 2;
const INT64: i32 = 7;

impl<'a> PartialNetwork<'a> {
    /// Keeps the types of a node's answers. Returns `false`, and notes the node as one that cannot
    /// be computed, if it does not take the types of its inputs.
    pub(super) fn is_typed(&mut self, node: Node<'a>) -> bool {
        let names = node.inputs().iter().map(String::as_str);
        let inputs: Vec<TypedInput<'_>> = names.map(|n| (n, self.element_type(n))).collect();
        let rule = node.operator().and_then(TypeRule::for_operator);
        let count = node.outputs().len();
        let made = match rule.map(|rule| rule.outputs(&inputs, count)) {
            None => vec![None; count],
            Some(Ok(made)) => made,
            Some(Err(why)) => {
                self.refuse(node, why);
                return false;
            }
        };
        for (name, found) in node.outputs().iter().zip(made) {
            let found = found.or_else(|| answer_type(node, &inputs));
            self.types.extend(found.map(|found| (name.as_str(), found)));
        }
        true
    }

    /// Notes outputs of the file that are declared as other types than their nodes make.
    pub(super) fn check_outputs(&mut self) {
        let model = self.model;
        for output in &model.graph.output {
            let (declared, name) = (type_of(output).0, name_of(output));
            let found = self.types.get(name).copied();
            let made = |node: &Node<'_>| node.outputs().iter().any(|made| made == name);
            let maker = model.nodes().find(made);
            if let (Some(found), Some(node)) =
                (found.filter(|f| declared > 0 && *f != declared), maker)
            {
                let (declared, found) = (type_name(declared), type_name(found));
                let why = format!("output `{name}`: is declared as {declared}, found {found}");
                self.refuse(node, why);
            }
        }
    }

    fn refuse(&mut self, node: Node<'a>, why: String) {
        let typed = node.inputs().iter().map(|name| {
            let found = self.element_type(name).map(type_name);
            found.unwrap_or_else(|| "?".into())
        });
        self.unsupported.push(Unsupported {
            node: node.label(),
            why,
            opset: node.opset,
            shapes: typed.collect::<Vec<_>>().join(", "),
        });
    }
}

/// Returns the type of a node's answer if an attribute or one of several inputs determines it.
fn answer_type(node: Node<'_>, inputs: &[TypedInput<'_>]) -> Option<i32> {
    let attribute = |name| node.integer(name).and_then(|to| i32::try_from(to).ok());
    let tensor = |name| node.attribute(name).and_then(|a| a.t.as_ref()?.data_type);
    let input = |at: usize| inputs.get(at).and_then(|(_, found)| *found);
    let written = || attribute("output_dtype").filter(|to| *to > 0);
    match node.operator()? {
        "Cast" => attribute("to"),
        "EyeLike" => attribute("dtype").or(input(0)),
        "ConstantOfShape" => tensor("value").or(Some(FLOAT)),
        "QuantizeLinear" => input(2).or_else(written).or(Some(UINT8)),
        "DequantizeLinear" => written().or(input(1)),
        "Constant" => tensor("value").or_else(|| {
            let has = |names: [&str; 2]| names.iter().any(|name| node.attribute(name).is_some());
            let floats = has(["value_float", "value_floats"]).then_some(FLOAT);
            floats.or_else(|| has(["value_int", "value_ints"]).then_some(INT64))
        }),
        _ => None,
    }
}
