//! Plugins of a registry that open their library when an extension is created.

use std::collections::BTreeSet;
use std::convert::identity;
use std::path::Path;
use std::sync::Arc;

use zarr_spec::extension::{Extension, ExtensionPlace};
use zarr_spec::grid::{ChunkGrid, GridError};
use zarr_spec::host::registry::{DuplicateIdentifier, ExtensionPoint};
use zarr_spec::key_encoding::ChunkKeyEncoding;
use zarr_spec::layout::MemoryLayout;
use zarr_spec::metadata_encoding::MetadataEncoding;
use zarr_spec::store::{Step, Store, StorePlugin, StoreResult};
use zarr_spec::transformer::StorageTransformer;
use zarr_spec::{
    About, Codec, CodecError, CodecPlugin, CodecResult, Creation, DataType, DataTypeError, Format,
    Identifiers, Invalid, Object, Origin, Plugin, Registry, Representation, Value, json, printable_path,
};

use super::library::Library;
use super::loader::{Candidate, Loader};
use super::manifest::Provides;
use super::refusal::{PassedOver, Refusal};
use crate::abi::StoreVtable;
use crate::ffi::import::Imported;
use crate::ffi::library::Functions;

impl Loader {
    /// Adds all plugins that may be opened to `registry`, and returns the others. A library is opened when an
    /// extension is created by one of its identifiers. A plugin is not added if `registry` or an earlier plugin
    /// has one of its identifiers.
    ///
    /// Examples are available for libraries that [`Loader::open`] opened before. Registered plugins remain in
    /// memory as long as the program: a few words per identifier.
    pub fn register(&self, registry: &mut Registry) -> Vec<PassedOver> {
        let mut passed_over = Vec::new();
        for (number, candidate) in self.candidates().iter().enumerate() {
            let added = self.judge(candidate).and_then(|()| self.add(number, candidate, registry));
            let Err(refusal) = added else { continue };
            if let Ok(manifest) = candidate.manifest() {
                let who = format!("plugin {} {}", manifest.name, manifest.version);
                for (provides, identifier) in
                    manifest.provides.iter().flat_map(|it| it.identifiers().map(move |known| (it, known)))
                {
                    let hint = format!(
                        "in {who} ({}), which is not used: {refusal}",
                        printable_path(&candidate.path)
                    );
                    registry.add_hint(provides.kind, identifier, &hint);
                }
            }
            passed_over.push(PassedOver { manifest: candidate.path.clone(), refusal });
        }
        passed_over
    }

    fn add(&self, number: usize, candidate: &Candidate, registry: &mut Registry) -> Result<(), Refusal> {
        let manifest = candidate.manifest()?;
        let origin = Origin::new(leaked(&manifest.name), leaked(&manifest.version.to_string()));
        // A plugin is added completely or not at all.
        let mut with_it = registry.clone();
        for (entry, provides) in manifest.provides.iter().enumerate() {
            let lazy = Lazy { loader: self.clone(), number, entry, name: format!("plugin {origin}").into() };
            lazy.add_to(&mut with_it, provides, origin)
                .map_err(|duplicate| Refusal::Claimed(duplicate.to_string()))?;
        }
        *registry = with_it;
        Ok(())
    }
}

fn leaked(text: &str) -> &'static str {
    text.to_owned().leak()
}

/// An entry of a manifest. Its library is opened when it is needed.
#[derive(Debug, Clone)]
struct Lazy {
    loader: Loader,
    number: usize,
    entry: usize,
    name: Arc<str>,
}

impl Lazy {
    fn library(&self) -> Result<&Library, Invalid> {
        let refused = |refusal: Refusal| Invalid::new(format!("{} is not used: {refusal}", self.name));
        self.loader.open(&self.loader.candidates()[self.number]).map_err(refused)
    }

    /// Returns the functions of the entry.
    fn functions(&self) -> Result<&Functions, Invalid> {
        let functions = self.library()?.functions(self.entry);
        functions.ok_or_else(|| Invalid::new(format!("{} does not have it", self.name)))
    }

