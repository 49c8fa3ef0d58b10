//! The sign of each member: a letter and a hue, the same in every panel.

use divisi_runtime::device::MemberIndex;
use divisi_session::MemberView;

use crate::look::Role;

/// The letter of a member beyond the number of letters and digits.
const NO_LETTER: char = '+';

/// The letters of the members, by column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberSigns {
    names: Vec<String>,
    letters: Vec<char>,
}

impl MemberSigns {
    /// Chooses letters again if the names have changed.
    pub fn follow(&mut self, members: &[MemberView]) {
        let names = || members.iter().map(|member| &member.name);
        if !self.names.iter().eq(names()) {
            self.names = names().cloned().collect();
            self.letters = letters(&self.names);
        }
    }

    /// Returns the letter of a member.
    pub fn letter(&self, member: MemberIndex) -> char {
        self.letters.get(member.get()).copied().unwrap_or(NO_LETTER)
    }

    /// Returns the hue of a member.
    pub fn hue(member: MemberIndex) -> Role {
        Role::for_member(member.get())
    }
}

/// Returns a different letter for each name, as close to the name as possible: the first letter, a
/// later part's first letter, a capital, another letter of the name, any other sign.
pub(super) fn letters(names: &[String]) -> Vec<char> {
    let mut taken: Vec<char> = Vec::with_capacity(names.len());
    for name in names {
        let free = candidates(name).find(|letter| !taken.contains(letter));
        taken.push(free.unwrap_or(NO_LETTER));
    }
    taken
}

fn candidates(name: &str) -> impl Iterator<Item = char> {
    let parts = name.split(|sign: char| !sign.is_ascii_alphanumeric());
    let firsts: Vec<char> = parts.filter_map(|part| part.chars().next()).collect();
    let all: Vec<char> = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let lower = |signs: &[char]| lowercase(signs).collect::<Vec<_>>();
    let upper = |signs: &[char]| uppercase(signs).collect::<Vec<_>>();
    [lower(&firsts), upper(&firsts), lower(&all), upper(&all)]
        .into_iter()
        .flatten()
        .chain(('a'..='z').chain('A'..='Z').chain('0'..='9'))
}

fn lowercase(signs: &[char]) -> impl Iterator<Item = char> + '_ {
    signs.iter().map(char::to_ascii_lowercase)
}

fn uppercase(signs: &[char]) -> impl Iterator<Item = char> + '_ {
    signs.iter().map(char::to_ascii_uppercase)
}
