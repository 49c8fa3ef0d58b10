//! Members that answer NaN, as a console sees them.

use std::sync::Arc;

use divisi_engine::serving::Request;
use divisi_session::{LiveSession, LogLevel};

use crate::common::{networks, start, until};
use crate::spoilt::{BAD, Spoilt};

#[test]
fn a_session_shows_who_it_was_in_the_log_and_with_the_member() {
    let folder = Spoilt::new(|manifest| manifest);
    let ensemble = Arc::new(folder.read().expect("valid"));
    let factory = networks(&ensemble);
    let engine = Arc::new(start(&ensemble, Arc::clone(&factory)));
    let mut session = LiveSession::new(Arc::clone(&engine), factory, None);
    for _ in 0..20 {
        let outcome = engine.predict(Request::new(&BAD)).expect("let in");
        assert!(outcome.is_err());
    }
    let seen = until(&mut session, |s| s.members[1].flaws.not_finite == 20);
    assert!(seen.members[0].flaws.is_none());
    assert_eq!(seen.counters.failed, 20);
    let said = |l: &&divisi_session::LogEntry| l.text.starts_with("member `spoilt`");
    let lines: Vec<_> = seen.log.iter().filter(said).collect();
    let texts: Vec<&str> = lines.iter().map(|l| l.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "member `spoilt` answered NaN or infinities for 1 sample so far",
            "member `spoilt` answered NaN or infinities for 10 samples so far",
        ],
        "the first, then ten times as many"
    );
    assert!(lines.iter().all(|l| l.level == LogLevel::Error));
}
