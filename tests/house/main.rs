//! The rules of the sources that the compiler does not hold. A crate of its own, which uses no
//! other: an edit of the sources links none of them again to be checked.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests stop at the first surprise"
)]

mod documents;
mod glossary;
mod house;
mod layers;
#[path = "../support/place.rs"]
mod place;
mod sources;
mod words;
