//! Our contestant among the networks: answers questions line by line, as
//! `contest/contestants/protocol.py` has them. `benches/networks/run` starts it.

#![allow(clippy::print_stdout, reason = "answers are lines on standard output")]

mod ask;
mod loaded;
mod memory;
mod turn;

use std::io::{BufRead, stdin};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use ask::Ask;
use loaded::Loaded;

fn main() -> Result<()> {
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
        Ask::Run(turn) => Ok(json!({ "batches": turn::alone(first(networks)?, turn)? })),
        Ask::Beside { networks: chosen, turn } => {
            let all = networks.iter_mut().enumerate();
            let running = all.filter(|(i, _)| chosen.contains(i)).map(|(_, network)| network);
            Ok(json!({ "batches": turn::beside(running, turn)? }))
        }
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
