//! The manifest's defaults for members.

use crate::ensemble::MemberPrecision;
use crate::ensemble::manifest::{EnsembleError, Manifest, ManifestSource, MemberTable};
use crate::ensemble::rule::Temperature;

/// The manifest's defaults for members without fields of their own.
#[derive(Clone, Copy)]
pub(super) struct MemberDefaults {
    pub(super) temperature: Temperature,
    precision: MemberPrecision,
}

impl MemberDefaults {
    pub(super) fn read(
        source: &ManifestSource<'_>,
        manifest: &Manifest,
    ) -> Result<Self, EnsembleError> {
        let temperature = match &manifest.temperature {
            None => Temperature::ONE,
            Some(written) => Temperature::new(*written.get_ref())
                .map_err(|why| source.wrong(written.span().start, format!("temperature: {why}")))?,
        };
        Ok(MemberDefaults {
            temperature,
            precision: super::precision(source, manifest)?,
        })
    }

    /// Reads the precision of a member.
    pub(super) fn precision(
        self,
        source: &ManifestSource<'_>,
        table: &MemberTable,
    ) -> Result<MemberPrecision, EnsembleError> {
        let Some(written) = &table.precision else {
            return Ok(self.precision);
        };
        let parsed = written.get_ref().parse::<MemberPrecision>();
        let own = parsed.map_err(|why| {
            source.wrong(written.span().start, format!("members.precision: {why}"))
        })?;
        Ok(own.or_gpu_precision(self.precision))
    }
}
