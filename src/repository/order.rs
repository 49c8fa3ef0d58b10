//! The loading order of models: ensembles after the models that they use.

use std::collections::{BTreeMap, BTreeSet};

/// The models that each model uses, by name.
pub(crate) type Uses = BTreeMap<String, Vec<String>>;

/// The order of models, and the models without an order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LoadOrder {
    /// Each model after the models that it uses.
    pub(crate) ordered: Vec<String>,
    /// Models in a cycle, or models that use them.
    pub(crate) circles: Vec<CircleUser>,
}

/// A model that is part of a cycle, or leads to one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CircleUser {
    pub(crate) name: String,
    /// The next model on the way into the cycle.
    pub(crate) used: String,
    /// The cycle, from one of its models to the same model.
    pub(crate) circle: Vec<String>,
}

/// Finds the order of the models in `uses`. Used models that are not in `uses` are ignored.
pub(crate) fn order(uses: &Uses) -> LoadOrder {
    let mut waiting: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, used) in uses {
        let there = used.iter().filter(|name| uses.contains_key(*name));
        let there: BTreeSet<&str> = there.map(String::as_str).collect();
        for used in &there {
            users.entry(used).or_default().push(name);
        }
        waiting.insert(name, there);
    }
    let free = waiting.iter().filter(|(_, used)| used.is_empty());
    let mut ready: BTreeSet<&str> = free.map(|(name, _)| *name).collect();
    let mut order = LoadOrder::default();
    while let Some(name) = ready.pop_first() {
        waiting.remove(name);
        order.ordered.push(name.to_owned());
        for user in users.get(name).into_iter().flatten() {
            let left = waiting.get_mut(user);
            if left.is_some_and(|left| left.remove(name) && left.is_empty()) {
                ready.insert(user);
            }
        }
    }
    let circles = waiting.iter().map(|(name, used)| CircleUser {
        name: (*name).to_owned(),
        used: used.first().copied().unwrap_or_default().to_owned(),
        circle: circle(name, &waiting),
    });
    order.circles = circles.collect();
    order
}

/// Follows the waiting models from one of them until a model repeats.
fn circle(from: &str, waiting: &BTreeMap<&str, BTreeSet<&str>>) -> Vec<String> {
    let mut path = vec![from];
    let mut at: BTreeMap<&str, usize> = BTreeMap::from([(from, 0)]);
    let next = |name: &str| waiting.get(name).and_then(|used| used.first().copied());
    while let Some(next) = path.last().and_then(|last| next(last)) {
        path.push(next);
        if let Some(first) = at.insert(next, path.len() - 1) {
            return path[first..]
                .iter()
                .map(|name| (*name).to_owned())
                .collect();
        }
    }
    Vec::new()
}
