//! Errors of stores.

use std::io;

use zarr_spec::store::{IoKind, StoreError};

#[test]
fn the_kind_of_an_io_error_follows_from_its_source() {
    let denied = StoreError::io("reading", "a", io::Error::from(io::ErrorKind::PermissionDenied));
    assert!(matches!(denied, StoreError::Io { kind: IoKind::NotPermitted, .. }), "{denied:?}");
    let text = StoreError::io("reading", "a", "no answer");
    assert!(matches!(text, StoreError::Io { kind: IoKind::Other, .. }), "{text:?}");
    let throttled = text.with_kind(IoKind::Throttled);
    assert!(matches!(throttled, StoreError::Io { kind: IoKind::Throttled, .. }), "{throttled:?}");
    assert_eq!(throttled.to_string(), "reading `a`: no answer");
}
