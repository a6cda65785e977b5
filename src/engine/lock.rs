//! Who is alive: a run holds a name for as long as its process lives, however it dies.
//!
//! The name is an abstract Unix socket, which the kernel frees with the process: no file is left
//! behind, no permission stands in the way of another user's look.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// How often a lock that somebody else holds is tried again.
const RETRY: Duration = Duration::from_millis(200);

/// A name that this process holds.
pub struct Lock {
    _socket: UnixDatagram,
}

impl Lock {
    /// Takes a name; `None` while somebody holds it.
    pub fn try_take(name: &str) -> io::Result<Option<Self>> {
        let address = SocketAddr::from_abstract_name(format!("shootout/{name}"))?;
        match UnixDatagram::bind_addr(&address) {
            Ok(socket) => Ok(Some(Self { _socket: socket })),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes a name, waiting for whoever holds it; calls `waiting` once if there is a wait.
    pub async fn take(name: &str, waiting: impl FnOnce()) -> io::Result<Self> {
        if let Some(lock) = Self::try_take(name)? {
            return Ok(lock);
        }
        waiting();
        loop {
            tokio::time::sleep(RETRY).await;
            if let Some(lock) = Self::try_take(name)? {
                return Ok(lock);
            }
        }
    }

    /// Whether somebody holds a name. What can't be known counts as held: nothing is removed then.
    pub fn is_held(name: &str) -> bool {
        !matches!(Self::try_take(name), Ok(Some(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_held_until_its_holder_is_gone() {
        let name = format!("test/{}", std::process::id());
        assert!(!Lock::is_held(&name));
        let lock = Lock::try_take(&name).unwrap();
        assert!(lock.is_some() && Lock::is_held(&name));
        assert!(Lock::try_take(&name).unwrap().is_none());
        drop(lock);
        assert!(!Lock::is_held(&name));
    }
}
