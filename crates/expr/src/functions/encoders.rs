//! Base64.

use std::sync::Arc;

use super::{Call, Implementation};
use crate::value::{EvalError, Outcome, Value};

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

pub(super) fn find(name: &str) -> Option<Implementation> {
    Some(match name {
        "base64.decode" => decode,
        "base64.encode" => encode,
        _ => return None,
    })
}

fn decode<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let [Value::String(text)] = args else { return Err(call.mismatch(args)) };
    let bytes = decode_with(text, STANDARD, Padding::Required)
        .or_else(|_| decode_with(text, STANDARD, Padding::Absent))
        .map_err(|at| EvalError::new(corrupt(at)))?;
    Ok(Value::Bytes(Arc::from(bytes)))
}

fn encode<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let [Value::Bytes(bytes)] = args else { return Err(call.mismatch(args)) };
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut group = 0_u32;
        for index in 0..3 {
            group = group << 8 | u32::from(chunk.get(index).copied().unwrap_or(0));
        }
        for index in 0..4 {
            if index > chunk.len() {
                out.push('=');
            } else {
                let sextet = group >> (18 - 6 * index) & 63;
                out.push(char::from(STANDARD[sextet as usize]));
            }
        }
    }
    Ok(Value::from(out))
}

fn corrupt(at: usize) -> String {
    format!("illegal base64 data at input byte {at}")
}

#[derive(Clone, Copy, PartialEq)]
enum Padding {
    Required,
    Absent,
}

/// The bytes, or the offset of the first character that does not fit. Line ends are skipped.
fn decode_with(text: &str, alphabet: &[u8; 64], padding: Padding) -> Result<Vec<u8>, usize> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut group, mut count) = (0_u32, 0_usize);
    let mut bytes = text.bytes().enumerate().filter(|(_, byte)| !matches!(byte, b'\n' | b'\r'));
    while let Some((at, byte)) = bytes.next() {
        let Some(sextet) = alphabet.iter().position(|known| *known == byte) else {
            if byte != b'=' || padding == Padding::Absent || count < 2 {
                return Err(at);
            }
            if count == 2 {
                match bytes.next() {
                    Some((_, b'=')) => {}
                    Some((at, _)) => return Err(at),
                    None => return Err(text.len()),
                }
            }
            if let Some((at, _)) = bytes.next() {
                return Err(at);
            }
            flush(&mut out, group, count);
            return Ok(out);
        };
        group = group << 6 | u32::try_from(sextet).unwrap_or(0);
        count += 1;
        if count == 4 {
            flush(&mut out, group, count);
            (group, count) = (0, 0);
        }
    }
    match (count, padding) {
        (0, _) => Ok(out),
        (1, _) | (_, Padding::Required) => Err(text.len() - count),
        _ => {
            flush(&mut out, group, count);
            Ok(out)
        }
    }
}

fn flush(out: &mut Vec<u8>, group: u32, count: usize) {
    let group = group << (6 * (4 - count));
    let [_, bytes @ ..] = group.to_be_bytes();
    out.extend_from_slice(&bytes[..count - 1]);
}

/// A value of a `byte` field, which is read with the URL alphabet.
pub(crate) fn decode_schema(text: &str) -> Result<Vec<u8>, String> {
    decode_with(text, URL, Padding::Required).map_err(corrupt)
}

/// Whether the text is base64 with padding.
pub(crate) fn is_standard(text: &str) -> bool {
    decode_with(text, STANDARD, Padding::Required).is_ok()
}