    fn add_to(
        self,
        registry: &mut Registry,
        provides: &Provides,
        origin: Origin,
    ) -> Result<(), DuplicateIdentifier> {
        let text = |text: &Option<String>| text.as_deref().map(leaked);
        let mut identifiers = Identifiers::default();
        identifiers.uri = text(&provides.uri);
        identifiers.name = text(&provides.name);
        identifiers.id = text(&provides.id);
        identifiers.aliases = provides.aliases.iter().map(|alias| leaked(alias)).collect::<Vec<_>>().leak();
        let opened = self.loader.candidates()[self.number].about(self.entry);
        let declared = || About::new(leaked(&provides.summary), &[]).with_decodes_only(provides.decodes_only);
        let about = opened.unwrap_or_else(declared);
        // The functions have the kind in the manifest, because a library whose items differ from its manifest is not
        // opened.
        macro_rules! plugin {
            ($kind:ty, $functions:ident . $create:ident, $error:expr, |$creation:ident $(, $more:ident: $type:ty)?|) => {{
                let create = move |$creation: &Creation<'_> $(, $more: $type)?| {
                    match self.functions().map_err($error)? {
                        Functions::$functions(imported) => imported.$create($creation $(, $more)?),
                        _ => Err($error(self.other_kind())),
                    }
                };
                registry.register(Plugin::<$kind>::new(identifiers, Box::leak(Box::new(create))).with_about(about).from(origin))
            }};
        }
        match provides.kind {
            ExtensionPoint::Codec => registry.register(self.codec(identifiers, about, origin)),
            ExtensionPoint::DataType => {
                plugin!(dyn DataType, DataType.create, DataTypeError::InvalidConfiguration, |creation|)
            }
            ExtensionPoint::MemoryLayout => {
                plugin!(MemoryLayout, MemoryLayout.create_layout, unusable, |creation, rank: usize|)
            }
            ExtensionPoint::ChunkGrid => {
                plugin!(dyn ChunkGrid, ChunkGrid.create, GridError::InvalidConfiguration, |creation, shape: &[u64]|)
            }
            ExtensionPoint::ChunkKeyEncoding => {
                plugin!(dyn ChunkKeyEncoding, ChunkKeyEncoding.create, identity, |creation|)
            }
            ExtensionPoint::MetadataEncoding => {
                plugin!(dyn MetadataEncoding, MetadataEncoding.create, identity, |creation|)
            }
            ExtensionPoint::GenericExtension => {
                plugin!(dyn Extension, GenericExtension.create, identity, |creation, place: ExtensionPlace<'_>|)
            }
            ExtensionPoint::StorageTransformer => {
                plugin!(StorageTransformer, StorageTransformer.create, identity, |creation, shape: &[u64]|)
            }
            ExtensionPoint::Store => registry.register_store(self.store(identifiers, about, origin)),
        }
    }

    fn other_kind(&self) -> Invalid {
        Invalid::new(format!("{} has an extension of another kind", self.name))
    }

