//! The segment size.

use divisi::session::SetupFile;

use super::{Form, FormChoice, FormField, FormKind};
use crate::model::Setting;

const NOTE: &str = "Extents of the sample pool are as large, whatever the policy.";

impl Form {
    /// Samples in a segment, starting from what is staged or runs.
    pub fn segment_size(now: usize) -> Self {
        let fields = vec![FormField::number("at most", now, "samples")];
        let help = "consecutive samples that travel together";
        let choice = FormChoice::new("segment size", help, fields).noting(NOTE);
        Form::new(FormKind::SegmentSize, "segment size", vec![choice])
    }

    pub(super) fn segment_setting(&self) -> Result<Setting, String> {
        let (text, most) = (self.text("at most"), SetupFile::MOST_SEGMENT);
        let size = text.parse().ok().filter(|n| (1..=most).contains(n));
        let wrong = || format!("expected a whole number from 1 to {most}, found `{text}`");
        size.map(Setting::SegmentSize).ok_or_else(wrong)
    }
}
