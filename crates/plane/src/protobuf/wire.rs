//! The protobuf wire format: numbered fields, each a number or a run of bytes.

use super::DecodeError;

/// One field's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Item<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

/// Reads the fields of a message in order; stops after the first error.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) =
                self.0.split_first().ok_or(DecodeError::Malformed("it ends within a number"))?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(DecodeError::Malformed("a number is too long"))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) =
            self.0.split_at_checked(length).ok_or(DecodeError::Malformed("it ends within a field"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (taken, rest) =
            self.0.split_first_chunk().ok_or(DecodeError::Malformed("it ends within a field"))?;
        self.0 = rest;
        Ok(*taken)
    }

    fn field(&mut self) -> Result<(u32, Item<'a>), DecodeError> {
        let key = self.varint()?;
        let number =
            u32::try_from(key >> 3).map_err(|_| DecodeError::Malformed("a field number is too large"))?;
        let item = match key & 7 {
            0 => Item::Varint(self.varint()?),
            1 => Item::Fixed64(u64::from_le_bytes(self.fixed()?)),
            2 => {
                let length = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
                Item::Bytes(self.take(length)?)
            }
            5 => Item::Fixed32(u32::from_le_bytes(self.fixed()?)),
            _ => return Err(DecodeError::Malformed("an unknown wire type")),
        };
        Ok((number, item))
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<(u32, Item<'a>), DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}
