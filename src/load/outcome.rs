//! How a slot can end, and each way a request can go wrong: a closed list, so that the table of
//! errors stays small whatever a server does.

/// Where a slot ends in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The right status and the right body.
    Completed,
    /// A whole response, but not the right one.
    WrongResponse,
    /// No whole response in time.
    TimedOut,
    /// No response that can be read.
    Failed,
}

/// What went wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Nothing listens at the address.
    ConnectRefused,
    /// Another error while connecting.
    ConnectFailed,
    /// The connection was reset.
    Reset,
    /// Another error of the socket.
    SocketError,
    /// Closed before the first byte of a response.
    ClosedUnanswered,
    /// Closed within a response.
    ClosedEarly,
    /// Not HTTP/1.x.
    NotHttp,
    /// A head, a trailer or chunk extensions without end.
    HeadTooLong,
    /// Two answers to where the response ends.
    ConflictingLengths,
    /// Not the expected status.
    WrongStatus,
    /// Not the expected body.
    WrongBody,
    /// Bytes after the end of the response.
    MoreThanAnnounced,
    /// No whole response within the timeout.
    Timeout,
}

impl Failure {
    /// All of them, in the order of [`Failure::index`].
    pub const ALL: [Failure; 13] = [
        Failure::ConnectRefused,
        Failure::ConnectFailed,
        Failure::Reset,
        Failure::SocketError,
        Failure::ClosedUnanswered,
        Failure::ClosedEarly,
        Failure::NotHttp,
        Failure::HeadTooLong,
        Failure::ConflictingLengths,
        Failure::WrongStatus,
        Failure::WrongBody,
        Failure::MoreThanAnnounced,
        Failure::Timeout,
    ];

    /// Its place in a table.
    pub fn index(self) -> usize {
        self as usize
    }

    /// Its name in `errors`.
    pub fn name(self) -> &'static str {
        match self {
            Failure::ConnectRefused => "connection refused",
            Failure::ConnectFailed => "connect failed",
            Failure::Reset => "connection reset",
            Failure::SocketError => "socket error",
            Failure::ClosedUnanswered => "closed without an answer",
            Failure::ClosedEarly => "closed within a response",
            Failure::NotHttp => "not HTTP/1.x",
            Failure::HeadTooLong => "head without end",
            Failure::ConflictingLengths => "conflicting lengths",
            Failure::WrongStatus => "wrong status",
            Failure::WrongBody => "wrong body",
            Failure::MoreThanAnnounced => "more bytes than announced",
            Failure::Timeout => "timeout",
        }
    }

    /// Where a slot with this failure ends.
    pub fn outcome(self) -> Outcome {
        match self {
            Failure::WrongStatus
            | Failure::WrongBody
            | Failure::MoreThanAnnounced
            | Failure::ConflictingLengths => Outcome::WrongResponse,
            Failure::Timeout => Outcome::TimedOut,
            _ => Outcome::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_has_its_own_place() {
        for (index, failure) in Failure::ALL.into_iter().enumerate() {
            assert_eq!(failure.index(), index);
        }
    }
}
