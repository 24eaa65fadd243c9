//! Addresses of web hooks, and which of them are allowed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Allowed;

/// The address of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Whether it begins with https.
    pub encrypted: bool,
    /// The host without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Host and port as they were written, for the header.
    pub authority: String,
    /// The path and the query.
    pub path: String,
}

impl Url {
    /// Reads `http://HOST:PORT/PATH` or `https://...`.
    ///
    /// # Errors
    /// If it has another form, a user name, a fragment, or characters that are not printable ASCII.
    pub fn parse(text: &str) -> Result<Url, String> {
        let wrong = || "url: expected https://HOST/PATH or http://HOST:PORT/PATH, without user name and fragment".to_owned();
        if text.len() > 2000 || !text.bytes().all(|b| b.is_ascii_graphic()) || text.contains(['#', '@', '\\']) {
            return Err(wrong());
        }
        let (encrypted, rest) = match text.split_once("://") {
            Some(("https", rest)) => (true, rest),
            Some(("http", rest)) => (false, rest),
            _ => return Err(wrong()),
        };
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let (host, port) = match authority.rsplit_once(':').filter(|(_, port)| !port.contains(']')) {
            Some((host, port)) => (host, port.parse().map_err(|_| wrong())?),
            None => (authority, if encrypted { 443 } else { 80 }),
        };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host).to_ascii_lowercase();
        if host.is_empty() || port == 0 {
            return Err(wrong());
        }
        Ok(Url { encrypted, host, port, authority: authority.into(), path })
    }

    fn is_in(&self, list: &[String]) -> bool {
        let with_port = format!("{}:{}", self.host, self.port);
        list.iter().any(|entry| entry.eq_ignore_ascii_case(&self.host) || entry.eq_ignore_ascii_case(&with_port))
    }

    /// Whether the host may have an address that is not public.
    pub fn may_be_private(&self, allowed: &Allowed) -> bool {
        self.is_in(&allowed.private)
    }

    /// Checks that the operator allows this host.
    ///
    /// # Errors
    /// If not; the text says what the operator can do.
    pub fn check(&self, allowed: &Allowed) -> Result<(), String> {
        let private = self.may_be_private(allowed);
        let address = self.host.parse::<IpAddr>().ok();
        let is_inside = self.host == "localhost" || address.is_some_and(|address| !is_public(address));
        let mut flags = Vec::new();
        if is_inside && !private {
            flags.push(format!("--hook-allow-private {}", self.host));
        } else if !private && !self.is_in(&allowed.public) {
            flags.push(format!("--hook-allow {}", self.host));
        }
        let reason = match (flags.is_empty(), is_inside) {
            (true, _) => "the server has no trusted certificates for https".into(),
            (false, true) => format!("web hooks to '{}', which is not a public address, are not allowed", self.host),
            (false, false) => format!("web hooks to '{}' are not allowed", self.host),
        };
        if self.encrypted && allowed.tls.is_none() {
            flags.push("--hook-certificates FILE".into());
        }
        match flags.is_empty() {
            true => Ok(()),
            false => Err(format!("url: {reason}; the operator can start the server with okl serve FOLDER {}", flags.join(" "))),
        }
    }
}

/// Whether an address belongs to the public internet.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = match (a, b, c) {
        // This network, 6to4 relays, protocol assignments, shared addresses, benchmarks; from 240 on reserved.
        (0 | 240.., ..) | (192, 88, 99) | (192, 0, 0) | (100, 64..=127, _) | (198, 18..=19, _) => true,
        _ => false,
    };
    !(special
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || address.is_documentation())
}

/// Public are 2000::/3 without those that contain another address (Teredo, 6to4), documentation and other special ones.
fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inside) = address.to_ipv4_mapped() {
        return is_public_v4(inside);
    }
    let [a, b, ..] = address.segments();
    let special = a == 0x2002 || (a == 0x2001 && (b < 0x200 || b == 0xdb8)) || (a == 0x3fff && b < 0x1000);
    a & 0xe000 == 0x2000 && !special
}
