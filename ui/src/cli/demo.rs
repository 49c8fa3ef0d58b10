//! `divisi demo`: a guided demonstration on the console.

use anyhow::Result;

use super::args::{DemoArgs, StartLoad, Target};
use super::start;
use crate::console::Options;
use crate::console::demo::{Stage, Wanted};

pub fn run(args: &DemoArgs) -> Result<()> {
    start::need_terminal()?;
    let (ensemble, devices) = match args.on {
        Stage::Digits => ("digits", Vec::new()),
        Stage::Simulated => ("imn12", vec!["sim:v100*16".to_owned()]),
    };
    let target = Target {
        ensemble: ensemble.into(),
        devices,
        memory: None,
    };
    let options = Options {
        read_only: false,
        mouse: !args.no_mouse,
        title: "divisi".into(),
        layouts: Vec::new(),
        demo: Some(Wanted {
            stage: args.on,
            auto: args.auto,
        }),
    };
    let session = start::session(&target, None, StartLoad::None, None)?;
    start::show_with(Box::new(session), options)
}
