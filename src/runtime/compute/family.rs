//! The vector instructions of kernels, chosen at run time, so that one binary runs on all
//! processors.

use std::fmt;
use std::sync::{LazyLock, OnceLock};

use thiserror::Error;

/// A family of kernels, by its vector instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// 512-bit vectors (x86-64 with AVX-512 F).
    Avx512,
    /// As [`Family::Avx2`], with products of bytes (x86-64 with AVX-VNNI).
    Avx2Vnni,
    /// 256-bit vectors with fused multiply-add (x86-64 with AVX2 and FMA).
    Avx2,
    /// As [`Family::Neon`], with products of bytes (aarch64 with DotProd).
    NeonDot,
    /// 128-bit vectors (aarch64).
    Neon,
    /// No particular instructions; tests compare every other family with it.
    Plain,
}

static FORCED: OnceLock<Family> = OnceLock::new();

/// The environment variable for the family to use in place of the fastest one, for tests and
/// for finding faults: `DIVISI_KERNELS=avx2`.
pub const KERNELS_VARIABLE: &str = "DIVISI_KERNELS";

/// The family that [`KERNELS_VARIABLE`] names.
static WISHED: LazyLock<Result<Option<Family>, UnusableKernels>> =
    LazyLock::new(|| match std::env::var(KERNELS_VARIABLE) {
        Err(_) => Ok(None),
        Ok(name) if name.is_empty() => Ok(None),
        Ok(name) => match Family::from_name(&name).filter(|family| family.is_available()) {
            Some(family) => Ok(Some(family)),
            None => Err(UnusableKernels { name }),
        },
    });

/// [`KERNELS_VARIABLE`] names kernels that this processor cannot run, or that do not exist.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "{KERNELS_VARIABLE}: this processor cannot run the kernels `{name}`, only {}",
    names()
)]
pub struct UnusableKernels {
    name: String,
}

fn names() -> String {
    let names = Family::available().map(|family| format!("`{family}`"));
    names.collect::<Vec<_>>().join(", ")
}

impl Family {
    /// Returns the family in [`KERNELS_VARIABLE`], or `None` if the variable is not set or empty.
    ///
    /// # Errors
    /// The family does not exist, or this processor cannot run it.
    pub fn from_environment() -> Result<Option<Family>, UnusableKernels> {
        WISHED.clone()
    }

    /// All families with their names, the fastest first.
    pub const ALL: [(Family, &'static str); 6] = [
        (Family::Avx512, "avx512"),
        (Family::Avx2Vnni, "avx2-vnni"),
        (Family::Avx2, "avx2"),
        (Family::NeonDot, "neon-dot"),
        (Family::Neon, "neon"),
        (Family::Plain, "plain"),
    ];

    /// Returns the family called `name`, or `None` if it does not exist.
    pub fn from_name(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, known)| *known == name);
        found.map(|(family, _)| *family)
    }

    /// Iterates over the families that this processor can run, the fastest first.
    pub fn available() -> impl Iterator<Item = Family> {
        let all = Self::ALL.into_iter().map(|(family, _)| family);
        all.filter(|family| family.is_available())
    }

    /// Returns whether this processor has the instructions.
    pub fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Family::Avx512 => is_x86_feature_detected!("avx512f"),
            #[cfg(target_arch = "x86_64")]
            Family::Avx2Vnni => Family::Avx2.is_available() && is_x86_feature_detected!("avxvnni"),
            #[cfg(target_arch = "x86_64")]
            Family::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "aarch64")]
            Family::NeonDot => {
                Family::Neon.is_available() && std::arch::is_aarch64_feature_detected!("dotprod")
            }
            #[cfg(target_arch = "aarch64")]
            Family::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            Family::Plain => true,
            #[allow(unreachable_patterns, reason = "each architecture leaves others over")]
            _ => false,
        }
    }

    /// Returns the default family of networks: the forced one, the one in [`KERNELS_VARIABLE`], or
    /// the fastest that this processor can run.
    pub fn best() -> Self {
        let asked = FORCED
            .get()
            .copied()
            .or(WISHED.as_ref().ok().copied().flatten());
        let found = asked.or_else(|| Self::available().next());
        found.unwrap_or(Family::Plain)
    }

    /// Makes `family` the best one for the rest of the process, for tests and for finding
    /// faults. Returns `false` if the processor lacks it or another was forced before.
    pub fn force(family: Family) -> bool {
        family.is_available() && *FORCED.get_or_init(|| family) == family
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = Self::ALL.iter().find(|(family, _)| family == self);
        f.write_str(found.map_or("", |(_, name)| *name))
    }
}
