//! URLs, parsed as Go's `net/url` parses them.

use sluice_base::go::quote;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::{Call, Implementation, ip};
use crate::value::{EvalError, Key, Map, Outcome, Value};

/// A parsed URL.
#[derive(Clone, Debug, Default)]
pub struct Url {
    scheme: String,
    opaque: String,
    user: Option<(String, Option<String>)>,
    host: String,
    path: Vec<u8>,
    raw_path: String,
    omit_host: bool,
    force_query: bool,
    query: String,
    fragment: Option<String>,
}

/// Which characters a part of a URL may hold unescaped.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Path,
    Host,
    Zone,
    User,
    Query,
    Fragment,
}

impl Part {
    fn allows(self, byte: u8) -> bool {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            return true;
        }
        match self {
            Part::Path => b"$&+,/:;=@".contains(&byte),
            Part::Host | Part::Zone => b"!\"$&'()*+,:;<=>[]".contains(&byte),
            Part::User => b"$&+,;=".contains(&byte),
            Part::Query => false,
            Part::Fragment => b"!$&()*+,/:;=?@".contains(&byte),
        }
    }
}

fn hexadecimal(byte: Option<&u8>) -> Option<u8> {
    u8::try_from(char::from(*byte?).to_digit(16)?).ok()
}

fn unescape(text: &str, part: Part) -> Result<Vec<u8>, String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        match byte {
            b'%' => {
                let shown = |end: usize| {
                    let end = end.min(bytes.len());
                    let shown = String::from_utf8_lossy(&bytes[at..end]).into_owned();
                    Err(format!("invalid URL escape {}", quote(&shown)))
                };
                let (Some(high), Some(low)) =
                    (hexadecimal(bytes.get(at + 1)), hexadecimal(bytes.get(at + 2)))
                else {
                    return shown(at + 3);
                };
                let value = high << 4 | low;
                let percent = value == b'%' && &bytes[at..at + 3] == b"%25";
                if part == Part::Host && high < 8 && !percent {
                    return shown(at + 3);
                }
                if part == Part::Zone && !percent && value != b' ' && !Part::Host.allows(value) {
                    return shown(at + 3);
                }
                out.push(value);
                at += 3;
                continue;
            }
            b'+' if part == Part::Query => out.push(b' '),
            _ => {
                if matches!(part, Part::Host | Part::Zone) && byte.is_ascii() && !part.allows(byte)
                {
                    let shown = quote(&char::from(byte).to_string());
                    return Err(format!("invalid character {shown} in host name"));
                }
                out.push(byte);
            }
        }
        at += 1;
    }
    Ok(out)
}

fn unescape_text(text: &str, part: Part) -> Result<String, String> {
    unescape(text, part).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn escape(bytes: &[u8], part: Part) -> String {
    let mut out = String::with_capacity(bytes.len());
    for byte in bytes {
        if part.allows(*byte) {
            out.push(char::from(*byte));
        } else {
            out.push('%');
            for half in [byte >> 4, byte & 15] {
                out.extend(char::from_digit(u32::from(half), 16).map(|c| c.to_ascii_uppercase()));
            }
        }
    }
    out
}

/// The scheme and what follows it.
fn scheme(text: &str) -> Result<(&str, &str), String> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => return Ok(("", text)),
        }
    }
    Ok(("", text))
}

fn is_port(text: &str) -> bool {
    text.is_empty()
        || text.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()))
}

