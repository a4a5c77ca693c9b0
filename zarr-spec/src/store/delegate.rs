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
/// | `write` | `set`, `set_if`, `lock`, `set_partial_values`, `commit`, `array_document` |
/// | `remove` | `erase`, `erase_if`, `erase_values`, `erase_prefix` |
/// | `list` | `list_prefix`, `list_dir` |
///
/// The name of a method selects only this method. A store that refuses to write has nothing to commit and no documents to
/// change: `commit` and `array_document` succeed.
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
            $($($crate::delegate_store!(@group $forwarded (forward $inner));)+)*
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
    (@name write) => { fn set() {} fn set_if() {} fn lock() {} fn set_partial_values() {} fn commit() {} fn array_document() {} };
    (@name remove) => { fn erase() {} fn erase_if() {} fn erase_values() {} fn erase_prefix() {} };
    (@name list) => { fn list_prefix() {} fn list_dir() {} };
    (@name $method:ident) => { fn $method() {} };

    (@refuse write) => { $crate::delegate_store!(@group write (refuse "not writeable")); };
    (@refuse remove) => { $crate::delegate_store!(@group remove (refuse "not erasable")); };
    (@refuse list) => { $crate::delegate_store!(@group list (refuse "not listable")); };

    (@group describe $how:tt) => { $crate::delegate_store!(@all $how location capabilities read_hints); };
    (@group read $how:tt) => { $crate::delegate_store!(@all $how get get_many size); };
    (@group cache $how:tt) => { $crate::delegate_store!(@all $how chunk_cache caches_values); };
    (@group write $how:tt) => { $crate::delegate_store!(@all $how set set_if lock set_partial_values commit array_document); };
    (@group remove $how:tt) => { $crate::delegate_store!(@all $how erase erase_if erase_values erase_prefix); };
    (@group list $how:tt) => { $crate::delegate_store!(@all $how list_prefix list_dir); };
    (@group $method:ident $how:tt) => { $crate::delegate_store!(@method $method $how); };

    (@all $how:tt $($method:ident)+) => { $($crate::delegate_store!(@method $method $how);)+ };

    (@method location $how:tt) => {
        $crate::delegate_store!(@fn $how location() -> ::std::string::String);
    };
    (@method capabilities $how:tt) => {
        $crate::delegate_store!(@fn $how capabilities() -> $crate::store::Capabilities);
    };
    (@method read_hints $how:tt) => {
        $crate::delegate_store!(@fn $how read_hints() -> $crate::store::ReadHints);
    };
    (@method get $how:tt) => {
        $crate::delegate_store!(@fn $how get(
            key: &$crate::Key, options: $crate::store::GetOptions, to: &mut $crate::Output<'_>
        ) -> $crate::store::StoreResult<::std::option::Option<$crate::store::GetResult>>);
    };
    (@method get_many $how:tt) => {
        $crate::delegate_store!(@fn $how get_many(
            requests: ::std::vec::Vec<$crate::store::Request>, budget: usize
        ) -> $crate::store::Responses<'_>);
    };
    (@method size $how:tt) => {
        $crate::delegate_store!(@fn $how size(
            key: &$crate::Key
        ) -> $crate::store::StoreResult<::std::option::Option<u64>>);
    };
    (@method chunk_cache $how:tt) => {
        $crate::delegate_store!(@fn $how chunk_cache() -> ::std::option::Option<&dyn $crate::store::ChunkCache>);
    };
    (@method caches_values $how:tt) => {
        $crate::delegate_store!(@fn $how caches_values() -> bool);
    };
    (@method set $how:tt) => {
        $crate::delegate_store!(@fn $how set(
            key: &$crate::Key, value: $crate::store::Payload<'_>
        ) -> $crate::store::StoreResult<()>);
    };
    (@method set_if $how:tt) => {
        $crate::delegate_store!(@fn $how set_if(
            key: &$crate::Key, value: $crate::store::Payload<'_>, condition: &$crate::store::Condition
        ) -> $crate::store::StoreResult<$crate::store::ConditionalWrite>);
    };
    (@method lock $how:tt) => {
        $crate::delegate_store!(@fn $how lock(
            key: &$crate::Key
        ) -> $crate::store::StoreResult<::std::option::Option<$crate::store::StoreLock>>);
    };
    (@method set_partial_values $how:tt) => {
        $crate::delegate_store!(@fn $how set_partial_values(
            values: &[($crate::Key, u64, &[u8])]
        ) -> $crate::store::StoreResult<()>);
    };
    (@method commit (refuse $why:literal)) => {
        fn commit(&self) -> $crate::store::StoreResult<()> {
            Ok(())
        }
    };
    (@method commit $how:tt) => {
        $crate::delegate_store!(@fn $how commit() -> $crate::store::StoreResult<()>);
    };
    (@method array_document (refuse $why:literal)) => {
        fn array_document(
            &self,
            _: &$crate::Key,
            _: &$crate::Value,
        ) -> $crate::store::StoreResult<::std::option::Option<$crate::Value>> {
            Ok(None)
        }
    };
    (@method array_document $how:tt) => {
        $crate::delegate_store!(@fn $how array_document(
            key: &$crate::Key, document: &$crate::Value
        ) -> $crate::store::StoreResult<::std::option::Option<$crate::Value>>);
    };
    (@method erase $how:tt) => {
        $crate::delegate_store!(@fn $how erase(key: &$crate::Key) -> $crate::store::StoreResult<()>);
    };
    (@method erase_if $how:tt) => {
        $crate::delegate_store!(@fn $how erase_if(
            key: &$crate::Key, version: &$crate::store::Version
        ) -> $crate::store::StoreResult<$crate::store::ConditionalWrite>);
    };
    (@method erase_values $how:tt) => {
        $crate::delegate_store!(@fn $how erase_values(keys: &[$crate::Key]) -> $crate::store::StoreResult<()>);
    };
    (@method erase_prefix $how:tt) => {
        $crate::delegate_store!(@fn $how erase_prefix(prefix: &$crate::Prefix) -> $crate::store::StoreResult<()>);
    };
    (@method list_prefix $how:tt) => {
        $crate::delegate_store!(@fn $how list_prefix(
            prefix: &$crate::Prefix
        ) -> $crate::store::StoreResult<$crate::store::Keys<'_>>);
    };
    (@method list_dir $how:tt) => {
        $crate::delegate_store!(@fn $how list_dir(
            prefix: &$crate::Prefix
        ) -> $crate::store::StoreResult<$crate::store::Directory>);
    };

    (@fn (forward ($this:ident $($inner:tt)*)) $method:ident(
        $($argument:ident: $type:ty),*
    ) -> $returned:ty) => {
        fn $method(&$this $(, $argument: $type)*) -> $returned {
            $this $($inner)*.$method($($argument),*)
        }
    };
    (@fn (refuse $why:literal) $method:ident($($argument:ident: $type:ty),*) -> $returned:ty) => {
        fn $method(&self $(, _: $type)*) -> $returned {
            Err($crate::store::StoreError::not_supported(self, $why))
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
    fn lock();
    fn set_partial_values();
    fn commit();
    fn array_document();
    fn erase();
    fn erase_if();
    fn erase_values();
    fn erase_prefix();
    fn list_prefix();
    fn list_dir();
}
