//! `divisi demo`: a guided demonstration on the console.

use anyhow::{Result, bail};

use super::args::{DemoArgs, ServingTarget, StartLoad};
use super::start::{self, DisplayMode};
use crate::console::Options;
use crate::console::demo::{DemoStage, Wanted};

pub fn run(args: &DemoArgs) -> Result<()> {
    if start::way(false)? == DisplayMode::Lines {
        bail!("the demonstration needs a terminal that can draw a screen");
    }
    let (ensemble, devices) = match args.on {
        DemoStage::Digits => ("digits", Vec::new()),
        DemoStage::Simulated => ("imn12", vec!["sim:v100*16".to_owned()]),
    };
    let target = ServingTarget {
        ensemble: ensemble.into(),
        devices,
        precision: None,
        memory: None,
    };
    let options = Options {
        demo: Some(Wanted {
            stage: args.on,
            auto: args.auto,
        }),
        ..start::options(false, !args.no_mouse)
    };
    let session = start::session(&target, None, StartLoad::None, None)?;
    start::show(Box::new(session), options, DisplayMode::Screen, None)
}
