//! Members whose answers are not what they should be, as commands report them.

use anyhow::{Result, bail};
use divisi::serving::Flaws;
use serde::Serialize;

/// A member, and for how many samples it answered what it should not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlawedMember {
    pub member: String,
    #[serde(flatten)]
    pub flaws: Flaws,
}

impl FlawedMember {
    /// Those of `names` that have any of `flaws`.
    pub fn of(names: &[String], flaws: &[Flaws]) -> Vec<Self> {
        let all = names.iter().zip(flaws);
        let some = all.filter(|(_, flaws)| !flaws.is_none());
        some.map(|(member, flaws)| FlawedMember {
            member: member.clone(),
            flaws: *flaws,
        })
        .collect()
    }

    fn words(&self) -> String {
        format!("member `{}` answered {}", self.member, self.flaws.words())
    }
}

/// A line each, with a line end before it.
pub fn lines(flawed: &[FlawedMember]) -> String {
    flawed.iter().map(|f| format!("\n{}", f.words())).collect()
}

/// Fails where there are any: whatever was reported is not what it says.
pub fn refuse(flawed: &[FlawedMember], unanswered: usize, samples: usize) -> Result<()> {
    if flawed.is_empty() {
        return Ok(());
    }
    let words: Vec<String> = flawed.iter().map(FlawedMember::words).collect();
    let words = words.join("; ");
    match unanswered {
        0 => bail!("{words}"),
        n => bail!("{words}; {n} of {samples} samples have no answer"),
    }
}
