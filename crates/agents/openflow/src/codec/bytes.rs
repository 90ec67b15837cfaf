//! Big-endian numbers in messages.

use super::Refusal;

/// Reads numbers from the front of bytes. What is too short is refused as a bad length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    /// What is said of bytes that end too early.
    short: Refusal,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], short: Refusal) -> Reader<'a> {
        Reader { bytes, short }
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Refusal> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(self.short)?;
        self.bytes = rest;
        Ok(taken)
    }

    /// A part of the bytes, to be read on its own.
    pub(crate) fn part(&mut self, count: usize, short: Refusal) -> Result<Reader<'a>, Refusal> {
        Ok(Reader::new(self.take(count)?, short))
    }

    pub(crate) fn skip(&mut self, count: usize) -> Result<(), Refusal> {
        self.take(count).map(|_| ())
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Refusal> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Refusal> {
        self.array().map(u8::from_be_bytes)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Refusal> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Refusal> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Refusal> {
        self.array().map(u64::from_be_bytes)
    }

    pub(crate) fn mac(&mut self) -> Result<[u8; 6], Refusal> {
        self.array()
    }

    /// A number of at most 16 bytes.
    pub(crate) fn number(&mut self, bytes: usize) -> Result<u128, Refusal> {
        Ok(self.take(bytes)?.iter().fold(0, |number, byte| number << 8 | u128::from(*byte)))
    }

    pub(crate) fn rest(self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }
}

/// Appends numbers to bytes.
pub(crate) trait Write {
    fn put(&mut self, bytes: &[u8]);
    fn u8(&mut self, value: u8) {
        self.put(&[value]);
    }
    fn u16(&mut self, value: u16) {
        self.put(&value.to_be_bytes());
    }
    fn u32(&mut self, value: u32) {
        self.put(&value.to_be_bytes());
    }
    fn u64(&mut self, value: u64) {
        self.put(&value.to_be_bytes());
    }
    fn zeros(&mut self, count: usize) {
        (0..count).for_each(|_| self.put(&[0]));
    }
    /// The lower bytes of a number.
    fn number(&mut self, value: u128, bytes: usize) {
        self.put(&value.to_be_bytes()[16 - bytes.min(16)..]);
    }
    /// A text in a field of this many bytes, cut if it is longer and with a zero at its end.
    fn text(&mut self, text: &str, bytes: usize) {
        let text = &text.as_bytes()[..text.len().min(bytes - 1)];
        self.put(text);
        self.zeros(bytes - text.len());
    }
}

impl Write for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Writes a length that is only known later: two bytes at `at`, the bytes from `from` to the end.
pub(crate) fn set_length(out: &mut [u8], at: usize, from: usize) {
    // What is written is kept below 64 KiB by those who write it.
    let length = (out.len() - from) as u16;
    out[at..at + 2].copy_from_slice(&length.to_be_bytes());
}

/// Appends zeros until the bytes from `from` on are a multiple of eight.
pub(crate) fn align(out: &mut Vec<u8>, from: usize) {
    let length = out.len() - from;
    out.zeros(length.next_multiple_of(8) - length);
}
