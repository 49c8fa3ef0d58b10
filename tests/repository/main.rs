#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests stop at the first surprise")]
