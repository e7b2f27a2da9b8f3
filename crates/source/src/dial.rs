//! Why a connection could not be made, in the words of Go's `net` package.

use std::io::{Error, ErrorKind};

/// What Go says of a failure to connect to `address`, which is a host and a port.
pub fn words(error: &Error, address: &str) -> String {
    let why = match error.kind() {
        ErrorKind::ConnectionRefused => "connect: connection refused",
        ErrorKind::ConnectionReset => "read: connection reset by peer",
        ErrorKind::NetworkUnreachable => "connect: network is unreachable",
        ErrorKind::HostUnreachable => "connect: no route to host",
        ErrorKind::TimedOut => "i/o timeout",
        // The resolver's refusals have neither a kind nor a number of their own.
        _ if error.raw_os_error().is_none() => {
            let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
            return format!("dial tcp: lookup {host}: no such host");
        }
        _ => return format!("dial tcp {address}: {error}"),
    };
    format!("dial tcp {address}: {why}")
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use super::words;

    #[test]
    fn failures_to_connect_are_told_as_go_tells_them() {
        let table = [
            (
                Error::from(ErrorKind::ConnectionRefused),
                "dial tcp a.test:1: connect: connection refused",
            ),
            (Error::from(ErrorKind::TimedOut), "dial tcp a.test:1: i/o timeout"),
            (
                Error::other("failed to lookup address information"),
                "dial tcp: lookup a.test: no such host",
            ),
        ];
        for (error, expected) in table {
            assert_eq!(words(&error, "a.test:1"), expected);
        }
    }
}
