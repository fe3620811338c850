//! Whether a model runs on this machine or its network, judged by its base URL. Pure: resolves no
//! names.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Names by which a container reaches its host machine.
const CONTAINER_HOSTS: [&str; 2] = ["host.docker.internal", "host.containers.internal"];

/// Whether the host of a URL is this machine or in a private network: a loopback, private (RFC
/// 1918), link-local or unique local (RFC 4193) address, `localhost`, a name under `.localhost` or
/// `.local`, or a container's host machine.
pub(super) fn is_private(url: &str) -> bool {
    let host = host_of(url);
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => is_private_v4(address),
        Ok(IpAddr::V6(address)) => is_private_v6(address),
        Err(_) => is_private_name(&host.to_ascii_lowercase()),
    }
}

/// The host of a URL, without brackets, port and zone.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    match place.strip_prefix('[') {
        Some(address) => address.split([']', '%']).next().unwrap_or_default(),
        None => place.split(':').next().unwrap_or_default(),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    // A client that connects to 0.0.0.0 reaches its own machine.
    address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_unspecified()
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    address.to_ipv4_mapped().map_or_else(
        || {
            address.is_loopback()
                || address.is_unique_local()
                || address.is_unicast_link_local()
                || address.is_unspecified()
        },
        is_private_v4,
    )
}

fn is_private_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_under = |domain: &str| {
        name.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    is_under("localhost")
        || (is_under("local") && name != "local")
        || CONTAINER_HOSTS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_and_its_network_are_private() {
        for url in [
            "http://127.0.0.1:11434/v1",
            "http://127.8.0.1",
            "http://localhost:1234/v1",
            "http://LOCALHOST./v1",
            "http://api.localhost",
            "http://[::1]:8080/v1",
            "http://[::ffff:127.0.0.1]/v1",
            "http://0.0.0.0:8000",
            "https://user:pass@10.1.2.3/v1",
            "http://172.16.0.1",
            "http://172.31.255.255",
            "http://192.168.178.20:8080",
            "http://169.254.1.1",
            "http://[fe80::1%25eth0]:8080",
            "http://[fd12:3456::1]",
            "http://gpu-box.local:8000/v1",
            "http://host.docker.internal:11434/v1",
            "localhost:11434/v1",
        ] {
            assert!(is_private(url), "{url}");
        }
    }

    #[test]
    fn addresses_of_the_internet_are_not() {
        for url in [
            "",
            "https://api.openai.com/v1",
            "https://localhost.example.com/v1",
            "https://example.com/localhost",
            "https://example.com?localhost",
            "https://localhost@example.com",
            "http://172.15.0.1",
            "http://172.32.0.1",
            "http://192.169.0.1",
            "http://100.64.0.1",
            "http://8.8.8.8",
            "http://[2001:db8::1]",
            "http://[::ffff:8.8.8.8]",
            "https://llm.internal",
            "https://mylocal",
            "https://local",
            "https://notlocalhost",
        ] {
            assert!(!is_private(url), "{url}");
        }
    }
}
