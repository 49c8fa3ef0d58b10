//! The names of goals, and parameters whose names are near them: probably goals that would be
//! ignored.

/// The minimum accuracy in percent.
pub(super) const ACCURACY: &str = "accuracy";
/// The maximum time to the answer in milliseconds.
pub(super) const LATENCY: &str = "latency_ms";
/// The maximum cost of a million such queries.
pub(super) const COST: &str = "max_cost";
/// The preference among the variants that meet all goals.
pub(super) const PREFER: &str = "prefer";
/// The task, if the request's model is one of its ensembles.
pub(super) const TASK: &str = "task";

/// The names of the goals.
const GOALS: [&str; 5] = [ACCURACY, LATENCY, COST, PREFER, TASK];

/// The length from which a name is that of no goal.
const MOST: usize = 64;

/// Words that clients add to the name of a goal.
const ADDED: [&str; 28] = [
    "at",
    "budget",
    "desired",
    "goal",
    "id",
    "in",
    "least",
    "limit",
    "max",
    "maximum",
    "micros",
    "millis",
    "milliseconds",
    "min",
    "minimum",
    "most",
    "ms",
    "name",
    "needed",
    "pct",
    "percent",
    "query",
    "request",
    "required",
    "sec",
    "seconds",
    "target",
    "us",
];

/// Other words for goals.
const MEANT: [(&str, &str); 9] = [
    ("accuracy", ACCURACY),
    ("acc", ACCURACY),
    ("latency", LATENCY),
    ("cost", COST),
    ("price", COST),
    ("prefer", PREFER),
    ("preference", PREFER),
    ("preferred", PREFER),
    ("task", TASK),
];

/// Parts of names that mean a goal, whatever is around them.
const PARTS: [(&str, &str); 3] = [("accura", ACCURACY), ("latenc", LATENCY), ("maxcost", COST)];

/// The length from which a word with a wrong letter is still recognised: `mask` is not `task`.
const LONG: usize = 6;

/// Returns the goal that a parameter probably means, or `None` if its name is not near that of a
/// goal or is exactly that of one. Names are compared without case, separators and the words that
/// clients add; long names may have one wrong letter, and some parts of names are enough.
pub(super) fn meant(name: &str) -> Option<&'static str> {
    if GOALS.contains(&name) || name.len() > MOST {
        return None;
    }
    let words = words(name);
    let joined = words.concat();
    if let Some((_, goal)) = PARTS.iter().find(|(part, _)| joined.contains(part)) {
        return Some(goal);
    }
    let words = words.iter().filter(|word| !ADDED.contains(&word.as_str()));
    let word: String = words.map(String::as_str).collect();
    let near = |known: &str| word == known || (known.len() >= LONG && is_one_off(&word, known));
    let found = MEANT.iter().find(|(known, _)| near(known));
    found.map(|(_, goal)| *goal)
}

/// Returns the words of a name in lower case: `minAccuracy` and `min-accuracy` have two.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        let begins = letter.is_uppercase() && was_lower;
        was_lower = letter.is_lowercase();
        if !letter.is_alphanumeric() || begins {
            words.push(String::new());
        }
        if let (true, Some(word)) = (letter.is_alphanumeric(), words.last_mut()) {
            word.extend(letter.to_lowercase());
        }
    }
    words
}

/// Returns whether one letter more, fewer, different or exchanged with the next makes two words
/// equal.
fn is_one_off(word: &str, other: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (word.chars().collect(), other.chars().collect());
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[same..], &b[same..]);
    let is_exchanged = a.len() > 1 && b.len() > 1 && a[0] == b[1] && a[1] == b[0];
    rest(a, 1) == b
        || a == rest(b, 1)
        || rest(a, 1) == rest(b, 1)
        || (is_exchanged && rest(a, 2) == rest(b, 2))
}

fn rest(letters: &[char], from: usize) -> &[char] {
    letters.get(from..).unwrap_or_default()
}

#[cfg(test)]
#[path = "../../../tests/inference/units/protocol/near.rs"]
mod tests;
