//! IP addresses, parsed as Go's `netip` parses them.

use sluice_base::go::quote;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Call, Implementation};
use crate::value::{EvalError, Outcome, Value};

pub(super) fn find(name: &str) -> Option<Implementation> {
    Some(match name {
        // A network has a method of the same name.
        "ip" => |call, args| match args {
            [Value::Cidr(network)] if call.overload != Some("string_to_ip") => {
                Ok(Value::Ip(network.address))
            }
            [Value::String(text)] if call.overload != Some("cidr_ip") => parse(text).map(Value::Ip),
            _ => Err(call.mismatch(args)),
        },
        "isIP" => is_ip,
        "ip.isCanonical" => is_canonical,
        "family"
        | "isUnspecified"
        | "isLoopback"
        | "isLinkLocalMulticast"
        | "isLinkLocalUnicast"
        | "isGlobalUnicast" => property,
        _ => return None,
    })
}

/// What is wrong with an address: the message, and the rest of the text where it was noticed.
struct Wrong(&'static str, String);

impl Wrong {
    fn show(&self, text: &str) -> String {
        let Wrong(message, at) = self;
        if at.is_empty() {
            format!("ParseAddr({}): {message}", quote(text))
        } else {
            format!("ParseAddr({}): {message} (at {})", quote(text), quote(at))
        }
    }
}

/// An address as text, and whether it names a zone.
pub(super) fn address(text: &str) -> Result<(IpAddr, bool), String> {
    let wrong = |error: Wrong| error.show(text);
    for byte in text.bytes() {
        match byte {
            b'.' => return v4(text).map(|found| (IpAddr::V4(found), false)).map_err(wrong),
            b':' => return v6(text).map_err(wrong),
            b'%' => return Err(Wrong("missing IPv6 address", String::new()).show(text)),
            _ => {}
        }
    }
    Err(Wrong("unable to parse IP", String::new()).show(text))
}

fn v4(text: &str) -> Result<Ipv4Addr, Wrong> {
    let simple = |message| Err(Wrong(message, String::new()));
    let bytes = text.as_bytes();
    let mut fields = [0_u8; 4];
    let (mut value, mut position, mut digits) = (0_u16, 0, 0);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return simple("IPv4 field has octet with leading zero");
                }
                value = value * 10 + u16::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return simple("IPv4 field has value >255");
                }
            }
            b'.' => {
                if at == 0 || at == bytes.len() - 1 || bytes[at - 1] == b'.' {
                    let rest = text[at..].to_owned();
                    return Err(Wrong("IPv4 field must have at least one digit", rest));
                }
                if position == 3 {
                    return simple("IPv4 address too long");
                }
                fields[position] = u8::try_from(value).unwrap_or(u8::MAX);
                (value, position, digits) = (0, position + 1, 0);
            }
            _ => {
                let rest = String::from_utf8_lossy(&bytes[at..]).into_owned();
                return Err(Wrong("unexpected character", rest));
            }
        }
    }
    if position < 3 {
        return simple("IPv4 address too short");
    }
    fields[3] = u8::try_from(value).unwrap_or(u8::MAX);
    Ok(Ipv4Addr::from(fields))
}

