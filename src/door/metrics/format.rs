//! The choice of a format for metrics by the header `accept`.

/// The format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricsFormat {
    Text,
    Protobuf,
}

impl MetricsFormat {
    /// Returns the format that a client prefers; text without a header.
    pub(crate) fn preferred(accept: Option<&str>) -> Self {
        let accept = accept.unwrap_or_default();
        let parts = accept.split(',').map(AcceptedType::parse);
        let (mut binary, mut text) = (0.0, 0.0);
        for part in parts {
            let best = if part.is_protobuf {
                &mut binary
            } else {
                &mut text
            };
            *best = part.weight.max(*best);
        }
        match binary > 0.0 && binary >= text {
            true => MetricsFormat::Protobuf,
            false => MetricsFormat::Text,
        }
    }
}

/// A type of the header.
struct AcceptedType {
    is_protobuf: bool,
    weight: f64,
}

impl AcceptedType {
    /// Reads a type such as `text/plain;version=0.0.4;q=0.5`. Invalid weights are 0.
    fn parse(text: &str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        let (mut is_family, mut is_delimited, mut weight) = (false, false, 1.0);
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            match name.trim() {
                "proto" => is_family = value == "io.prometheus.client.MetricFamily",
                "encoding" => is_delimited = value == "delimited",
                "q" => weight = value.parse().unwrap_or(0.0),
                _ => {}
            }
        }
        let is_protobuf = kind == "application/vnd.google.protobuf" && is_family && is_delimited;
        AcceptedType {
            is_protobuf,
            weight,
        }
    }
}

#[cfg(test)]
#[path = "../../../tests/door/units/metrics/format.rs"]
mod tests;
