//! Writes Rust definitions as a C header, and computes the layout that both languages use.

use std::ffi::c_void;
use std::ops::Range;

/// A type of Rust and C.
pub trait CType {
    /// The size and the alignment in WebAssembly, where pointers and `size_t` have 4 bytes.
    const IN_WASM32: (usize, usize);

    /// Returns the declaration of `name` with this type. `qualifier` is `const ` or empty.
    fn declare(qualifier: &str, name: &str) -> String;
}

macro_rules! scalars {
    ($($rust:ty = $c:literal $wasm32:literal),* $(,)?) => {$(
        impl CType for $rust {
            const IN_WASM32: (usize, usize) = ($wasm32, $wasm32);

            fn declare(qualifier: &str, name: &str) -> String {
                format!("{qualifier}{} {name}", $c)
            }
        }
    )*};
}

scalars! {
    u8 = "uint8_t" 1, u16 = "uint16_t" 2, u32 = "uint32_t" 4, i32 = "int32_t" 4, u64 = "uint64_t" 8,
    i64 = "int64_t" 8,
    usize = "size_t" 4, c_void = "void" 1,
}

/// The size and the alignment of a pointer in WebAssembly.
pub const WASM32_POINTER: (usize, usize) = (4, 4);

impl<T: CType> CType for *const T {
    const IN_WASM32: (usize, usize) = WASM32_POINTER;

    fn declare(qualifier: &str, name: &str) -> String {
        T::declare("const ", &format!("*{qualifier}{name}"))
    }
}

impl<T: CType> CType for *mut T {
    const IN_WASM32: (usize, usize) = WASM32_POINTER;

    fn declare(qualifier: &str, name: &str) -> String {
        T::declare("", &format!("*{qualifier}{name}"))
    }
}

/// The layout of a struct in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The name in C.
    pub name: &'static str,
    /// The size in bytes.
    pub size: usize,
    /// The members and their offsets in bytes.
    pub members: Vec<(&'static str, usize)>,
}

/// The layout of a struct in WebAssembly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wasm32Layout {
    /// The name in C.
    pub name: &'static str,
    /// The size in bytes.
    pub size: usize,
    /// The names, sizes and alignments of the members.
    members: &'static [(&'static str, (usize, usize))],
}

impl Wasm32Layout {
    pub(super) const fn new(name: &'static str, members: &'static [(&'static str, (usize, usize))]) -> Self {
        let mut end = 0_usize;
        let mut align = 1;
        let mut number = 0;
        while number < members.len() {
            let (size, own) = members[number].1;
            end = end.next_multiple_of(own) + size;
            if own > align {
                align = own;
            }
            number += 1;
        }
        Self { name, size: end.next_multiple_of(align), members }
    }

    const fn align(&self) -> usize {
        let mut align = 1;
        let mut number = 0;
        while number < self.members.len() {
            let (_, own) = self.members[number].1;
            if own > align {
                align = own;
            }
            number += 1;
        }
        align
    }

    pub(super) const fn size_and_align(&self) -> (usize, usize) {
        (self.size, self.align())
    }

    /// Returns the name of each member in C, and the range of its bytes in the struct.
    pub fn members(&self) -> impl Iterator<Item = (&'static str, Range<usize>)> {
        let mut end = 0_usize;
        self.members.iter().map(move |&(member, (size, align))| {
            let start = end.next_multiple_of(align);
            end = start + size;
            (member, start..end)
        })
    }

    /// Returns the range of the bytes of a member in the struct.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<Range<usize>> {
        self.members().find(|(member, _)| *member == name).map(|(_, bytes)| bytes)
    }
}

/// A struct of the ABI.
pub trait Described: CType {
    /// Returns the definition in C.
    fn definition() -> String;

    /// Returns the layout on this machine.
    fn layout() -> Layout;

    /// The layout in WebAssembly.
    const WASM32: Wasm32Layout;

