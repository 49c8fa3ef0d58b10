//! The names that clients use for the input and the output of an ensemble.

use std::sync::Arc;

use divisi_runtime::tensor::{Signature, TensorSpec};

use super::Member;

/// The names of the single input and the single output of an ensemble, if they are not the usual ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceNames {
    /// The name of the input.
    pub input: Option<String>,
    /// The name of the output.
    pub output: Option<String>,
}

impl InterfaceNames {
    /// Returns the names that the files of all members share. A member that is built by name has none.
    pub(super) fn from_files(members: &[Arc<Member>]) -> Self {
        InterfaceNames {
            input: shared(members, |signature| &signature.inputs),
            output: shared(members, |signature| &signature.outputs),
        }
    }

    /// Returns these names, completed by those of `other`.
    #[must_use]
    pub(super) fn or(self, other: InterfaceNames) -> Self {
        InterfaceNames {
            input: self.input.or(other.input),
            output: self.output.or(other.output),
        }
    }
}

fn shared(
    members: &[Arc<Member>],
    tensors: impl Fn(&Signature) -> &Vec<TensorSpec>,
) -> Option<String> {
    let mut names = members.iter().map(|member| {
        let signature = member.graph.file_signature()?;
        match &tensors(signature)[..] {
            [single] => Some(single.name.clone()),
            _ => None,
        }
    });
    let first = names.next()??;
    let is_shared = names.all(|name| name.as_ref() == Some(&first));
    is_shared.then_some(first)
}