    fn codec(self, identifiers: Identifiers, about: About, origin: Origin) -> CodecPlugin {
        let translator = self.clone();
        let create =
            move |creation: &Creation<'_>, decoded: &Representation| self.create_codec(creation, decoded);
        let translate = move |creation: &Creation<'_>, decoded: &Representation, format: Format| {
            translator.translate_codec(creation, decoded, format)
        };
        CodecPlugin::new(identifiers, Box::leak(Box::new(create)))
            .translated_by(Box::leak(Box::new(translate)))
            .with_about(about)
            .from(origin)
    }

    fn create_codec(&self, creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
        match self.functions().map_err(unusable)? {
            Functions::RunCodec(codec) => (codec.create)(creation, decoded),
            Functions::Codec(imported) => imported.create_codec(creation, decoded),
            _ => Err(unusable(self.other_kind())),
        }
    }

    fn translate_codec(
        &self,
        creation: &Creation<'_>,
        decoded: &Representation,
        format: Format,
    ) -> CodecResult<Object> {
        match self.functions().map_err(unusable)? {
            Functions::RunCodec(codec) => codec.translate(creation, decoded, format),
            Functions::Codec(imported) => imported.translate(creation, decoded, format),
            _ => Err(unusable(self.other_kind())),
        }
    }

    /// Returns the plugin of a store. The identifiers contain the schemes of its URLs.
    ///
    /// A store with one scheme can be a step of URL pipelines: without options, it is opened at the URL with its
    /// scheme, otherwise from a description. If the library does not open the location before the step, the host opens
    /// it and passes the store.
    fn store(self, identifiers: Identifiers, about: About, origin: Origin) -> StorePlugin {
        let schemes = identifiers.aliases.iter().filter_map(|alias| alias.strip_suffix(':'));
        let schemes: Vec<&'static str> = schemes.collect();
        let name = identifiers.name.unwrap_or_default();
        let scheme = <[&str; 1]>::try_from(&*schemes).ok().filter(|[scheme]| !scheme.is_empty());
        let describer = self.clone();
        let stepper = self.clone();
        let open = move |location: &str| self.opens_stores()?.open(location);
        let describe = move |description: &Value, given: Option<&Arc<dyn Store>>| {
            describer.opens_stores()?.describe(description, given)
        };
        let mut plugin = StorePlugin::new(name, schemes.leak(), Box::leak(Box::new(open)));
        plugin.describe = Some(Box::leak(Box::new(describe)));
        if let Some([scheme]) = scheme {
            let open_step = move |step: &Step<'_>| stepper.open_step(name, scheme, step);
            plugin = plugin.step(Box::leak(Box::new(open_step)));
        }
        plugin.about = about;
        plugin.from(origin)
    }

    fn open_step(&self, name: &str, scheme: &str, step: &Step<'_>) -> StoreResult<Arc<dyn Store>> {
        let stores = self.opens_stores()?;
        let place = place_of(step);
        let location = format!("{scheme}:{place}");
        let description = match step.options {
            [] => None,
            _ => Some(described_step(name, step, ("path", place.as_str().into()))?),
        };
        if step.path.is_some() {
            return match description {
                Some(description) => stores.describe(&description, None),
                None => stores.open(&location),
            };
        }
        // Only the host knows steps of pipelines.
        if step.input.contains("://")
            && let Some(opened) = stores.open_unless_host_does(&location, description.as_ref())?
        {
            return Ok(opened);
        }
        let inside = step.locations.open(step.input)?;
        let given = ("store", json!({"type": "given"}));
        stores.describe_at(&described_step(name, step, given)?, Some(&inside), &location)
    }

    fn opens_stores(&self) -> Result<&Imported<StoreVtable>, Invalid> {
        match self.functions()? {
            Functions::Store(imported) => Ok(imported),
            _ => Err(Invalid::new(format!("{} does not have this store", self.name))),
        }
    }
}

/// Returns the location before a step, as a path if it is one.
fn place_of(step: &Step<'_>) -> String {
    step.path.and_then(Path::to_str).unwrap_or(step.input).to_owned()
}

/// Returns the description of a store that is a step. `place` is the member for the location before the step, and each
/// option is a member. An option that occurs several times is a list.
fn described_step(name: &str, step: &Step<'_>, place: (&str, Value)) -> Result<Value, Invalid> {
    let mut members = Object::new();
    members.insert("type", name);
    members.insert(place.0, place.1);
    let names: BTreeSet<&str> = step.options.iter().map(|(name, _)| name.as_str()).collect();
    for name in names {
        if members.get(name).is_some() || ["path", "store"].contains(&name) {
            return Err(Invalid::new(format!(
                "the step after `{}` cannot have the option `{name}`",
                step.input
            )));
        }
        let values = step.options.iter().filter(|(other, _)| other == name);
        let values: Vec<Value> = values.map(|(_, value)| Value::from(value.as_str())).collect();
        match <[Value; 1]>::try_from(values) {
            Ok([value]) => members.insert(name, value),
            Err(values) => members.insert(name, Value::Array(values)),
        };
    }
    Ok(Value::Object(members))
}

fn unusable(what: Invalid) -> CodecError {
    CodecError::Unsupported(what.to_string())
}