    /// Returns [`Described::WASM32`].
    fn wasm32() -> Wasm32Layout {
        Self::WASM32
    }
}

/// Declares a member that is a pointer to a function.
pub(super) fn function(result: Option<String>, name: &str, arguments: &[String]) -> String {
    let result = result.unwrap_or_else(|| "void ".to_owned());
    format!("{result}(*{name})({})", arguments.join(", "))
}

/// Returns the name of a member in C. `this` is a keyword of C++.
pub(super) const fn c_name(name: &'static str) -> &'static str {
    match name.as_bytes() {
        b"this" => "self",
        _ => name,
    }
}

/// Returns a comment, wrapped at the width of the header.
pub(super) fn comment(indent: &str, lines: &[&str]) -> String {
    let mut text = String::new();
    let words = lines.iter().flat_map(|line| line.split_whitespace());
    let mut line = format!("{indent}/*");
    for word in words {
        if line.len() + word.len() > 108 {
            text += &line;
            text.push('\n');
            line = format!("{indent} *");
        }
        line.push(' ');
        line += word;
    }
    text + &line + " */\n"
}

/// Defines a struct for Rust and for C. A member that is a function is written `name: fn(argument: Type) -> Type`.
macro_rules! abi_struct {
    ($(#[doc = $doc:literal])* $rust:ident = $c:literal { $($members:tt)* }) => {
        abi_struct!(@members [$($doc),*] $rust $c [] [] [] $($members)*);
    };
    (@members $docs:tt $rust:ident $c:literal [$($fields:tt)*] [$($lines:tt)*] [$($names:tt)*]
        $(#[doc = $doc:literal])* $field:ident: fn($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?,
        $($rest:tt)*) => {
        abi_struct!(@members $docs $rust $c
            [$($fields)* $(#[doc = $doc])* pub $field: Option<unsafe extern "C" fn($($type),*) $(-> $result)?>,]
            [$($lines)* ([$($doc),*], {
                let result: Option<String> = [$(<$result as CType>::declare("", ""))?].into_iter().next();
                describe::function(result, stringify!($field), &[$(<$type as CType>::declare("", describe::c_name(stringify!($argument)))),*])
            })]
            [$($names)* ($field, describe::WASM32_POINTER)]
            $($rest)*);
    };
    (@members $docs:tt $rust:ident $c:literal [$($fields:tt)*] [$($lines:tt)*] [$($names:tt)*]
        $(#[doc = $doc:literal])* $field:ident: $type:ty, $($rest:tt)*) => {
        abi_struct!(@members $docs $rust $c
            [$($fields)* $(#[doc = $doc])* pub $field: $type,]
            [$($lines)* ([$($doc),*], <$type as CType>::declare("", describe::c_name(stringify!($field))))]
            [$($names)* ($field, <$type as CType>::IN_WASM32)]
            $($rest)*);
    };
    (@members [$($docs:literal),*] $rust:ident $c:literal [$($fields:tt)*]
        [$(([$($doc:literal),*], $line:expr))*] [$(($name:ident, $wasm32:expr))*]) => {
        $(#[doc = $docs])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy)]
        #[allow(missing_docs, reason = "members with self-explanatory names do not have a comment, here and in the header")]
        pub struct $rust { $($fields)* }

        impl CType for $rust {
            const IN_WASM32: (usize, usize) = Self::WASM32.size_and_align();

            fn declare(qualifier: &str, name: &str) -> String {
                format!("{qualifier}{} {name}", $c)
            }
        }

        impl Described for $rust {
            const WASM32: describe::Wasm32Layout =
                describe::Wasm32Layout::new($c, &[$((describe::c_name(stringify!($name)), $wasm32)),*]);

            fn definition() -> String {
                let mut text = describe::comment("", &[$($docs),*]);
                text += &format!("struct {} {{\n", $c);
                $(
                    let lines: &[&str] = &[$($doc),*];
                    if !lines.is_empty() {
                        text += &describe::comment("    ", lines);
                    }
                    text += &format!("    {};\n", $line);
                )*
                text + "};\n"
            }

            fn layout() -> Layout {
                Layout {
                    name: $c,
                    size: size_of::<Self>(),
                    members: vec![$((describe::c_name(stringify!($name)), std::mem::offset_of!(Self, $name))),*],
                }
            }
        }
    };
}

/// Defines numbers for Rust and for C.
macro_rules! abi_numbers {
    ($($(#[doc = $doc:literal])* $name:ident: $type:ty = $value:literal;)*) => {
        $($(#[doc = $doc])* pub const $name: $type = $value;)*

        /// Returns the definitions of all numbers in C.
        fn numbers() -> String {
            let mut text = String::new();
            $(
                text += &describe::comment("", &[$($doc),*]);
                text += &format!("#define ZARR_{} {}\n", stringify!($name), $value);
            )*
            text
        }
    };
}

pub(super) use {abi_numbers, abi_struct};
