//! Converts bytes to characters, one at a time. Only damaged characters are lost.

/// The received part of a character.
#[derive(Debug, Default)]
pub(super) struct PartialChar {
    bytes: Vec<u8>,
}

impl PartialChar {
    /// Takes a byte and returns the character it completes. A byte that continues no character is a
    /// control character, as sent by terminals with eight-bit controls.
    pub(super) fn push(&mut self, byte: u8) -> Option<char> {
        let continues = byte & 0b1100_0000 == 0b1000_0000;
        if !continues {
            self.bytes.clear();
        } else if self.bytes.is_empty() {
            return Some(char::from(byte));
        }
        self.bytes.push(byte);
        let char = str::from_utf8(&self.bytes).ok().and_then(only_char);
        if char.is_some() || self.bytes.len() >= length(self.bytes[0]) {
            self.bytes.clear();
        }
        char
    }
}

fn only_char(text: &str) -> Option<char> {
    text.chars().next()
}

/// Returns the number of bytes of a character by its first byte.
fn length(first: u8) -> usize {
    match first {
        0b1100_0000..=0b1101_1111 => 2,
        0b1110_0000..=0b1110_1111 => 3,
        0b1111_0000..=0b1111_0111 => 4,
        _ => 1,
    }
}
