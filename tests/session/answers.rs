//! Ensembles of values, as a console sees them.

use std::sync::Arc;

use divisi_model::ensemble::Measure;
use divisi_session::{Command, LiveSession, LoadPattern, Session};

use crate::answering::Answering;
use crate::common::{networks, start, until};

#[test]
fn a_console_sees_the_errors_of_values_and_weighs_members_by_them() {
    let rest = "calibration = { file = \"samples.csv\" }";
    let folder = Answering::new("answers = { values = 2 }", 2, "");
    // The second member answers the targets.
    folder.write(
        "samples.csv",
        b"a,b,target_0,target_1\n1,2,2,4\n-3,1,-6,2\n",
    );
    let text = crate::answering::manifest("answers = { values = 2 }", 2, rest);
    folder.write("ensemble.toml", text.as_bytes());
    let ensemble = Arc::new(folder.read().expect("valid"));
    let factory = networks(&ensemble);
    let engine = Arc::new(start(&ensemble, Arc::clone(&factory)));
    let mut session = LiveSession::new(engine, factory, None);
    let load = Command::StartLoad(LoadPattern::closed(2, 4));
    session.command(load).expect("starts");
    let seen = until(&mut session, |s| {
        s.quality.is_some() && s.members.iter().all(|m| m.contribution.is_some())
    });
    assert_eq!(seen.answers, ensemble.answers);
    let quality = seen.quality.expect("targets are known");
    assert_eq!(quality.figures[0].measure, Measure::Rmse);
    assert!(quality.figures[0].value > 0.5);
    let of = |m: usize| seen.members[m].contribution.expect("weighed");
    assert!(of(1).quality.is_some_and(|q| q.value < 1e-5));
    assert!(
        of(2).quality_change.is_some_and(|c| c < 0.0),
        "better without"
    );
    assert_eq!(of(0).flips, None);
}
