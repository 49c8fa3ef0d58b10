//! The options that several commands take: documented once, by their headings.

use clap::{Arg, Command};

use super::{is_told, meaning, signature, table};

/// The options that several commands take.
pub(super) struct SharedOptions<'a> {
    groups: Vec<OptionGroup<'a>>,
}

/// The options under a heading, of all commands that have it.
struct OptionGroup<'a> {
    heading: &'a str,
    arguments: Vec<&'a Arg>,
    /// The names of the commands.
    commands: Vec<&'a str>,
}

impl<'a> SharedOptions<'a> {
    /// Collects the options of a program and its commands.
    pub(super) fn from_program(program: &'a Command) -> Self {
        let mut shared = SharedOptions { groups: Vec::new() };
        for command in with_subcommands(program) {
            let told = command.get_arguments();
            told.filter(|arg| is_told(arg, command))
                .for_each(|arg| shared.add(command, arg));
        }
        shared.groups.retain(|group| group.commands.len() > 1);
        shared
    }

    fn add(&mut self, command: &'a Command, arg: &'a Arg) {
        let Some(heading) = heading(arg) else {
            return;
        };
        let place = self
            .groups
            .iter()
            .position(|group| group.heading == heading);
        let place = place.unwrap_or_else(|| {
            self.groups.push(OptionGroup {
                heading,
                arguments: Vec::new(),
                commands: Vec::new(),
            });
            self.groups.len() - 1
        });
        self.groups[place].add(command, arg);
    }

    /// Returns whether an option is described with those of other commands.
    pub(super) fn holds(&self, arg: &Arg) -> bool {
        heading(arg).is_some_and(|heading| self.groups.iter().any(|g| g.heading == heading))
    }

    /// Returns links to the groups of a command's arguments.
    pub(super) fn links(&self, arguments: &[&Arg]) -> String {
        let is_used = |group: &&OptionGroup| {
            let mut headings = arguments.iter().filter_map(|arg| heading(arg));
            headings.any(|heading| heading == group.heading)
        };
        let links = self.groups.iter().filter(is_used).map(|group| {
            let anchor = group.heading.to_lowercase().replace(' ', "-");
            format!("[{}](#{anchor})", group.heading)
        });
        links.collect::<Vec<_>>().join(", ")
    }

    /// Returns a section of all groups.
    pub(super) fn text(&self) -> String {
        let groups = self.groups.iter().map(|group| {
            let rows = group.arguments.iter();
            let rows = rows.map(|arg| [signature(arg), meaning(arg)]);
            format!("### {}\n\n{}\n", group.heading, table(["option", ""], rows))
        });
        format!("## Shared options\n\n{}", groups.collect::<String>())
    }
}

impl<'a> OptionGroup<'a> {
    fn add(&mut self, command: &'a Command, arg: &'a Arg) {
        let name = command.get_bin_name().unwrap_or(command.get_name());
        if !self.commands.contains(&name) {
            self.commands.push(name);
        }
        let mut known = self.arguments.iter();
        if !known.any(|known| signature(known) == signature(arg)) {
            self.arguments.push(arg);
        }
    }
}

/// Returns the heading of an argument: the ensembles that a command takes are described once.
fn heading(arg: &Arg) -> Option<&str> {
    let names_ensembles = ["ensemble", "more"].contains(&arg.get_id().as_str());
    let shared = (arg.is_positional() && names_ensembles).then_some("Ensemble and devices");
    arg.get_help_heading().or(shared)
}

/// Returns a command and its visible subcommands.
fn with_subcommands(command: &Command) -> Vec<&Command> {
    let below = command.get_subcommands().flat_map(with_subcommands);
    let all = std::iter::once(command).chain(below);
    all.filter(|c| !c.is_hide_set() && c.get_name() != "help")
        .collect()
}
