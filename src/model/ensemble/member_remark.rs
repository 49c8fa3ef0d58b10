//! Remarks on members whose answers depend on the way they run.

use std::fmt;

use divisi_runtime::network::{NetworkEnd, Probabilities};

use super::{Ensemble, Member, OutputKind};

/// A property of a member that changes its answers or its speed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberRemark {
    /// Its answers depend on padding, so no samples are padded.
    OwnLength {
        /// The member's name.
        member: String,
        /// Whether it takes a mask. The mask does not hide the padding completely.
        masked: bool,
    },
    /// It takes texts of one length, because of its file, its manifest or a pipeline, and its
    /// answers depend on the padding of shorter texts.
    Padded {
        /// The member's name.
        member: String,
        /// The number of tokens that it takes.
        length: usize,
        /// The id that pads texts.
        padding: u32,
    },
    /// It ends in probabilities, but its manifest converts them again.
    SecondSoftmax {
        /// The member's name.
        member: String,
        /// The name of the network's last operation.
        ends_in: &'static str,
    },
}

impl Ensemble {
    /// Returns the remarks on its members, in their order.
    pub fn member_remarks(&self) -> Vec<MemberRemark> {
        let members = self.members.iter();
        let each = members.flat_map(|member| {
            let padding = self.padding_remark(member);
            padding.into_iter().chain(self.second_softmax(member))
        });
        each.collect()
    }

    fn padding_remark(&self, member: &Member) -> Option<MemberRemark> {
        let name = member.name.clone();
        if let Some(lengths) = member.graph.lengths() {
            let mask = self.lengths.as_ref().and_then(|all| all.mask());
            let takes = |mask| {
                member
                    .graph
                    .signature()
                    .inputs
                    .iter()
                    .any(|i| i.name == mask)
            };
            let is_text = self.text.is_some() || mask.is_some();
            return (is_text && lengths.mask().is_none()).then(|| MemberRemark::OwnLength {
                member: name,
                masked: mask.is_some_and(takes),
            });
        }
        let length = self.text.as_ref()?.tokenizer().length();
        self.depends_on_padding(member)
            .then(|| MemberRemark::Padded {
                member: name,
                length,
                padding: self.padding(),
            })
    }

    /// Returns the remark on a member whose manifest treats its probabilities as logits.
    fn second_softmax(&self, member: &Member) -> Option<MemberRemark> {
        let are_logits = matches!(
            member.outputs,
            OutputKind::Logits | OutputKind::LabelLogits | OutputKind::PositionLogits
        );
        let ends = match member.graph.end() {
            NetworkEnd::Probabilities(ends) if are_logits => ends,
            _ => return None,
        };
        let of_answers = match ends {
            Probabilities::Shares { row } => row == self.answers.count(),
            Probabilities::Each => true,
        };
        of_answers.then(|| MemberRemark::SecondSoftmax {
            member: member.name.clone(),
            ends_in: ends.name(),
        })
    }
}

impl fmt::Display for MemberRemark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemberRemark::OwnLength {
                member,
                masked: true,
            } => write!(
                f,
                "{member}: its answers depend on padding, so it runs every sample at its own length"
            ),
            MemberRemark::OwnLength {
                member,
                masked: false,
            } => write!(
                f,
                "{member}: it takes no mask for padding, so it runs every sample at its own length"
            ),
            MemberRemark::Padded {
                member,
                length,
                padding,
            } => write!(
                f,
                "{member}: its answers depend on padding, and shorter texts are padded to {length} \
                 tokens with id {padding}. Leave the length open in its file and in the manifest, \
                 or set `padding_id` in [input.text] to the id it was trained with"
            ),
            MemberRemark::SecondSoftmax { member, ends_in } => write!(
                f,
                "{member}: the network ends in {ends_in}, and `outputs = \"logits\"` treats its \
                 probabilities as logits; write `outputs = \"probabilities\"`"
            ),
        }
    }
}
