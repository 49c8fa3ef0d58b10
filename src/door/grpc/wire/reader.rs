//! The wire format of Protocol Buffers: a sequence of fields, each with its number and value.

/// The maximum length of a number in bytes.
const MOST_DIGITS: u32 = 10;

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WireValue<'m> {
    /// Bytes with a length: a text, a message or a packed list.
    Bytes(&'m [u8]),
    /// A number, or a group, which current fields no longer use.
    Other,
}

/// The kinds of values on the wire.
mod kind {
    pub(super) const VARINT: u64 = 0;
    pub(super) const FIXED_64: u64 = 1;
    pub(super) const BYTES: u64 = 2;
    pub(super) const GROUP: u64 = 3;
    pub(super) const GROUP_END: u64 = 4;
    pub(super) const FIXED_32: u64 = 5;
}

/// The remaining fields of a message.
pub(super) struct WireReader<'m>(&'m [u8]);

impl<'m> WireReader<'m> {
    pub(super) fn new(message: &'m [u8]) -> Self {
        WireReader(message)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads the number and value of a field, or returns `None` at the end.
    pub(super) fn field(&mut self) -> Option<(u32, WireValue<'m>)> {
        let (number, kind) = self.tag()?;
        let value = match kind {
            kind::GROUP => {
                self.skip_group()?;
                WireValue::Other
            }
            _ => self.value(kind)?,
        };
        Some((number, value))
    }

    /// Reads the number of a field, which is never 0, and the kind of its value.
    fn tag(&mut self) -> Option<(u32, u64)> {
        let tag = u32::try_from(self.varint()?).ok()?;
        Some((tag >> 3, u64::from(tag & 7))).filter(|(number, _)| *number > 0)
    }

    /// Reads a value other than a group.
    fn value(&mut self, kind: u64) -> Option<WireValue<'m>> {
        match kind {
            kind::VARINT => self.varint().map(|_| WireValue::Other),
            kind::FIXED_64 => self.take(8).map(|_| WireValue::Other),
            kind::FIXED_32 => self.take(4).map(|_| WireValue::Other),
            kind::BYTES => {
                let length = usize::try_from(self.varint()?).ok()?;
                self.take(length).map(WireValue::Bytes)
            }
            _ => None,
        }
    }

    /// Skips the rest of a group and its nested groups. They are counted, so that any nesting depth
    /// uses constant stack.
    fn skip_group(&mut self) -> Option<()> {
        let mut open = 1usize;
        while open > 0 {
            match self.tag()?.1 {
                kind::GROUP => open += 1,
                kind::GROUP_END => open -= 1,
                kind => drop(self.value(kind)?),
            }
        }
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for digit in 0..MOST_DIGITS {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << (7 * digit);
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, length: usize) -> Option<&'m [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }
}
