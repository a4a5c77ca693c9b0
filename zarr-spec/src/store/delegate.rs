//! Stores that wrap other stores.

/// Implements [`Store`](crate::store::Store) for a wrapper, which passes most methods to the store that it wraps.
///
/// `forward(EXPRESSION)` calls groups of methods on an expression that begins with `self`; `refuse` returns
/// [`StoreError::NotSupported`](crate::store::StoreError::NotSupported). All other methods follow in full. A
/// method that is neither forwarded, refused nor written out is a compile error, so that a wrapper cannot
/// lose a method of the wrapped store.
///
/// | group | methods |
/// |---|---|
/// | `describe` | `location`, `capabilities`, `read_hints` |
/// | `read` | `get`, `get_many`, `size` |
/// | `cache` | `chunk_cache`, `caches_values` |
/// | `write` | `set`, `set_if`, `set_partial_values` |
/// | `remove` | `erase`, `erase_if`, `erase_values`, `erase_prefix` |
/// | `list` | `list_prefix`, `list_dir` |
///
/// The name of a method selects only this method.
///
/// ```
/// use std::sync::Arc;
/// use zarr_spec::store::{Capabilities, Store};
///
/// #[derive(Debug)]
/// struct AppendOnly(Arc<dyn Store>);
///
/// zarr_spec::delegate_store! {
///     impl Store for AppendOnly {
///         forward(self.0): location, read_hints, read, cache, write, list;
///         refuse: remove;
///
///         fn capabilities(&self) -> Capabilities {
///             self.0.capabilities().unerasable()
///         }
///     }
/// }
/// ```
///
/// Without `list`, the compiler reports that `list_prefix` and `list_dir` are missing:
///
/// ```compile_fail,E0046
/// use std::sync::Arc;
/// use zarr_spec::store::Store;
///
/// #[derive(Debug)]
/// struct Wrapper(Arc<dyn Store>);
///
/// zarr_spec::delegate_store! {
///     impl Store for Wrapper {
///         forward(self.0): describe, read, cache, write, remove;
///         // `list_prefix` is written out, but `list_dir` would silently be the default.
///         fn list_prefix(&self, prefix: &zarr_spec::Prefix)
///             -> Result<zarr_spec::store::Keys<'_>, zarr_spec::store::StoreError>
///         {
///             self.0.list_prefix(prefix)
///         }
///     }
/// }
/// ```
#[macro_export]
macro_rules! delegate_store {
    (
        impl Store for $wrapper:ty {
            $(forward $inner:tt: $($forwarded:ident),+;)*
            $(refuse: $($refused:ident),+;)?
            $(
                $(#[$attribute:meta])*
                fn $method:ident(&$this:ident $(, $argument:tt: $type:ty)* $(,)?) -> $returned:ty $body:block
            )*
        }
    ) => {
        #[deny(clippy::missing_trait_methods)]
        impl $crate::store::Store for $wrapper {
            $($($crate::delegate_store!(@forward $forwarded $inner);)+)*
            $($($crate::delegate_store!(@refuse $refused);)+)?
            $($(#[$attribute])* fn $method(&$this $(, $argument: $type)*) -> $returned $body)*
        }

        #[doc(hidden)]
        impl $crate::store::EveryStoreMethod for $wrapper {
            $($($crate::delegate_store!(@name $forwarded);)+)*
            $($($crate::delegate_store!(@name $refused);)+)?
            $(fn $method() {})*
        }
    };

    (@name describe) => { fn location() {} fn capabilities() {} fn read_hints() {} };
    (@name read) => { fn get() {} fn get_many() {} fn size() {} };
    (@name cache) => { fn chunk_cache() {} fn caches_values() {} };
    (@name write) => { fn set() {} fn set_if() {} fn set_partial_values() {} };
    (@name remove) => { fn erase() {} fn erase_if() {} fn erase_values() {} fn erase_prefix() {} };
    (@name list) => { fn list_prefix() {} fn list_dir() {} };
    (@name $method:ident) => { fn $method() {} };

    (@forward describe $inner:tt) => {
        $crate::delegate_store!(@forward location $inner);
        $crate::delegate_store!(@forward capabilities $inner);
        $crate::delegate_store!(@forward read_hints $inner);
    };
    (@forward read $inner:tt) => {
        $crate::delegate_store!(@forward get $inner);
        $crate::delegate_store!(@forward get_many $inner);
        $crate::delegate_store!(@forward size $inner);
    };
    (@forward cache $inner:tt) => {
        $crate::delegate_store!(@forward chunk_cache $inner);
        $crate::delegate_store!(@forward caches_values $inner);
    };
    (@forward write $inner:tt) => {
        $crate::delegate_store!(@forward set $inner);
        $crate::delegate_store!(@forward set_if $inner);
        $crate::delegate_store!(@forward set_partial_values $inner);
    };
    (@forward remove $inner:tt) => {
        $crate::delegate_store!(@forward erase $inner);
        $crate::delegate_store!(@forward erase_if $inner);
        $crate::delegate_store!(@forward erase_values $inner);
        $crate::delegate_store!(@forward erase_prefix $inner);
    };
    (@forward list $inner:tt) => {
        $crate::delegate_store!(@forward list_prefix $inner);
        $crate::delegate_store!(@forward list_dir $inner);
    };

    (@forward location ($this:ident $($inner:tt)*)) => {
        fn location(&$this) -> ::std::string::String {
            $this $($inner)*.location()
        }
    };
    (@forward capabilities ($this:ident $($inner:tt)*)) => {
        fn capabilities(&$this) -> $crate::store::Capabilities {
            $this $($inner)*.capabilities()
        }
    };
    (@forward read_hints ($this:ident $($inner:tt)*)) => {
        fn read_hints(&$this) -> $crate::store::ReadHints {
            $this $($inner)*.read_hints()
        }
    };
    (@forward get ($this:ident $($inner:tt)*)) => {
        fn get(
            &$this,
            key: &$crate::Key,
            options: $crate::store::GetOptions,
            to: &mut $crate::Output<'_>,
        ) -> ::std::result::Result<::std::option::Option<$crate::store::GetResult>, $crate::store::StoreError> {
            $this $($inner)*.get(key, options, to)
        }
    };
    (@forward get_many ($this:ident $($inner:tt)*)) => {
        fn get_many(
            &$this,
            requests: ::std::vec::Vec<$crate::store::Request>,
            budget: usize,
        ) -> $crate::store::Responses<'_> {
            $this $($inner)*.get_many(requests, budget)
        }
    };
    (@forward size ($this:ident $($inner:tt)*)) => {
        fn size(
            &$this,
            key: &$crate::Key,
        ) -> ::std::result::Result<::std::option::Option<u64>, $crate::store::StoreError> {
            $this $($inner)*.size(key)
        }
    };
    (@forward chunk_cache ($this:ident $($inner:tt)*)) => {
        fn chunk_cache(&$this) -> ::std::option::Option<&dyn $crate::store::ChunkCache> {
            $this $($inner)*.chunk_cache()
        }
    };
    (@forward caches_values ($this:ident $($inner:tt)*)) => {
        fn caches_values(&$this) -> bool {
            $this $($inner)*.caches_values()
        }
    };
    (@forward set ($this:ident $($inner:tt)*)) => {
        fn set(
            &$this,
            key: &$crate::Key,
            value: $crate::store::Payload<'_>,
        ) -> ::std::result::Result<(), $crate::store::StoreError> {
            $this $($inner)*.set(key, value)
        }
    };
    (@forward set_if ($this:ident $($inner:tt)*)) => {
        fn set_if(
            &$this,
            key: &$crate::Key,
            value: $crate::store::Payload<'_>,
            condition: &$crate::store::Condition,
        ) -> ::std::result::Result<$crate::store::ConditionalWrite, $crate::store::StoreError> {
            $this $($inner)*.set_if(key, value, condition)
        }
    };
    (@forward set_partial_values ($this:ident $($inner:tt)*)) => {
        fn set_partial_values(
            &$this,
            values: &[($crate::Key, u64, &[u8])],
        ) -> ::std::result::Result<(), $crate::store::StoreError> {
            $this $($inner)*.set_partial_values(values)
        }
    };
    (@forward erase ($this:ident $($inner:tt)*)) => {
        fn erase(&$this, key: &$crate::Key) -> ::std::result::Result<(), $crate::store::StoreError> {
            $this $($inner)*.erase(key)
        }
    };
    (@forward erase_if ($this:ident $($inner:tt)*)) => {
        fn erase_if(
            &$this,
            key: &$crate::Key,
            version: &$crate::store::Version,
        ) -> ::std::result::Result<$crate::store::ConditionalWrite, $crate::store::StoreError> {
            $this $($inner)*.erase_if(key, version)
        }
    };
    (@forward erase_values ($this:ident $($inner:tt)*)) => {
        fn erase_values(&$this, keys: &[$crate::Key]) -> ::std::result::Result<(), $crate::store::StoreError> {
            $this $($inner)*.erase_values(keys)
        }
    };
    (@forward erase_prefix ($this:ident $($inner:tt)*)) => {
        fn erase_prefix(&$this, prefix: &$crate::Prefix) -> ::std::result::Result<(), $crate::store::StoreError> {
            $this $($inner)*.erase_prefix(prefix)
        }
    };
    (@forward list_prefix ($this:ident $($inner:tt)*)) => {
        fn list_prefix(
            &$this,
            prefix: &$crate::Prefix,
        ) -> ::std::result::Result<$crate::store::Keys<'_>, $crate::store::StoreError> {
            $this $($inner)*.list_prefix(prefix)
        }
    };
    (@forward list_dir ($this:ident $($inner:tt)*)) => {
        fn list_dir(
            &$this,
            prefix: &$crate::Prefix,
        ) -> ::std::result::Result<$crate::store::Directory, $crate::store::StoreError> {
            $this $($inner)*.list_dir(prefix)
        }
    };

    (@refuse write) => {
        fn set(
            &self,
            _: &$crate::Key,
            _: $crate::store::Payload<'_>,
        ) -> ::std::result::Result<(), $crate::store::StoreError> {
            Err($crate::store::StoreError::not_supported(self, "not writeable"))
        }

        fn set_if(
            &self,
            _: &$crate::Key,
            _: $crate::store::Payload<'_>,
            _: &$crate::store::Condition,
        ) -> ::std::result::Result<$crate::store::ConditionalWrite, $crate::store::StoreError> {
            Err($crate::store::StoreError::not_supported(self, "not writeable"))
        }

        fn set_partial_values(
            &self,
            _: &[($crate::Key, u64, &[u8])],
        ) -> ::std::result::Result<(), $crate::store::StoreError> {
            Err($crate::store::StoreError::not_supported(self, "not writeable"))
        }
    };
    (@refuse remove) => {
        fn erase(&self, _: &$crate::Key) -> ::std::result::Result<(), $crate::store::StoreError> {
            Err($crate::store::StoreError::not_supported(self, "not erasable"))
        }

        fn erase_if(
            &self,
            _: &$crate::Key,
            _: &$crate::store::Version,
        ) -> ::std::result::Result<$crate::store::ConditionalWrite, $crate::store::StoreError> {
            Err($crate::store::StoreError::not_supported(self, "not erasable"))
        }

        fn erase_values(&self, _: &[$crate::Key]) -> ::std::result::Result<(), $crate::store::StoreError> {
            Err($crate::store::StoreError::not_supported(self, "not erasable"))
        }

        fn erase_prefix(&self, _: &$crate::Prefix) -> ::std::result::Result<(), $crate::store::StoreError> {
            Err($crate::store::StoreError::not_supported(self, "not erasable"))
        }
    };
    (@refuse list) => {
        fn list_prefix(
            &self,
            _: &$crate::Prefix,
        ) -> ::std::result::Result<$crate::store::Keys<'_>, $crate::store::StoreError> {
            Err($crate::store::StoreError::not_supported(self, "not listable"))
        }

        fn list_dir(
            &self,
            _: &$crate::Prefix,
        ) -> ::std::result::Result<$crate::store::Directory, $crate::store::StoreError> {
            Err($crate::store::StoreError::not_supported(self, "not listable"))
        }
    };
}

/// The names of all methods of [`Store`](super::Store). [`delegate_store!`] implements the trait, so that a
/// missing method is an error. Methods that are added to `Store` must be added here too.
#[doc(hidden)]
pub trait EveryStoreMethod {
    fn location();
    fn capabilities();
    fn read_hints();
    fn get();
    fn get_many();
    fn size();
    fn chunk_cache();
    fn caches_values();
    fn set();
    fn set_if();
    fn set_partial_values();
    fn erase();
    fn erase_if();
    fn erase_values();
    fn erase_prefix();
    fn list_prefix();
    fn list_dir();
}
