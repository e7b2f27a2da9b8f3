//! Protobuf's wire format: tags, numbers and byte strings.

use super::ProtobufError;

/// What a field carries.
#[derive(Debug, Clone, Copy)]
pub(super) enum Payload<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32,
}

impl<'a> Payload<'a> {
    /// The bytes of a length-delimited field.
    pub(super) fn bytes(&self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The number of the wire type.
    pub(super) fn wire_type(&self) -> u8 {
        match self {
            Self::Varint(_) => 0,
            Self::Fixed64(_) => 1,
            Self::Bytes(_) => 2,
            Self::Fixed32 => 5,
        }
    }
}

/// Reads the fields of one message.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    message: &'a str,
}

impl<'a> Reader<'a> {
    /// `message` is the Go name that errors mention.
    pub(super) fn new(bytes: &'a [u8], message: &'a str) -> Self {
        Self { rest: bytes, message }
    }

    pub(super) fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next field's number and what it carries.
    pub(super) fn next_field(&mut self) -> Result<Option<(u32, Payload<'a>)>, ProtobufError> {
        if self.is_done() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let illegal = |number: i32| ProtobufError::IllegalTag {
            message: self.message.to_owned(),
            number,
            tag,
        };
        let number = i32::try_from(tag >> 3).map_err(|_| illegal(0))?;
        if number <= 0 {
            return Err(illegal(number));
        }
        let payload = match tag & 7 {
            0 => Payload::Varint(self.varint()?),
            1 => {
                let bytes = self.take(8)?;
                let word = bytes.try_into().map_err(|_| ProtobufError::UnexpectedEnd)?;
                Payload::Fixed64(u64::from_le_bytes(word))
            }
            2 => {
                let length = self.varint()?;
                let length = usize::try_from(length).map_err(|_| ProtobufError::Overflow)?;
                Payload::Bytes(self.take(length)?)
            }
            5 => {
                self.take(4)?;
                Payload::Fixed32
            }
            // Groups are not used by Kubernetes.
            _ => return Err(illegal(number)),
        };
        Ok(Some((number.unsigned_abs(), payload)))
    }

    pub(super) fn varint(&mut self) -> Result<u64, ProtobufError> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or(ProtobufError::UnexpectedEnd)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(ProtobufError::Overflow)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], ProtobufError> {
        let (taken, rest) =
            self.rest.split_at_checked(length).ok_or(ProtobufError::UnexpectedEnd)?;
        self.rest = rest;
        Ok(taken)
    }
}
