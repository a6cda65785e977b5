//! Waits for sockets and for a moment in time, to the nanosecond.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;

use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::io::Errno;

use super::clock::timespec;

/// Most events taken in one pass; what is left comes with the next.
const EVENTS_MAX: usize = 256;

/// What a socket is watched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Bytes to read, or the end of the stream.
    Read,
    /// The same, and room to write (or a connection made).
    ReadWrite,
}

impl Interest {
    fn flags(self) -> epoll::EventFlags {
        let read = epoll::EventFlags::IN | epoll::EventFlags::RDHUP;
        match self {
            Interest::Read => read,
            Interest::ReadWrite => read | epoll::EventFlags::OUT,
        }
    }
}

/// An epoll instance whose waits do not round to milliseconds.
pub struct Poller {
    epoll: OwnedFd,
    events: Vec<libc::epoll_event>,
    /// Whether the kernel has epoll_pwait2 (Linux 5.11), and lets us call it.
    has_pwait2: bool,
}

impl Poller {
    /// A new instance.
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let events = vec![libc::epoll_event { events: 0, u64: 0 }; EVENTS_MAX];
        let mut poller = Self {
            epoll,
            events,
            has_pwait2: true,
        };
        poller.has_pwait2 = poller.pwait2(0).is_ok();
        Ok(poller)
    }

    /// Watches a socket; `token` comes back with its events.
    pub fn add(&self, socket: BorrowedFd<'_>, token: usize, interest: Interest) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token as u64);
        Ok(epoll::add(&self.epoll, socket, data, interest.flags())?)
    }

    /// Watches it for something else.
    pub fn modify(
        &self,
        socket: BorrowedFd<'_>,
        token: usize,
        interest: Interest,
    ) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token as u64);
        Ok(epoll::modify(&self.epoll, socket, data, interest.flags())?)
    }

    /// Waits at most `ns` (0: only looks) and returns how many events there are.
    pub fn wait(&mut self, ns: u64) -> io::Result<usize> {
        if ns > 0 && self.has_pwait2 {
            return interrupted_is_nothing(self.pwait2(ns));
        }
        if ns > 0 {
            // ppoll on the epoll descriptor itself: nanoseconds on kernels of any age.
            let mut watched = [PollFd::from_borrowed_fd(self.epoll.as_fd(), PollFlags::IN)];
            match poll(&mut watched, Some(&timespec(ns))) {
                Ok(0) | Err(Errno::INTR) => return Ok(0),
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let (events, room) = (self.events.as_mut_ptr(), self.events.len() as i32);
        // SAFETY: the kernel writes at most `room` events into the vector that holds as many.
        let count = unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), events, room, 0) };
        interrupted_is_nothing(usize::try_from(count).map_err(|_| io::Error::last_os_error()))
    }

    /// The token of event `index` of the last wait, and whether its socket may be written.
    pub fn event(&self, index: usize) -> (usize, bool) {
        let event = self.events[index];
        (
            event.u64 as usize,
            event.events & libc::EPOLLOUT as u32 != 0,
        )
    }

    fn pwait2(&mut self, ns: u64) -> io::Result<usize> {
        let (seconds, nanoseconds) = (ns / 1_000_000_000, ns % 1_000_000_000);
        let timeout = libc::timespec {
            tv_sec: seconds as _,
            tv_nsec: nanoseconds as _,
        };
        // SAFETY: the kernel writes at most as many events as the vector holds and reads one
        // timespec; without a signal mask its size is not looked at.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                self.events.as_mut_ptr(),
                self.events.len() as i32,
                &raw const timeout,
                ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        usize::try_from(count).map_err(|_| io::Error::last_os_error())
    }
}

fn interrupted_is_nothing(result: io::Result<usize>) -> io::Result<usize> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::load::clock::now_ns;

    #[test]
    fn both_ways_of_waiting_see_the_same_and_never_return_early() {
        for has_pwait2 in [true, false] {
            let mut poller = Poller::new().unwrap();
            poller.has_pwait2 &= has_pwait2;
            let (mut writer, reader) = UnixStream::pair().unwrap();
            poller.add(reader.as_fd(), 7, Interest::Read).unwrap();
            let before = now_ns();
            assert_eq!(poller.wait(1_300_000).unwrap(), 0);
            assert!(now_ns() - before >= 1_300_000, "a wait is not rounded down");
            writer.write_all(b"x").unwrap();
            assert_eq!(poller.wait(1_000_000_000).unwrap(), 1);
            assert_eq!(poller.event(0), (7, false));
            poller
                .modify(reader.as_fd(), 7, Interest::ReadWrite)
                .unwrap();
            assert_eq!(poller.wait(0).unwrap(), 1);
            assert_eq!(poller.event(0), (7, true));
        }
    }
}
