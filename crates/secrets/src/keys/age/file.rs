//! The file format of age: armor, a header with a stanza for each recipient, a payload in chunks.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::{hkdf, hmac};

use super::Identity;
use sluice_base::redacted::Redacted;

const VERSION: &str = "age-encryption.org/v1";
const BEGIN: &str = "-----BEGIN AGE ENCRYPTED FILE-----";
const END: &str = "-----END AGE ENCRYPTED FILE-----";
const CHUNK: usize = 64 * 1024;
const TAG: usize = 16;

/// The key of a file.
pub(super) type FileKey = Redacted<[u8; 16]>;

/// Decodes the armor.
pub(super) fn dearmor(text: &str) -> Result<Vec<u8>, &'static str> {
    let inside = text.trim().strip_prefix(BEGIN).and_then(|text| text.strip_suffix(END));
    let inside = inside.ok_or("failed to read header: invalid armor")?;
    let letters: String = inside.chars().filter(|letter| !letter.is_ascii_whitespace()).collect();
    STANDARD.decode(letters).map_err(|_| "failed to read header: invalid armor")
}

/// What stands before the payload.
pub(super) struct Header<'f> {
    stanzas: Vec<Stanza<'f>>,
    /// The bytes that the MAC covers.
    signed: &'f [u8],
    mac: Vec<u8>,
    pub(super) payload: &'f [u8],
}

struct Stanza<'f> {
    arguments: Vec<&'f str>,
    body: Vec<u8>,
}

impl<'f> Header<'f> {
    pub(super) fn read(file: &'f [u8]) -> Result<Self, &'static str> {
        let mut lines = Lines { rest: file };
        if lines.next()? != VERSION {
            return Err("unexpected intro");
        }
        let mut stanzas = Vec::new();
        loop {
            let start = file.len() - lines.rest.len();
            let line = lines.next()?;
            if let Some(mac) = line.strip_prefix("--- ") {
                let mac = STANDARD_NO_PAD.decode(mac).map_err(|_| "malformed closing line")?;
                let signed = file.get(..start + 3).unwrap_or_default();
                return Ok(Self { stanzas, signed, mac, payload: lines.rest });
            }
            let arguments = line.strip_prefix("-> ").ok_or("malformed stanza opening line")?;
            let mut body = String::new();
            loop {
                let line = lines.next()?;
                body.push_str(line);
                if line.len() > 64 {
                    return Err("malformed body line");
                }
                if line.len() < 64 {
                    break;
                }
            }
            let body = STANDARD_NO_PAD.decode(body).map_err(|_| "malformed body line")?;
            stanzas.push(Stanza { arguments: arguments.split(' ').collect(), body });
        }
    }

    /// The file key, if a stanza is for the identity.
    pub(super) fn file_key(&self, identity: &Identity) -> Option<FileKey> {
        self.stanzas.iter().find_map(|stanza| stanza.unwrap(identity))
    }

    /// Verifies the MAC of the header.
    pub(super) fn check(&self, file_key: &FileKey) -> Result<(), &'static str> {
        let key = derived(file_key.expose(), &[], b"header").ok_or("bad header MAC")?;
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
        hmac::verify(&key, self.signed, &self.mac).map_err(|_| "bad header MAC")
    }
}

impl Stanza<'_> {
    fn unwrap(&self, identity: &Identity) -> Option<FileKey> {
        let ["X25519", share] = self.arguments.as_slice() else { return None };
        let ephemeral: [u8; 32] = STANDARD_NO_PAD.decode(share).ok()?.try_into().ok()?;
        let salt = [ephemeral, identity.public].concat();
        let shared = identity.shared(ephemeral)?;
        let key = derived(shared.expose(), &salt, b"age-encryption.org/v1/X25519")?;
        let mut body = self.body.clone();
        let plain = open(&key, [0; 12], &mut body)?;
        <[u8; 16]>::try_from(plain).ok().map(Redacted::new)
    }
}

/// Decrypts the payload after the header.
pub(super) fn open_payload(payload: &[u8], file_key: &FileKey) -> Result<Vec<u8>, &'static str> {
    const FAILED: &str = "failed to decrypt and authenticate payload chunk";
    let (nonce, sealed) = payload.split_at_checked(16).ok_or("failed to read nonce")?;
    let key = derived(file_key.expose(), nonce, b"payload").ok_or(FAILED)?;
    let mut out = Vec::new();
    let mut chunks = sealed.chunks(CHUNK + TAG).peekable();
    if chunks.peek().is_none() {
        return Err("unexpected EOF");
    }
    let mut counter = 0_u64;
    while let Some(chunk) = chunks.next() {
        // Eleven bytes of counter, and one that marks the last chunk.
        let mut nonce = [0; 12];
        nonce[3..11].copy_from_slice(&counter.to_be_bytes());
        nonce[11] = u8::from(chunks.peek().is_none());
        let mut chunk = chunk.to_vec();
        let plain = open(&key, nonce, &mut chunk).ok_or(FAILED)?;
        if plain.is_empty() && counter > 0 {
            return Err("last chunk is empty, try age v1.0.0, and please consider reporting this");
        }
        out.extend_from_slice(plain);
        counter += 1;
    }
    Ok(out)
}

fn open<'c>(key: &[u8; 32], nonce: [u8; 12], sealed: &'c mut [u8]) -> Option<&'c [u8]> {
    let key = LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key).ok()?);
    let nonce = Nonce::assume_unique_for_key(nonce);
    key.open_in_place(nonce, Aad::empty(), sealed).ok().map(|plain| &*plain)
}

fn derived(secret: &[u8], salt: &[u8], info: &[u8]) -> Option<[u8; 32]> {
    let mut out = [0; 32];
    let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, salt);
    let info = [info];
    let key = salt.extract(secret);
    key.expand(&info, hkdf::HKDF_SHA256).ok()?.fill(&mut out).ok()?;
    Some(out)
}

/// The lines of the header, which is text; the payload after it is not.
struct Lines<'f> {
    rest: &'f [u8],
}

impl<'f> Lines<'f> {
    fn next(&mut self) -> Result<&'f str, &'static str> {
        let end = self.rest.iter().position(|byte| *byte == b'\n').ok_or("unexpected EOF")?;
        let (line, rest) = self.rest.split_at(end);
        self.rest = rest.get(1..).unwrap_or_default();
        std::str::from_utf8(line).map_err(|_| "malformed header")
    }
}
