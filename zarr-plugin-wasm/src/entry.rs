//! Reads the plugin description that `zarr_plugin_v2` returns.

use zarr_plugin::Failure;
use zarr_plugin::abi::{self, Buf, CodecVtable, Host, Item, Plugin};
use zarr_plugin::convert::about;
use zarr_plugin::host::{Opened, Refusal};
use zarr_spec::{About, Identifiers};

use crate::guest::{Address, Guest};
use crate::library::Module;

/// The maximum length of a list in a library.
const MAX_ITEMS: u32 = 4096;

/// The maximum size in bytes of a single text of a library, and of all its texts together.
const MAX_TEXT: u32 = 1 << 20;
const MAX_TEXTS: usize = 4 << 20;

/// A codec of a library, with its index in the items.
pub(crate) type Found = (u32, Identifiers, About);

/// Starts a guest and reads its description. Returns a library without codecs, and the codecs that the module lists.
/// The texts are leaked.
///
/// # Errors
///
/// The reason for which the module is not a plugin.
pub(crate) fn describe(module: &Module) -> Result<(Opened, Vec<Found>), Refusal> {
    let failed = |failure: Failure| Refusal::Failed(failure.message);
    let (guest, plugin) = start(module).map_err(failed)?;
    let major = guest.get_u32::<Plugin>(plugin, "abi_major").map_err(failed)?;
    let number = |number: u32| u16::try_from(number).unwrap_or(u16::MAX);
    if number(major) != abi::ABI_MAJOR {
        return Err(Refusal::AbiMajor(number(major)));
    }
    let minor = guest.get_u32::<Plugin>(plugin, "abi_minor").map_err(failed)?;
    let mut texts = Texts { guest: &guest, left: MAX_TEXTS };
    texts.found(plugin, (number(major), number(minor))).map_err(failed)
}

/// Returns a new guest after running its entry function, and the address of its `zarr_plugin`.
pub(crate) fn start(module: &Module) -> Result<(Guest, Address), Failure> {
    let mut guest = Guest::new(module)?;
    guest.begin(0);
    if let Some(initialize) = guest.export::<(), ()>("_initialize") {
        guest.call(&initialize, ())?;
    }
    let entry = guest.export::<(u32, u32, u32), i32>(abi::ENTRY_SYMBOL);
    let entry = entry.ok_or_else(|| Failure::broken("its entry function has another signature"))?;
    let host =
        guest.put::<Host>(&[("abi_major", abi::ABI_MAJOR.into()), ("abi_minor", abi::ABI_MINOR.into())])?;
    let out = guest.put_bytes(&[0; 4])?;
    let err = guest.put::<Buf>(&[])?;
    let status = guest.call(&entry, (host, out, err))?;
    guest.outcome(status, err)?;
    let plugin = guest.address_at(out)?;
    Ok((guest, plugin))
}

/// Returns the address of the item at index `number`.
pub(crate) fn item(guest: &Guest, plugin: Address, number: u32) -> Result<Address, Failure> {
    let items = guest.get_u32::<Plugin>(plugin, "items")?;
    let count = guest.get_u32::<Plugin>(plugin, "n_items")?;
    let at = number.checked_mul(4).and_then(|bytes| items.checked_add(bytes)).filter(|_| number < count);
    guest.address_at(at.ok_or_else(|| Failure::broken(format!("it no longer has item {number}")))?)
}

/// Reads texts with a limit on their total size.
struct Texts<'g> {
    guest: &'g Guest,
    left: usize,
}

impl Texts<'_> {
    fn found(&mut self, plugin: Address, abi: (u16, u16)) -> Result<(Opened, Vec<Found>), Failure> {
        let mut text = |member| self.text::<Plugin>(plugin, member);
        let name = text("name")?;
        let version = text("version")?;
        let mut opened = Opened::new(abi, name, version, Vec::new());
        opened.license = text("license")?;
        opened.build = text("build")?;
        let count = at_most(self.guest.get_u32::<Plugin>(plugin, "n_items")?)?;
        let mut codecs = Vec::new();
        for number in 0..count {
            let item = item(self.guest, plugin, number)?;
            if self.guest.get_u32::<Item>(item, "kind")? == abi::CODEC {
                let (identifiers, about) = self.codec(item)?;
                codecs.push((number, identifiers, about));
            }
        }
        Ok((opened, codecs))
    }

    fn codec(&mut self, item: Address) -> Result<(Identifiers, About), Failure> {
        let mut aliases = Vec::new();
        let first = self.guest.get_u32::<Item>(item, "aliases")?;
        let count = self.guest.get_u32::<Item>(item, "n_aliases")?;
        for number in 0..at_most(count)? {
            let at = number.checked_mul(8).and_then(|bytes| first.checked_add(bytes));
            aliases.push(
                self.text_at(at.ok_or_else(|| Failure::broken("its aliases are outside its memory"))?)?,
            );
        }
        let some = |text: &'static str| (!text.is_empty()).then_some(text);
        let mut identifiers = Identifiers::default();
        identifiers.uri = some(self.text::<Item>(item, "uri")?);
        identifiers.name = some(self.text::<Item>(item, "name")?);
        identifiers.id = some(self.text::<Item>(item, "id")?);
        identifiers.aliases = aliases.leak();
        let summary = self.text::<Item>(item, "summary")?;
        let examples = self.text::<Item>(item, "examples_json")?;
        let schemas = self.text::<Item>(item, "configuration_schema_json")?;
        let vtable = self.guest.get_u32::<Item>(item, "vtable")?;
        let has = |function| self.guest.get_u32::<CodecVtable>(vtable, function).map(|address| address != 0);
        let decodes_only = has("decode")? && !has("encode")?;
        Ok((identifiers, about(summary, examples, schemas)?.with_decodes_only(decodes_only)))
    }

    fn text<T: abi::describe::Described>(
        &mut self,
        at: Address,
        member: &str,
    ) -> Result<&'static str, Failure> {
        // A shorter struct of an older version does not have this text.
        if self.guest.get::<T>(at, member)? == 0 {
            return Ok("");
        }
        self.text_at(Guest::inside::<T>(at, member)?)
    }

    /// Returns the text of the `zarr_str` at an address.
    fn text_at(&mut self, at: Address) -> Result<&'static str, Failure> {
        let bytes = self.guest.text(at, MAX_TEXT)?;
        self.left = self
            .left
            .checked_sub(bytes.len())
            .ok_or_else(|| Failure::broken(format!("its texts have more than {MAX_TEXTS} bytes in total")))?;
        let text =
            std::str::from_utf8(bytes).map_err(|_| Failure::broken("one of its texts is not UTF-8"))?;
        Ok(text.to_owned().leak())
    }
}

fn at_most(count: u32) -> Result<u32, Failure> {
    if count > MAX_ITEMS {
        return Err(Failure::broken(format!("it lists {count} items or aliases; the limit is {MAX_ITEMS}")));
    }
    Ok(count)
}