impl Url {
    fn parse_part(text: &str, request: bool) -> Result<Url, String> {
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        if text.is_empty() && request {
            return Err("empty url".to_owned());
        }
        let mut url = Url::default();
        if text == "*" {
            url.path = b"*".to_vec();
            return Ok(url);
        }
        let (scheme, mut rest) = scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        if rest.ends_with('?') && rest.matches('?').count() == 1 {
            url.force_query = true;
            rest = &rest[..rest.len() - 1];
        } else if let Some((before, query)) = rest.split_once('?') {
            query.clone_into(&mut url.query);
            rest = before;
        }
        if !rest.starts_with('/') {
            if !url.scheme.is_empty() {
                rest.clone_into(&mut url.opaque);
                return Ok(url);
            }
            if request {
                return Err("invalid URI for request".to_owned());
            }
            if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
                return Err("first path segment in URL cannot contain colon".to_owned());
            }
        }
        let authority = !url.scheme.is_empty() || !request && !rest.starts_with("///");
        if authority && let Some(after) = rest.strip_prefix("//") {
            let end = after.find('/').unwrap_or(after.len());
            let (authority, path) = after.split_at(end);
            rest = path;
            url.set_authority(authority)?;
        } else if !url.scheme.is_empty() && rest.starts_with('/') {
            url.omit_host = true;
        }
        url.path = unescape(rest, Part::Path)?;
        if escape(&url.path, Part::Path) != rest {
            rest.clone_into(&mut url.raw_path);
        }
        Ok(url)
    }

    fn set_authority(&mut self, authority: &str) -> Result<(), String> {
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        self.host = self.parse_host(host)?;
        let Some(user) = user else { return Ok(()) };
        let valid = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
        if !user.chars().all(valid) {
            return Err("net/url: invalid userinfo".to_owned());
        }
        self.user = Some(match user.split_once(':') {
            None => (unescape_text(user, Part::User)?, None),
            Some((name, password)) => {
                let name = unescape_text(name, Part::User)?;
                (name, Some(unescape_text(password, Part::User)?))
            }
        });
        Ok(())
    }

    fn parse_host(&self, host: &str) -> Result<String, String> {
        let invalid_port = |port: &str| format!("invalid port {} after host", quote(port));
        match host.rfind('[') {
            Some(0) => {
                let close = host.rfind(']').ok_or("missing ']' in host")?;
                let port = &host[close + 1..];
                if !is_port(port) {
                    return Err(invalid_port(port));
                }
                let port = unescape_text(port, Part::Host)?;
                let inside = &host[1..close];
                let name = match inside.find("%25") {
                    Some(zone) => {
                        unescape_text(&inside[..zone], Part::Host)?
                            + &unescape_text(&inside[zone..], Part::Zone)?
                    }
                    None => unescape_text(inside, Part::Host)?,
                };
                let (address, _) =
                    ip::address(&name).map_err(|why| format!("invalid host: {why}"))?;
                if address.is_ipv4() {
                    return Err("invalid IP-literal".to_owned());
                }
                return Ok(format!("[{name}]{port}"));
            }
            Some(_) => return Err("invalid IP-literal".to_owned()),
            None => {}
        }
        if let Some(first) = host.find(':') {
            let last = host.rfind(':').unwrap_or(first);
            let web = self.scheme == "http" || self.scheme == "https";
            let port = &host[if last != first && !web { last } else { first }..];
            if !is_port(port) {
                return Err(invalid_port(port));
            }
        }
        unescape_text(host, Part::Host)
    }

    fn escaped_path(&self) -> String {
        let valid = |byte: u8| b"!$&'()*+,;=:@[]%".contains(&byte) || Part::Path.allows(byte);
        if !self.raw_path.is_empty()
            && self.raw_path.bytes().all(valid)
            && unescape(&self.raw_path, Part::Path).as_ref() == Ok(&self.path)
        {
            return self.raw_path.clone();
        }
        if self.path == b"*" { "*".to_owned() } else { escape(&self.path, Part::Path) }
    }

    /// The host without port and brackets, and the port.
    fn host_port(&self) -> (&str, &str) {
        let (mut host, mut port) = (self.host.as_str(), "");
        if let Some(colon) = host.rfind(':')
            && is_port(&host[colon..])
        {
            (host, port) = (&host[..colon], &host[colon + 1..]);
        }
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        (bare.unwrap_or(host), port)
    }

    fn query_values(&self) -> BTreeMap<Key, Value<'static>> {
        let mut values: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for pair in self.query.split('&') {
            if pair.is_empty() || pair.contains(';') {
                continue;
            }
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if let (Ok(key), Ok(value)) =
                (unescape_text(key, Part::Query), unescape_text(value, Part::Query))
            {
                values.entry(key).or_default().push(Value::from(value));
            }
        }
        values
            .into_iter()
            .map(|(key, values)| (Key::String(Arc::from(key)), Value::from(values)))
            .collect()
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        if !self.scheme.is_empty() {
            out.push_str(&self.scheme);
            out.push(':');
        }
        if self.opaque.is_empty() {
            let named = !self.host.is_empty() || self.user.is_some();
            if named || !self.scheme.is_empty() && !self.omit_host {
                if named || !self.path.is_empty() {
                    out.push_str("//");
                }
                if let Some((name, password)) = &self.user {
                    out.push_str(&escape(name.as_bytes(), Part::User));
                    if let Some(password) = password {
                        out.push(':');
                        out.push_str(&escape(password.as_bytes(), Part::User));
                    }
                    out.push('@');
                }
                out.push_str(&escape(self.host.as_bytes(), Part::Host));
            }
            let path = self.escaped_path();
            if !path.is_empty() && !path.starts_with('/') && !self.host.is_empty() {
                out.push('/');
            }
            if out.is_empty() && path.split('/').next().is_some_and(|part| part.contains(':')) {
                out.push_str("./");
            }
            out.push_str(&path);
        } else {
            out.push_str(&self.opaque);
        }
        if self.force_query || !self.query.is_empty() {
            out.push('?');
            out.push_str(&self.query);
        }
        if let Some(fragment) = &self.fragment {
            out.push('#');
            out.push_str(fragment);
        }
        f.write_str(&out)
    }
}

