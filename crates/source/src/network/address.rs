//! Classes of IP addresses: loopback, link-local, private, public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The class of an address in the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressClass {
    /// On the Internet.
    Public,
    /// This machine.
    Loopback,
    /// The unspecified address, which reaches this machine.
    Unspecified,
    /// Private use: RFC 1918, unique local, carrier-grade NAT, and reserved blocks.
    Private,
    /// Link-local, or a metadata service of a cloud.
    Metadata,
    /// Many machines at once.
    Multicast,
}

/// Metadata services that are not at link-local addresses: Alibaba, Oracle, Azure.
const METADATA_V4: [Ipv4Addr; 3] = [
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
    Ipv4Addr::new(168, 63, 129, 16),
];

impl AddressClass {
    /// Classifies an address. An IPv4 address embedded in an IPv6 address counts as the IPv4 address.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => embedded(address).map_or_else(|| of_v6(address), of_v4),
        }
    }

    /// The class in messages.
    pub(super) const fn description(self) -> &'static str {
        match self {
            Self::Public => "a public address",
            Self::Loopback => "a loopback address",
            Self::Unspecified => "an unspecified address",
            Self::Private => "a private address",
            Self::Metadata => "a link-local or metadata address",
            Self::Multicast => "a multicast address",
        }
    }
}

fn of_v4(address: Ipv4Addr) -> AddressClass {
    let [first, second, third, _] = address.octets();
    if address.is_loopback() {
        return AddressClass::Loopback;
    }
    if address.is_link_local() || METADATA_V4.contains(&address) {
        return AddressClass::Metadata;
    }
    match (first, second, third) {
        (0, ..) => AddressClass::Unspecified,
        (224..=239, ..) => AddressClass::Multicast,
        // Private use, carrier-grade NAT, protocol assignments, documentation, benchmarks, reserved, broadcast.
        (10 | 240..=255, ..)
        | (172, 16..=31, _)
        | (192, 168, _)
        | (100, 64..=127, _)
        | (192, 0, 0 | 2)
        | (198, 18 | 19, _)
        | (198, 51, 100)
        | (203, 0, 113) => AddressClass::Private,
        _ => AddressClass::Public,
    }
}

fn of_v6(address: Ipv6Addr) -> AddressClass {
    let [first, second, ..] = address.segments();
    if address.is_loopback() {
        return AddressClass::Loopback;
    }
    if address.is_unspecified() {
        return AddressClass::Unspecified;
    }
    match (first, second) {
        // fd00:ec2::/32 has the metadata and credential services of AWS.
        (0xfe80..=0xfebf, _) | (0xfd00, 0x0ec2) => AddressClass::Metadata,
        (0xff00..=0xffff, _) => AddressClass::Multicast,
        // Only 2000::/3 is public, without documentation prefixes and Teredo.
        (0x2001, 0x0000 | 0x0db8) | (0x3fff, _) => AddressClass::Private,
        (0x2000..=0x3fff, _) => AddressClass::Public,
        _ => AddressClass::Private,
    }
}

/// The IPv4 address that an IPv6 address embeds: mapped, compatible, translated (NAT64) or 6to4.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = address.segments();
    let last = || {
        let [.., high, low] = segments;
        v4(high, low)
    };
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, ..]
        // An IPv4-translated address (RFC 2765), and the prefixes of NAT64.
        | [0, 0, 0, 0, 0xffff, 0, ..]
        | [0x64, 0xff9b, 0, 0, 0, 0, ..]
        | [0x64, 0xff9b, 1, ..] => Some(last()),
        [0x2002, high, low, ..] => Some(v4(high, low)),
        _ => None,
    }
}

fn v4(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
mod tests {
    use super::AddressClass::{self, Loopback, Metadata, Multicast, Private, Public, Unspecified};

    #[test]
    fn every_address_has_a_class() {
        for (text, expected) in [
            ("8.8.8.8", Public),
            ("127.0.0.1", Loopback),
            ("127.255.255.254", Loopback),
            ("0.0.0.0", Unspecified),
            ("0.1.2.3", Unspecified),
            ("10.0.0.1", Private),
            ("172.16.0.1", Private),
            ("172.32.0.1", Public),
            ("192.168.1.1", Private),
            ("100.64.0.1", Private),
            ("100.128.0.1", Public),
            ("198.18.0.1", Private),
            ("255.255.255.255", Private),
            ("240.0.0.1", Private),
            ("224.0.0.1", Multicast),
            ("169.254.169.254", Metadata),
            ("169.254.170.2", Metadata),
            ("100.100.100.200", Metadata),
            ("168.63.129.16", Metadata),
            ("::1", Loopback),
            ("::", Unspecified),
            ("fe80::1", Metadata),
            ("febf::1", Metadata),
            ("fd00:ec2::254", Metadata),
            ("fd00:ec2::23", Metadata),
            ("fd12:3456::1", Private),
            ("fec0::1", Private),
            ("ff02::1", Multicast),
            ("2606:4700::1111", Public),
            ("2001:db8::1", Private),
            ("2001::1", Private),
            ("::ffff:169.254.169.254", Metadata),
            ("::ffff:127.0.0.1", Loopback),
            ("::ffff:8.8.8.8", Public),
            ("::127.0.0.1", Loopback),
            ("::ffff:0:10.0.0.1", Private),
            ("64:ff9b::169.254.169.254", Metadata),
            ("64:ff9b::8.8.8.8", Public),
            ("64:ff9b:1::10.0.0.1", Private),
            ("2002:a9fe:a9fe::1", Metadata),
            ("2002:7f00:1::", Loopback),
            ("2002:808:808::", Public),
        ] {
            let address = text.parse().expect("an address");
            assert_eq!(AddressClass::of(address), expected, "{text}");
        }
    }
}
