//! `divisi demo`: a guided demonstration on the console.

use anyhow::{Result, bail};

use super::args::{DemoArgs, StartLoad, Target};
use super::start::{self, Way};
use crate::console::Options;
use crate::console::demo::{DemoStage, Wanted};

pub fn run(args: &DemoArgs) -> Result<()> {
    if start::way(false)? == Way::Lines {
        bail!("the demonstration needs a terminal that can draw a screen");
    }
    let (ensemble, devices) = match args.on {
        DemoStage::Digits => ("digits", Vec::new()),
        DemoStage::Simulated => ("imn12", vec!["sim:v100*16".to_owned()]),
    };
    let target = Target {
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
    start::show(Box::new(session), options, Way::Screen, None)
}
