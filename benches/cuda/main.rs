//! Measurements on a GPU: each row a command of its own that writes lines of JSON.
//! `benches/cuda/run` runs them all and makes the table.
//!
//! `cargo bench --bench cuda --features cuda -- ROW`

#![allow(clippy::print_stdout, reason = "rows are lines on standard output")]

#[path = "../common/mod.rs"]
mod common;

#[path = "../common/client.rs"]
mod client;

#[path = "../common/transformer.rs"]
mod transformer;

mod answers;
mod bare;
mod bed;
mod contest;
mod copies;
mod ebird;
mod flood;
mod lane;
mod lanes;
mod overhead;
mod reloads;
mod transformers;
mod weights;

use anyhow::{Result, bail};

const ROWS: &str = "answers [PRECISION ...], contest, lanes, copies, overhead, weights, \
     transformers [PRECISION ...], reloads [COUNT] or ebird";

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let row = words.next();
    let rest: Vec<String> = words.collect();
    match row.as_deref() {
        Some("answers") => answers::run(&rest),
        Some("contest") => contest::run(),
        Some("lanes") => lanes::run(),
        Some("copies") => copies::run(),
        Some("overhead") => overhead::run(),
        Some("weights") => weights::run(),
        Some("transformers") => transformers::run(&rest),
        Some("reloads") => reloads::run(&rest),
        Some("ebird") => ebird::run(),
        Some(other) => bail!("expected {ROWS}, found `{other}`"),
        None => {
            println!("rows: {ROWS}");
            Ok(())
        }
    }
}
