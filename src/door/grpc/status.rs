//! Errors as gRPC statuses, and the deadlines of clients.

use std::time::Duration;

use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

use divisi_inference::error::{ErrorKind, ServiceError};

/// Returns an error as gRPC reports it.
pub(super) fn status(error: ServiceError) -> Status {
    let code = Code::from_i32(i32::from(error.kind().grpc()));
    Status::new(code, error.to_string())
}

/// Returns the deadline of a call set by its client.
///
/// # Errors
/// Returns an error if the value is invalid.
pub(super) fn deadline(metadata: &MetadataMap) -> Result<Option<Duration>, ServiceError> {
    let Some(value) = metadata.get("grpc-timeout") else {
        return Ok(None);
    };
    let parsed = value.to_str().ok().and_then(parse);
    let wrong = "metadata `grpc-timeout`: expected up to 8 digits and one of H, M, S, m, u and n";
    parsed
        .map(Some)
        .ok_or_else(|| ServiceError::new(ErrorKind::BadInput, wrong))
}

fn parse(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let is_number = (1..=8).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    let number: u64 = digits.parse().ok().filter(|_| is_number)?;
    match unit {
        "H" => Some(Duration::from_secs(number * 3600)),
        "M" => Some(Duration::from_secs(number * 60)),
        "S" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_millis(number)),
        "u" => Some(Duration::from_micros(number)),
        "n" => Some(Duration::from_nanos(number)),
        _ => None,
    }
}
