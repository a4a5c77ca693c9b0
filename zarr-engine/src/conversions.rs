//! Implementations of `From`, as a table of types and expressions.

/// Implements `From` for one type: `name: Source => expression`.
macro_rules! conversions {
    ($target:ty: $($name:ident: $source:ty => $value:expr),+ $(,)?) => {$(
        impl From<$source> for $target {
            fn from($name: $source) -> Self {
                $value
            }
        }
    )+};
}

pub(crate) use conversions;
