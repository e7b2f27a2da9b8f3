//! Git's pkt-lines: four hex digits of length, then the data; three special codes.

use bytes::{Buf as _, Bytes, BytesMut};

use super::error::Cause;

/// One pkt-line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Packet {
    /// `0000`: the end of a message.
    Flush,
    /// `0001`: the end of a section.
    Delimiter,
    /// `0002`: the end of a response.
    End,
    /// A line or a chunk of a stream.
    Data(Bytes),
}

/// The maximum length of a pkt-line, with its prefix.
const LARGEST: usize = 65520;

/// Decodes bytes into pkt-lines.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    buffer: BytesMut,
}

impl Decoder {
    /// Adds bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next pkt-line; `None` if more bytes are needed.
    pub(super) fn next(&mut self) -> Result<Option<Packet>, Cause> {
        let Some(digits) = self.buffer.get(..4) else { return Ok(None) };
        let length = std::str::from_utf8(digits)
            .ok()
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| usize::from_str_radix(digits, 16).ok())
            .ok_or(Cause::Frame)?;
        let packet = match length {
            0 => Packet::Flush,
            1 => Packet::Delimiter,
            2 => Packet::End,
            3 => return Err(Cause::Frame),
            _ if length > LARGEST => return Err(Cause::Frame),
            _ if self.buffer.len() < length => return Ok(None),
            _ => {
                let mut frame = self.buffer.split_to(length);
                frame.advance(4);
                return Ok(Some(Packet::Data(frame.freeze())));
            }
        };
        self.buffer.advance(4);
        Ok(Some(packet))
    }
}

impl Packet {
    /// The text of a line without its newline.
    pub(super) fn line(&self) -> Option<String> {
        let Self::Data(data) = self else { return None };
        let text = data.strip_suffix(b"\n").unwrap_or(data);
        Some(String::from_utf8_lossy(text).into_owned())
    }
}

/// Appends a line or a chunk. The caller splits data that does not fit.
pub(super) fn write(out: &mut Vec<u8>, data: &[u8]) {
    debug_assert!(data.len() + 4 <= LARGEST, "callers split what is larger");
    out.extend_from_slice(format!("{:04x}", data.len() + 4).as_bytes());
    out.extend_from_slice(data);
}

/// Appends a line of text with its newline.
pub(super) fn write_line(out: &mut Vec<u8>, line: &str) {
    write(out, format!("{line}\n").as_bytes());
}

/// Appends `0000`.
pub(super) fn write_flush(out: &mut Vec<u8>) {
    out.extend_from_slice(b"0000");
}

/// Appends `0001`.
pub(super) fn write_delimiter(out: &mut Vec<u8>) {
    out.extend_from_slice(b"0001");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn frames_come_back_however_they_are_cut(
            lines in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 0..6),
            step in 1_usize..20,
        ) {
            let mut bytes = Vec::new();
            for line in &lines {
                write(&mut bytes, line);
            }
            write_flush(&mut bytes);
            let mut decoder = Decoder::default();
            let mut packets = Vec::new();
            for piece in bytes.chunks(step) {
                decoder.feed(piece);
                while let Some(packet) = decoder.next().expect("well framed") {
                    packets.push(packet);
                }
            }
            prop_assert!(decoder.buffer.is_empty());
            let mut expected: Vec<Packet> =
                lines.into_iter().map(|line| Packet::Data(line.into())).collect();
            expected.push(Packet::Flush);
            prop_assert_eq!(packets, expected);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut decoder = Decoder::default();
            decoder.feed(&bytes);
            while let Ok(Some(_)) = decoder.next() {}
        }
    }
}
