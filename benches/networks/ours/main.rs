//! Our contestant among the networks: answers questions line by line, as
//! `contest/contestants/protocol.py` has them. `benches/networks/run` starts it.

#![allow(clippy::print_stdout, reason = "answers are lines on standard output")]

mod ask;
mod encoder;
mod loaded;
mod memory;
mod turn;

use std::io::{BufRead, IsTerminal, stdin};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use ask::Ask;
use loaded::Loaded;

fn main() -> Result<()> {
    if stdin().is_terminal() {
        println!("benches/networks/run starts this and asks it, line by line");
        return Ok(());
    }
    let mut networks = Vec::new();
    for line in stdin().lock().lines() {
        let line = line?;
        let ask = serde_json::from_str(&line).context(line)?;
        println!("{}", answer(&mut networks, ask)?);
    }
    Ok(())
}

fn answer(networks: &mut Vec<Loaded>, ask: Ask) -> Result<Value> {
    match ask {
        Ask::Load(load) => {
            let network = Loaded::answering(&load)?;
            let answer = json!({ "variant": network.variant, "planned": network.planned });
            networks.push(network);
            Ok(answer)
        }
        Ask::Describe(wanted) => {
            loaded::describe(&wanted)?;
            Ok(json!({}))
        }
        Ask::Take { input } => {
            first(networks)?.take(&input)?;
            Ok(json!({}))
        }
        Ask::Run(turn) => Ok(json!({ "batches": turn::alone(first(networks)?, turn)? })),
        Ask::Beside(beside) => Ok(json!({ "batches": turn::beside(networks, &beside)? })),
        Ask::Answer { output } => {
            let network = first(networks)?;
            network.once()?;
            network.write(&output)?;
            Ok(json!({}))
        }
        Ask::Memory => memory::of_this_process(),
    }
}

fn first(networks: &mut [Loaded]) -> Result<&mut Loaded> {
    networks.first_mut().context("no network was loaded")
}
