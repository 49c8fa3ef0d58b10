//! The second byte of the JPEG markers that are handled by name.

pub(super) const DHT: u8 = 0xc4;
pub(super) const EOI: u8 = 0xd9;
pub(super) const SOS: u8 = 0xda;
pub(super) const DQT: u8 = 0xdb;
pub(super) const DRI: u8 = 0xdd;
pub(super) const APP0: u8 = 0xe0;
pub(super) const APP14: u8 = 0xee;
