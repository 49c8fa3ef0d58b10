//! The cost of model-less decisions, without engine, network and clock: by hand.
//!
//! `cargo bench -p divisi-modelless [-- choice accuracy policies figure1 figure5 …]`

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a program run by hand"
)]

mod accuracy;
mod allocations;
mod arrivals;
mod baselines;
mod choice;
mod papers;
mod policies;

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let asked: Vec<&String> = asked.iter().filter(|a| !a.starts_with("--")).collect();
    let wanted = |name: &str| asked.is_empty() || asked.iter().any(|a| *a == name);
    if wanted("choice") {
        choice::print();
    }
    if wanted("accuracy") {
        accuracy::print();
    }
    if wanted("policies") {
        policies::print();
    }
    papers::print(wanted);
}
