//! The statuses of failed input and output.

use zarr_spec::store::IoKind;

use crate::abi;

/// Returns the status of a failure of this kind.
pub(crate) fn status_of(kind: IoKind) -> i32 {
    match kind {
        IoKind::NotPermitted => abi::IO_NOT_PERMITTED,
        IoKind::Throttled => abi::IO_THROTTLED,
        IoKind::TimedOut => abi::IO_TIMED_OUT,
        IoKind::Unreachable => abi::IO_UNREACHABLE,
        IoKind::Damaged => abi::IO_DAMAGED,
        _ => abi::IO,
    }
}

/// Returns the kind of a failure with this status, or `None` for other statuses.
pub(crate) fn kind_of(status: i32) -> Option<IoKind> {
    match status {
        abi::IO_NOT_PERMITTED => Some(IoKind::NotPermitted),
        abi::IO_THROTTLED => Some(IoKind::Throttled),
        abi::IO_TIMED_OUT => Some(IoKind::TimedOut),
        abi::IO_UNREACHABLE => Some(IoKind::Unreachable),
        abi::IO_DAMAGED => Some(IoKind::Damaged),
        // The range is reserved for kinds of later versions.
        abi::IO | abi::IO_NOT_PERMITTED..=31 => Some(IoKind::Other),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_own_status() {
        let kinds = [
            IoKind::NotPermitted,
            IoKind::Throttled,
            IoKind::TimedOut,
            IoKind::Unreachable,
            IoKind::Damaged,
            IoKind::Other,
        ];
        assert_eq!(kinds.map(status_of), [16, 17, 18, 19, 20, 5]);
        assert_eq!(kinds.map(|kind| kind_of(status_of(kind))), kinds.map(Some));
        assert_eq!([21, 31].map(kind_of), [Some(IoKind::Other); 2]);
        assert_eq!([abi::INTERNAL, abi::INVALID_KEY, 15, 32].map(kind_of), [None; 4]);
    }
}
