//! Connection errors in the format of Go's `net` package.

use std::io::{Error, ErrorKind};

/// Go's message for a failure to connect to `address`, a host and port.
pub fn message(error: &Error, address: &str) -> String {
    let why = match error.kind() {
        ErrorKind::ConnectionRefused => "connect: connection refused",
        ErrorKind::ConnectionReset => "read: connection reset by peer",
        ErrorKind::NetworkUnreachable => "connect: network is unreachable",
        ErrorKind::HostUnreachable => "connect: no route to host",
        ErrorKind::TimedOut => "i/o timeout",
        // Errors of the resolver have neither a kind nor an error number.
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

    use super::message;

    #[test]
    fn connection_errors_have_gos_messages() {
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
            assert_eq!(message(&error, "a.test:1"), expected);
        }
    }
}
