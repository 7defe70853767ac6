//! Header blocks: one zlib stream in each direction for the whole connection, flushed after every block.

use bytes::{Buf, Bytes};
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};
use thiserror::Error;

use super::dictionary::dictionary;

/// A block that unpacks to more than this is nonsense.
const LONGEST: usize = 64 * 1024;
/// The zlib header, and the checksum of the dictionary if it says so.
const ZLIB: usize = 2;
const CHECKSUM: usize = 4;
const HAS_DICTIONARY: u8 = 0x20;

/// A header block that cannot be read.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("a header block that cannot be read")]
pub(super) struct Malformed;

/// Reads the client's header blocks.
pub(super) struct Unpacker {
    /// Without zlib's own frame: the library cannot be given a dictionary there, but it can be made to read one.
    inflate: Decompress,
    begun: bool,
}

impl Unpacker {
    pub(super) fn new() -> Self {
        Self { inflate: Decompress::new(false), begun: false }
    }

    /// The headers of a block, names in lower case.
    pub(super) fn unpack(&mut self, mut packed: &[u8]) -> Result<Vec<(String, String)>, Malformed> {
        if !self.begun {
            self.begun = true;
            let flags = *packed.get(1).ok_or(Malformed)?;
            let skip = if flags & HAS_DICTIONARY != 0 { ZLIB + CHECKSUM } else { ZLIB };
            packed = packed.get(skip..).ok_or(Malformed)?;
            if flags & HAS_DICTIONARY != 0 {
                let known = dictionary();
                let read = self.inflate(&stored(&known))?;
                debug_assert_eq!(read, known);
            }
        }
        parse(self.inflate(packed)?.into())
    }

    fn inflate(&mut self, mut packed: &[u8]) -> Result<Vec<u8>, Malformed> {
        let mut text = Vec::with_capacity(4096);
        loop {
            let before = (self.inflate.total_in(), self.inflate.total_out());
            self.inflate.decompress_vec(packed, &mut text, FlushDecompress::Sync).map_err(|_| Malformed)?;
            let read = usize::try_from(self.inflate.total_in() - before.0).map_err(|_| Malformed)?;
            packed = &packed[read..];
            let full = text.len() == text.capacity();
            if !full && (packed.is_empty() || read == 0) {
                return if packed.is_empty() { Ok(text) } else { Err(Malformed) };
            }
            if text.len() > LONGEST {
                return Err(Malformed);
            }
            text.reserve(4096);
        }
    }
}

/// A block of a deflate stream that holds this text as it is.
fn stored(text: &[u8]) -> Vec<u8> {
    let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
    let mut block = vec![0];
    block.extend(length.to_le_bytes());
    block.extend((!length).to_le_bytes());
    block.extend(text);
    block
}

fn parse(mut text: Bytes) -> Result<Vec<(String, String)>, Malformed> {
    let number = |text: &mut Bytes| text.try_get_u32().map_err(|_| Malformed).map(|n| n as usize);
    let word = |text: &mut Bytes| {
        let length = number(text)?;
        if length > text.remaining() {
            return Err(Malformed);
        }
        String::from_utf8(text.split_to(length).into()).map_err(|_| Malformed)
    };
    let count = text.try_get_u32().map_err(|_| Malformed)?;
    (0..count).map(|_| Ok((word(&mut text)?.to_lowercase(), word(&mut text)?))).collect()
}

/// Writes our header blocks.
pub(super) struct Packer(Compress);

impl Packer {
    pub(super) fn new() -> Self {
        // A stream that does not name the dictionary does not use it, and that is allowed.
        Self(Compress::new(Compression::fast(), true))
    }

    /// A block without headers.
    pub(super) fn pack_none(&mut self) -> Vec<u8> {
        let mut packed = Vec::with_capacity(64);
        // Only a finished stream refuses, and this one never ends.
        let _ = self.0.compress_vec(&0_u32.to_be_bytes(), &mut packed, FlushCompress::Sync);
        packed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a client sends first, the streams `error` and `data` of one request, packed by zlib with the dictionary.
    #[rustfmt::skip]
    const FIRST: &[u8] = &[
        0x78, 0xf9, 0xe3, 0xc6, 0xa7, 0xc2, 0x02, 0x25, 0x3a, 0x48, 0xf9, 0x5b, 0x04, 0x4e, 0xea, 0x16, 0x06,
        0x16, 0x06, 0x40, 0x9a, 0xb3, 0x08, 0x12, 0x5f, 0x99, 0xa0, 0x74, 0xcc, 0x68, 0x00, 0x4e, 0x89, 0x25,
        0x45, 0xa9, 0x89, 0xb9, 0xd0, 0xc2, 0x86, 0x35, 0x15, 0x14, 0x15, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff,
    ];
    const SECOND: &[u8] = &[0x22, 0x53, 0x33, 0xa8, 0xa4, 0x4a, 0x04, 0x00, 0x00, 0x00, 0xff, 0xff];

    #[test]
    fn blocks_are_read_one_after_the_other() {
        let mut unpacker = Unpacker::new();
        for (block, kind) in [(FIRST, "error"), (SECOND, "data")] {
            let headers = unpacker.unpack(block).unwrap();
            let value = |name: &str| headers.iter().find(|(key, _)| key == name).unwrap().1.as_str();
            assert_eq!((value("streamtype"), value("port"), value("requestid")), (kind, "8080", "0"));
        }
    }

    #[test]
    fn our_blocks_are_read_by_any_zlib() {
        let (mut packer, mut inflate) = (Packer::new(), Decompress::new(true));
        for _ in 0..3 {
            let mut text = Vec::with_capacity(64);
            inflate.decompress_vec(&packer.pack_none(), &mut text, FlushDecompress::Sync).unwrap();
            assert_eq!(text, [0, 0, 0, 0]);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        assert_eq!(Unpacker::new().unpack(&[]), Err(Malformed));
        assert_eq!(Unpacker::new().unpack(&[0x78, 0xbb, 1, 2, 3]), Err(Malformed));
        assert_eq!(Unpacker::new().unpack(&[0x78, 0x9c, 0xff, 0xff, 0xff]), Err(Malformed));
        assert_eq!(parse(Bytes::from_static(&[0, 0, 0, 1, 0, 0, 0, 9, b'x'])), Err(Malformed));
    }
}
