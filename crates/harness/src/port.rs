use std::{collections::HashSet, net::TcpListener};

use parking_lot::Mutex;

/// Ports already handed out: the kernel may offer one again before the first receiver has bound it.
static GIVEN: Mutex<Option<HashSet<u16>>> = Mutex::new(None);

/// A port on 127.0.0.1 that was free a moment ago and that this process gets only once.
///
/// # Panics
/// When loopback has no free port, which no test could repair.
pub fn free_port() -> u16 {
    let mut given = GIVEN.lock();
    let given = given.get_or_insert_default();
    loop {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port on loopback");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        if given.insert(port) {
            return port;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_is_given_twice() {
        let ports: HashSet<u16> = (0..200).map(|_| free_port()).collect();
        assert_eq!(ports.len(), 200);
    }
}
