//! IP addresses and networks: strict parsing for new fields, lenient for old ones.

use std::net::IpAddr;

use sluice_schema::field::{FieldError, Path};

use super::Errors;

/// Parses an address of an old field: leading zeros in IPv4 numbers are allowed.
pub(crate) fn parse_legacy(text: &str) -> Option<IpAddr> {
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    let (head, tail) = match text.rsplit_once(':') {
        Some((head, tail)) => (format!("{head}:"), tail),
        None => (String::new(), text),
    };
    let mut numbers = Vec::new();
    for number in tail.split('.') {
        let kept = number.trim_start_matches('0');
        numbers.push(if kept.is_empty() && !number.is_empty() { "0" } else { kept });
    }
    format!("{head}{}", numbers.join(".")).parse().ok()
}

/// Parses CIDR notation: the address as written, and the prefix length.
pub(crate) fn parse_network(text: &str) -> Option<(IpAddr, u8)> {
    let (address, length) = text.split_once('/')?;
    let address = parse_legacy(address)?;
    let length =
        length.bytes().all(|byte| byte.is_ascii_digit()).then(|| length.parse().ok())??;
    (length <= if address.is_ipv4() { 32 } else { 128 }).then_some((address, length))
}

/// The first address of a network.
pub(crate) fn masked(address: IpAddr, length: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
            IpAddr::V4((u32::from(address) & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
            IpAddr::V6((u128::from(address) & mask).into())
        }
    }
}

/// Whether a network contains an address.
pub(crate) fn contains(network: (IpAddr, u8), address: IpAddr) -> bool {
    network.0.is_ipv4() == address.is_ipv4()
        && masked(network.0, network.1) == masked(address, network.1)
}

/// Validates an address in an old field.
pub(crate) fn address(text: &str, path: &Path) -> Errors {
    if parse_legacy(text).is_some() {
        return Vec::new();
    }
    let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
    vec![FieldError::invalid(path, text, detail)]
}

/// Validates an address in a new field.
pub(crate) fn canonical_address(text: &str, path: &Path) -> Errors {
    let Some(parsed) = parse_legacy(text) else { return address(text, path) };
    if text.parse::<IpAddr>().is_err() {
        return vec![FieldError::invalid(path, text, "must not have leading 0s")];
    }
    if let IpAddr::V6(address) = parsed
        && address.to_ipv4_mapped().is_some()
    {
        let detail = "must not be an IPv4-mapped IPv6 address";
        return vec![FieldError::invalid(path, text, detail)];
    }
    if parsed.to_string() != text {
        let detail = format!("must be in canonical form (\"{parsed}\")");
        return vec![FieldError::invalid(path, text, detail)];
    }
    Vec::new()
}

/// Validates a network in an old field.
pub(crate) fn network(text: &str, path: &Path) -> Errors {
    if parse_network(text).is_some() {
        return Vec::new();
    }
    let detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
    vec![FieldError::invalid(path, text, detail)]
}

/// Validates a network in a new field.
pub(crate) fn canonical_network(text: &str, path: &Path) -> Errors {
    let Some((address, length)) = parse_network(text) else { return network(text, path) };
    let strict = text.split_once('/').is_some_and(|(address, length)| {
        address.parse::<IpAddr>().is_ok() && (length == "0" || !length.starts_with('0'))
    });
    if !strict {
        let detail = "must not have leading 0s in IP or prefix length";
        return vec![FieldError::invalid(path, text, detail)];
    }
    if masked(address, length) != address {
        let detail = "must not have bits set beyond the prefix length";
        return vec![FieldError::invalid(path, text, detail)];
    }
    let canonical = format!("{address}/{length}");
    if canonical != text {
        let detail = format!("must be in canonical form (\"{canonical}\")");
        return vec![FieldError::invalid(path, text, detail)];
    }
    Vec::new()
}

/// The warning about an address in an old field.
pub(crate) fn address_warning(text: &str, path: &Path) -> Option<String> {
    let parsed = parse_legacy(text)?;
    let mapped = match parsed {
        IpAddr::V6(address) => address.to_ipv4_mapped(),
        IpAddr::V4(_) => None,
    };
    if text.parse::<IpAddr>().is_err() || mapped.is_some() {
        let good = mapped.map_or(parsed, IpAddr::V4);
        return Some(format!(
            "{path}: non-standard IP address \"{text}\" will be considered invalid in a future Kubernetes release: use \"{good}\""
        ));
    }
    (parsed.is_ipv6() && parsed.to_string() != text).then(|| {
        format!(
            "{path}: IPv6 address \"{text}\" should be in RFC 5952 canonical format (\"{parsed}\")"
        )
    })
}

/// The warnings about a network in an old field.
pub(crate) fn network_warnings(text: &str, path: &Path) -> Vec<String> {
    let Some((address, length)) = parse_network(text) else { return Vec::new() };
    let first = masked(address, length);
    let mut warnings = Vec::new();
    if first != address {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        warnings.push(format!(
            "{path}: CIDR value \"{text}\" is ambiguous in this context (should be \"{first}/{length}\" or \"{address}/{bits}\"?)"
        ));
    }
    let strict = text.split_once('/').is_some_and(|(address, _)| address.parse::<IpAddr>().is_ok());
    if !strict {
        warnings.push(format!(
            "{path}: non-standard CIDR value \"{text}\" will be considered invalid in a future Kubernetes release: use \"{first}/{length}\""
        ));
    }
    if warnings.is_empty() && address.is_ipv6() && format!("{address}/{length}") != text {
        warnings.push(format!(
            "{path}: IPv6 CIDR value \"{text}\" should be in RFC 5952 canonical format (\"{address}/{length}\")"
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_strictly_or_with_leading_zeros() {
        assert!(parse_legacy("010.1.2.003").is_some());
        assert!(parse_legacy("10.1.2").is_none());
        assert!(parse_legacy("::1").is_some());
        let path = Path::new("ip");
        assert_eq!(
            canonical_address("010.1.2.3", &path)[0].to_string(),
            r#"ip: Invalid value: "010.1.2.3": must not have leading 0s"#
        );
        assert!(contains((IpAddr::from([10, 96, 0, 0]), 16), IpAddr::from([10, 96, 3, 4])));
        assert!(parse_network("10.0.0.0/33").is_none());
    }
}