/// What `url.ParseRequestURI` says against a text.
pub(super) fn request_error(text: &str) -> Option<String> {
    Url::parse_part(text, true).err().map(|why| format!("parse {}: {why}", quote(text)))
}

fn parse(text: &str) -> Result<Url, EvalError> {
    let refuse = |why: String| {
        EvalError::new(format!("URL parse error during conversion from string: {why}"))
    };
    if let Some(why) = request_error(text) {
        return Err(refuse(why));
    }
    let (before, fragment) = match text.split_once('#') {
        Some((before, fragment)) => (before, Some(fragment)),
        None => (text, None),
    };
    let mut url = Url::parse_part(before, false)
        .map_err(|why| refuse(format!("parse {}: {why}", quote(before))))?;
    if let Some(fragment) = fragment.filter(|fragment| !fragment.is_empty()) {
        let bytes = unescape(fragment, Part::Fragment)
            .map_err(|why| refuse(format!("parse {}: {why}", quote(text))))?;
        url.fragment = Some(escape(&bytes, Part::Fragment));
    }
    Ok(url)
}

pub(super) fn find(name: &str) -> Option<Implementation> {
    Some(match name {
        "url" => |call, args| match args {
            [Value::String(text)] => parse(text).map(|url| Value::Url(Arc::new(url))),
            _ => Err(call.mismatch(args)),
        },
        "isURL" => |call, args| match args {
            [Value::String(text)] => Ok(Value::Bool(request_error(text).is_none())),
            _ => Err(call.mismatch(args)),
        },
        "getScheme" | "getHost" | "getHostname" | "getPort" | "getEscapedPath" | "getQuery" => get,
        _ => return None,
    })
}

fn get<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let [Value::Url(url)] = args else { return Err(call.mismatch(args)) };
    Ok(Value::from(match call.function {
        "getScheme" => url.scheme.clone(),
        "getHost" => url.host.clone(),
        "getHostname" => url.host_port().0.to_owned(),
        "getPort" => url.host_port().1.to_owned(),
        "getEscapedPath" => url.escaped_path(),
        _ => return Ok(Value::Map(Map::Values(Arc::new(url.query_values())))),
    }))
}
