//! SPDY/3.1 frames, as far as port forwarding needs them.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use thiserror::Error;

const VERSION: u16 = 3;
const CONTROL: u16 = 0x8000;
const FIN: u8 = 0x01;
const HEAD: usize = 8;
/// A longer frame is nonsense.
const LONGEST: usize = 1 << 20;
/// Why a stream is refused.
const REFUSED: u32 = 3;

/// What came is no SPDY/3.1.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum Malformed {
    /// Another version.
    #[error("a frame of SPDY version {0}")]
    Version(u16),
    /// Too much.
    #[error("a frame of {0} bytes")]
    Length(usize),
    /// Too little.
    #[error("a frame that ends too early")]
    Short,
}

/// What a client sends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// A stream begins; the headers are packed.
    SynStream { stream: u32, headers: Bytes },
    /// Data of a stream; `fin` is its end.
    Data { stream: u32, fin: bool, data: Bytes },
    /// A stream is given up.
    RstStream { stream: u32 },
    /// Answered with the same number.
    Ping { id: u32 },
    /// The client leaves.
    GoAway,
    /// Settings, windows and headers, which change nothing here.
    Other,
}

impl Frame {
    /// Takes the first whole frame out of what was received.
    pub(super) fn take(received: &mut BytesMut) -> Result<Option<Self>, Malformed> {
        let Some(head) = received.get(..HEAD) else { return Ok(None) };
        let length = usize::from(head[5]) << 16 | usize::from(head[6]) << 8 | usize::from(head[7]);
        if length > LONGEST {
            return Err(Malformed::Length(length));
        }
        if received.len() < HEAD + length {
            return Ok(None);
        }
        let mut frame = received.split_to(HEAD + length).freeze();
        let first = frame.get_u32();
        let flags = frame.get_u8();
        frame.advance(3);
        if first >> 16 & u32::from(CONTROL) == 0 {
            return Ok(Some(Self::Data { stream: first, fin: flags & FIN != 0, data: frame }));
        }
        let (version, kind) = ((first >> 16) as u16 & !CONTROL, first as u16);
        if version != VERSION {
            return Err(Malformed::Version(version));
        }
        let number = |frame: &mut Bytes| frame.try_get_u32().map_err(|_| Malformed::Short);
        Ok(Some(match kind {
            1 => {
                let stream = number(&mut frame)? & 0x7fff_ffff;
                number(&mut frame)?; // the stream it belongs to
                frame.try_get_u16().map_err(|_| Malformed::Short)?; // priority and slot
                Self::SynStream { stream, headers: frame }
            }
            3 => Self::RstStream { stream: number(&mut frame)? & 0x7fff_ffff },
            6 => Self::Ping { id: number(&mut frame)? },
            7 => Self::GoAway,
            _ => Self::Other,
        }))
    }
}

/// Data of a stream.
pub(super) fn data(stream: u32, fin: bool, data: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(HEAD + data.len());
    frame.put_u32(stream);
    frame.put_u8(if fin { FIN } else { 0 });
    frame.put_uint(data.len() as u64, 3);
    frame.put_slice(data);
    frame.freeze()
}

/// A stream is accepted, with packed headers.
pub(super) fn reply(stream: u32, headers: &[u8]) -> Bytes {
    let mut body = BytesMut::with_capacity(4 + headers.len());
    body.put_u32(stream);
    body.put_slice(headers);
    control(2, &body)
}

/// A stream is refused.
pub(super) fn refuse(stream: u32) -> Bytes {
    let mut body = BytesMut::with_capacity(8);
    body.put_u32(stream);
    body.put_u32(REFUSED);
    control(3, &body)
}

/// The answer to a ping.
pub(super) fn ping(id: u32) -> Bytes {
    control(6, &id.to_be_bytes())
}

fn control(kind: u16, body: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(HEAD + body.len());
    frame.put_u16(CONTROL | VERSION);
    frame.put_u16(kind);
    frame.put_u8(0);
    frame.put_uint(body.len() as u64, 3);
    frame.put_slice(body);
    frame.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_whole_however_they_arrive() {
        let sent = [data(1, false, b"hello"), ping(7), data(1, true, b"")].concat();
        let (mut received, mut frames) = (BytesMut::new(), vec![]);
        for byte in sent {
            received.put_u8(byte);
            frames.extend(Frame::take(&mut received).unwrap());
        }
        let hello = Frame::Data { stream: 1, fin: false, data: Bytes::from_static(b"hello") };
        let end = Frame::Data { stream: 1, fin: true, data: Bytes::new() };
        assert_eq!(frames, [hello, Frame::Ping { id: 7 }, end]);
    }

    #[test]
    fn nonsense_is_refused() {
        let take = |bytes: &[u8]| Frame::take(&mut BytesMut::from(bytes)).unwrap_err();
        assert_eq!(take(&[0x80, 2, 0, 1, 0, 0, 0, 0]), Malformed::Version(2));
        assert_eq!(take(&[0x80, 3, 0, 6, 0, 0, 0, 0]), Malformed::Short);
        assert_eq!(take(&[0, 0, 0, 1, 0, 0xff, 0xff, 0xff]), Malformed::Length(0xff_ffff));
    }
}