fn v6(text: &str) -> Result<(IpAddr, bool), Wrong> {
    let simple = |message| Err(Wrong(message, String::new()));
    let (mut rest, zone) = match text.split_once('%') {
        Some((_, "")) => return simple("zone must be a non-empty string"),
        Some((address, _)) => (address, true),
        None => (text, false),
    };
    let mut bytes = [0_u8; 16];
    let mut ellipsis = None;
    if let Some(after) = rest.strip_prefix("::") {
        ellipsis = Some(0);
        rest = after;
        if rest.is_empty() {
            return Ok((IpAddr::V6(Ipv6Addr::UNSPECIFIED), zone));
        }
    }
    let mut filled = 0;
    while filled < 16 {
        let at = |message| Err(Wrong(message, rest.to_owned()));
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits > 4 {
            return at("each group must have 4 or less digits");
        }
        if digits == 0 {
            return at("each colon-separated field must have at least one digit");
        }
        if rest[digits..].starts_with('.') {
            if ellipsis.is_none() && filled != 12 {
                return at("embedded IPv4 address must replace the final 2 fields of the address");
            }
            if filled + 4 > 16 {
                return at("too many hex fields to fit an embedded IPv4 at the end of the address");
            }
            bytes[filled..filled + 4].copy_from_slice(&v4(rest)?.octets());
            rest = "";
            filled += 4;
            break;
        }
        let group = u16::from_str_radix(&rest[..digits], 16).unwrap_or(0);
        bytes[filled..filled + 2].copy_from_slice(&group.to_be_bytes());
        filled += 2;
        rest = &rest[digits..];
        if rest.is_empty() {
            break;
        }
        let at = |message| Err(Wrong(message, rest.to_owned()));
        if !rest.starts_with(':') {
            return at("unexpected character, want colon");
        }
        if rest.len() == 1 {
            return at("colon must be followed by more characters");
        }
        rest = &rest[1..];
        if rest.starts_with(':') {
            if ellipsis.is_some() {
                return Err(Wrong("multiple :: in address", rest.to_owned()));
            }
            ellipsis = Some(filled);
            rest = &rest[1..];
            if rest.is_empty() {
                break;
            }
        }
    }
    if !rest.is_empty() {
        return Err(Wrong("trailing garbage after address", rest.to_owned()));
    }
    match ellipsis {
        None if filled < 16 => return simple("address string too short"),
        Some(_) if filled == 16 => {
            return simple("the :: must expand to at least one field of zeros");
        }
        Some(start) => {
            bytes.copy_within(start..filled, start + 16 - filled);
            bytes[start..start + 16 - filled].fill(0);
        }
        None => {}
    }
    Ok((IpAddr::V6(Ipv6Addr::from(bytes)), zone))
}

/// Whether the address is an IPv4 one in IPv6's clothes.
pub(super) fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

/// The address as `netip` prints it.
pub(super) fn parse(text: &str) -> Result<IpAddr, EvalError> {
    let (address, zone) = address(text).map_err(|error| {
        EvalError::new(format!(
            "IP Address {} parse error during conversion from string: {error}",
            quote(text)
        ))
    })?;
    if zone {
        let message = format!("IP address {} with zone value is not allowed", quote(text));
        return Err(EvalError::new(message));
    }
    if is_mapped(address) {
        let message = format!("IPv4-mapped IPv6 address {} is not allowed", quote(text));
        return Err(EvalError::new(message));
    }
    Ok(address)
}

fn is_ip<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let [Value::String(text)] = args else { return Err(call.mismatch(args)) };
    Ok(Value::Bool(parse(text).is_ok()))
}

fn is_canonical<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let [Value::String(text)] = args else { return Err(call.mismatch(args)) };
    Ok(Value::Bool(parse(text)?.to_string() == **text))
}

fn property<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let [Value::Ip(address)] = args else { return Err(call.mismatch(args)) };
    let multicast = match address {
        IpAddr::V4(address) => address.octets()[..3] == [224, 0, 0],
        IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
    };
    let link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.segments()[0] & 0xffc0 == 0xfe80,
    };
    Ok(match call.function {
        "family" => Value::Int(if address.is_ipv4() { 4 } else { 6 }),
        "isUnspecified" => Value::Bool(address.is_unspecified()),
        "isLoopback" => Value::Bool(address.is_loopback()),
        "isLinkLocalMulticast" => Value::Bool(multicast),
        "isLinkLocalUnicast" => Value::Bool(link_local),
        _ => {
            let broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
            Value::Bool(
                !broadcast
                    && !address.is_unspecified()
                    && !address.is_loopback()
                    && !address.is_multicast()
                    && !link_local,
            )
        }
    })
}
