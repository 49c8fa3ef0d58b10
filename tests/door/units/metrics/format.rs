//! Unit tests of `src/door/metrics/format.rs`.

use super::*;

#[test]
fn the_preferred_format_is_chosen() {
    const BINARY: &str = "application/vnd.google.protobuf;\
        proto=io.prometheus.client.MetricFamily;encoding=delimited";
    let first = format!("{BINARY},text/plain;version=0.0.4;q=0.5,*/*;q=0.1");
    let last = format!("text/plain;version=0.0.4,{BINARY};q=0.4");
    let never = format!("{BINARY};q=0");
    for (accept, expected) in [
        (None, MetricsFormat::Text),
        (Some("*/*"), MetricsFormat::Text),
        (Some("application/vnd.google.protobuf"), MetricsFormat::Text),
        (Some(BINARY), MetricsFormat::Protobuf),
        (Some(&*first), MetricsFormat::Protobuf),
        (Some(&*last), MetricsFormat::Text),
        (Some(&*never), MetricsFormat::Text),
        (Some(";;,=q;q=NaN"), MetricsFormat::Text),
    ] {
        assert_eq!(MetricsFormat::preferred(accept), expected, "{accept:?}");
    }
}
