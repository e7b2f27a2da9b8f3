//! Networks.

use sluice_base::go::quote;

use std::fmt;
use std::net::IpAddr;

use super::{Call, Implementation, ip};
use crate::value::{EvalError, Outcome, Value};

/// An address and how many of its bits name the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    /// The address, host bits included.
    pub address: IpAddr,
    /// The length of the prefix.
    pub bits: u8,
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl Cidr {
    /// The address with the host bits cleared.
    fn masked(&self) -> Cidr {
        Cidr { address: mask(self.address, self.bits), bits: self.bits }
    }

    fn contains(&self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4()
            && mask(self.address, self.bits) == mask(address, self.bits)
    }

    fn contains_network(&self, other: &Cidr) -> bool {
        self.bits <= other.bits && self.contains(other.address)
    }
}

fn mask(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let kept = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            IpAddr::V4((address.to_bits() & kept).into())
        }
        IpAddr::V6(address) => {
            let kept = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            IpAddr::V6((address.to_bits() & kept).into())
        }
    }
}

pub(super) fn find(name: &str) -> Option<Implementation> {
    Some(match name {
        "cidr" => |call, args| match args {
            [Value::String(text)] => parse(text).map(Value::Cidr),
            _ => Err(call.mismatch(args)),
        },
        "isCIDR" => |call, args| match args {
            [Value::String(text)] => Ok(Value::Bool(parse(text).is_ok())),
            _ => Err(call.mismatch(args)),
        },
        "prefixLength" => |call, args| match args {
            [Value::Cidr(network)] => Ok(Value::Int(i64::from(network.bits))),
            _ => Err(call.mismatch(args)),
        },
        "masked" => |call, args| match args {
            [Value::Cidr(network)] => Ok(Value::Cidr(network.masked())),
            _ => Err(call.mismatch(args)),
        },
        "containsIP" => contains_ip,
        "containsCIDR" => contains_cidr,
        _ => return None,
    })
}

fn contains_ip<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    match args {
        [Value::Cidr(network), Value::Ip(address)] => Ok(Value::Bool(network.contains(*address))),
        // A text that is no address is answered without saying so.
        [Value::Cidr(network), Value::String(text)] => match ip::parse(text) {
            Ok(address) => Ok(Value::Bool(network.contains(address))),
            Err(_) => Err(EvalError::no_such_overload()),
        },
        _ => Err(call.mismatch(args)),
    }
}

fn contains_cidr<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    match args {
        [Value::Cidr(network), Value::Cidr(other)] => {
            Ok(Value::Bool(network.contains_network(other)))
        }
        [Value::Cidr(network), Value::String(text)] => {
            Ok(Value::Bool(network.contains_network(&parse(text)?)))
        }
        _ => Err(call.mismatch(args)),
    }
}

fn parse(text: &str) -> Result<Cidr, EvalError> {
    network(text).map_err(|why| {
        EvalError::new(format!("network address parse error during conversion from string: {why}"))
    })
}

fn network(text: &str) -> Result<Cidr, String> {
    let refuse = |why: String| {
        format!(
            "network address parse error during conversion from string: netip.ParsePrefix({}): \
             {why}",
            quote(text)
        )
    };
    let (before, bits) = text.rsplit_once('/').ok_or_else(|| refuse("no '/'".to_owned()))?;
    let (address, zone) = ip::address(before).map_err(refuse)?;
    if zone {
        return Err(refuse("IPv6 zones cannot be present in a prefix".to_owned()));
    }
    let bad = || refuse(format!("bad bits after slash: {}", quote(bits)));
    if bits.len() > 1 && !bits.starts_with(|c: char| ('1'..='9').contains(&c)) {
        return Err(bad());
    }
    let length: i64 = bits.parse().map_err(|_| bad())?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let length = u8::try_from(length)
        .ok()
        .filter(|length| *length <= most)
        .ok_or_else(|| refuse("prefix length out of range".to_owned()))?;
    if ip::is_mapped(address) {
        return Err(format!("IPv4-mapped IPv6 address {} is not allowed", quote(text)));
    }
    Ok(Cidr { address, bits: length })
}
