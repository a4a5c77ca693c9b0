//! Plugins of a registry that open their library when something is created.

use std::sync::Arc;

use zarr_spec::codec::{CodecMaker, CodecTranslator};
use zarr_spec::data_type::DataTypeMaker;
use zarr_spec::extension::{ExtensionMaker, ExtensionPlace, ExtensionPlugin};
use zarr_spec::grid::{ChunkGridMaker, ChunkGridPlugin, GridError};
use zarr_spec::key_encoding::{ChunkKeyEncodingMaker, ChunkKeyEncodingPlugin};
use zarr_spec::layout::{MemoryLayoutMaker, MemoryLayoutPlugin};
use zarr_spec::metadata_encoding::{MetadataEncodingMaker, MetadataEncodingPlugin};
use zarr_spec::registry::{DuplicateIdentifier, ExtensionPoint};
use zarr_spec::store::{Store, StoreDescriber, StoreOpener, StorePlugin};
use zarr_spec::transformer::{StorageTransformerMaker, StorageTransformerPlugin};
use zarr_spec::{
    About, CodecError, CodecPlugin, Creation, DataTypeError, DataTypePlugin, Format, Identifiers, Invalid,
    Origin, Registry, Representation, Value, printable_path,
};

use super::library::Library;
use super::loader::{Candidate, Loader};
use super::manifest::Provides;
use super::refusal::{PassedOver, Refusal};
use crate::abi::{CodecVtable, StoreVtable};
use crate::ffi::import::Imported;
use crate::ffi::library::Functions;

impl Loader {
    /// Adds all plugins that may be opened to `registry`, and says which ones may not. Their libraries are opened when
    /// something is created by one of their identifiers. Of an identifier that a plugin of `registry` or an earlier one
    /// has, the later plugin is passed over as a whole.
    ///
    /// Examples are known of libraries that [`Loader::open`] has opened before. What is registered stays in memory as long as the program: some words per identifier.
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
        let origin =
            Origin { package: leaked(&manifest.name), version: leaked(&manifest.version.to_string()) };
        // All of it or nothing.
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

/// One entry of a manifest, whose library is opened when it is needed.
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

    /// The functions of the entry.
    fn functions(&self) -> Result<&Functions, Invalid> {
        let functions = self.library()?.functions(self.entry);
        functions.ok_or_else(|| Invalid::new(format!("{} does not have it", self.name)))
    }

    /// The codec of the entry, if a runtime has it.
    fn run(&self) -> Result<Option<&CodecPlugin>, Invalid> {
        Ok(self.library()?.run(self.entry))
    }

    /// The functions of the entry, which `select` finds if they are of the kind that the manifest names. A library whose
    /// items are of other kinds is not opened.
    fn imported<V>(
        &self,
        select: impl Fn(&Functions) -> Option<&Imported<V>>,
    ) -> Result<&Imported<V>, Invalid> {
        let imported = select(self.functions()?);
        imported.ok_or_else(|| Invalid::new(format!("{} has another kind of it", self.name)))
    }

    fn add_to(
        self,
        registry: &mut Registry,
        provides: &Provides,
        origin: Origin,
    ) -> Result<(), DuplicateIdentifier> {
        let entry = self.entry(provides, origin);
        match provides.kind {
            ExtensionPoint::Codec => registry.register(self.codec(entry)),
            ExtensionPoint::DataType => registry.register(self.data_type(entry)),
            ExtensionPoint::MemoryLayout => registry.register(self.memory_layout(entry)),
            ExtensionPoint::ChunkGrid => registry.register(self.chunk_grid(entry)),
            ExtensionPoint::ChunkKeyEncoding => registry.register(self.chunk_key_encoding(entry)),
            ExtensionPoint::MetadataEncoding => registry.register(self.metadata_encoding(entry)),
            ExtensionPoint::GenericExtension => registry.register(self.extension(entry)),
            ExtensionPoint::StorageTransformer => registry.register(self.storage_transformer(entry)),
            ExtensionPoint::Store => registry.register_store(self.store(entry)),
        }
    }

    fn entry(&self, provides: &Provides, origin: Origin) -> Entry {
        let text = |text: &Option<String>| text.as_deref().map(leaked);
        let identifiers = Identifiers {
            uri: text(&provides.uri),
            name: text(&provides.name).unwrap_or(""),
            id: text(&provides.id),
            aliases: provides.aliases.iter().map(|alias| leaked(alias)).collect::<Vec<_>>().leak(),
        };
        let opened = self.loader.candidates()[self.number].about(self.entry);
        let about = opened.unwrap_or(About::new(leaked(&provides.summary), &[]));
        Entry { identifiers, about, origin }
    }

    fn codec(self, entry: Entry) -> CodecPlugin {
        let Entry { identifiers, about, origin } = entry;
        let translator = self.clone();
        let create = forever(move |creation: &Creation<'_>, decoded: &Representation| {
            match self.run().map_err(unusable)? {
                Some(codec) => (codec.create)(creation, decoded),
                None => self.imported_codec()?.create_codec(creation, decoded),
            }
        });
        let translate =
            forever(
                move |creation: &Creation<'_>, decoded: &Representation, format: Format| match translator
                    .run()
                    .map_err(unusable)?
                {
                    Some(codec) => (codec.translate)(creation, decoded, format),
                    None => translator.imported_codec()?.translate(creation, decoded, format),
                },
            );
        CodecPlugin {
            identifiers,
            create: CodecMaker::Loaded(create),
            translate: CodecTranslator::Loaded(translate),
            about,
            origin,
        }
    }

    fn imported_codec(&self) -> Result<&Imported<CodecVtable>, CodecError> {
        let imported = self.imported(|functions| match functions {
            Functions::Codec(imported) => Some(imported),
            _ => None,
        });
        imported.map_err(unusable)
    }

    fn data_type(self, entry: Entry) -> DataTypePlugin {
        let Entry { identifiers, about, origin } = entry;
        let create = forever(move |creation: &Creation<'_>| {
            let imported = self.imported(|functions| match functions {
                Functions::DataType(imported) => Some(imported),
                _ => None,
            });
            imported.map_err(DataTypeError::InvalidConfiguration)?.create(creation)
        });
        DataTypePlugin { identifiers, create: DataTypeMaker::Loaded(create), about, origin }
    }

    fn memory_layout(self, entry: Entry) -> MemoryLayoutPlugin {
        let Entry { identifiers, about, origin } = entry;
        let create = forever(move |creation: &Creation<'_>, rank: usize| {
            let imported = self.imported(|functions| match functions {
                Functions::MemoryLayout(imported) => Some(imported),
                _ => None,
            });
            imported.map_err(unusable)?.create_layout(creation, rank)
        });
        MemoryLayoutPlugin { identifiers, create: MemoryLayoutMaker::Loaded(create), about, origin }
    }

    fn chunk_grid(self, entry: Entry) -> ChunkGridPlugin {
        let Entry { identifiers, about, origin } = entry;
        let create = forever(move |creation: &Creation<'_>, shape: &[u64]| {
            let imported = self.imported(|functions| match functions {
                Functions::ChunkGrid(imported) => Some(imported),
                _ => None,
            });
            imported.map_err(GridError::InvalidConfiguration)?.create(creation, shape)
        });
        ChunkGridPlugin { identifiers, create: ChunkGridMaker::Loaded(create), about, origin }
    }

    fn chunk_key_encoding(self, entry: Entry) -> ChunkKeyEncodingPlugin {
        let Entry { identifiers, about, origin } = entry;
        let create = forever(move |creation: &Creation<'_>| {
            let imported = self.imported(|functions| match functions {
                Functions::ChunkKeyEncoding(imported) => Some(imported),
                _ => None,
            });
            imported?.create(creation)
        });
        ChunkKeyEncodingPlugin { identifiers, create: ChunkKeyEncodingMaker::Loaded(create), about, origin }
    }

    fn metadata_encoding(self, entry: Entry) -> MetadataEncodingPlugin {
        let Entry { identifiers, about, origin } = entry;
        let create = forever(move |creation: &Creation<'_>| {
            let imported = self.imported(|functions| match functions {
                Functions::MetadataEncoding(imported) => Some(imported),
                _ => None,
            });
            imported?.create(creation)
        });
        MetadataEncodingPlugin { identifiers, create: MetadataEncodingMaker::Loaded(create), about, origin }
    }

    fn extension(self, entry: Entry) -> ExtensionPlugin {
        let Entry { identifiers, about, origin } = entry;
        let create = forever(move |creation: &Creation<'_>, place: ExtensionPlace<'_>| {
            let imported = self.imported(|functions| match functions {
                Functions::GenericExtension(imported) => Some(imported),
                _ => None,
            });
            imported?.create(creation, place)
        });
        ExtensionPlugin { identifiers, create: ExtensionMaker::Loaded(create), about, origin }
    }

    fn storage_transformer(self, entry: Entry) -> StorageTransformerPlugin {
        let Entry { identifiers, about, origin } = entry;
        let create = forever(move |creation: &Creation<'_>, shape: &[u64]| {
            let imported = self.imported(|functions| match functions {
                Functions::StorageTransformer(imported) => Some(imported),
                _ => None,
            });
            imported?.create(creation, shape)
        });
        StorageTransformerPlugin {
            identifiers,
            create: StorageTransformerMaker::Loaded(create),
            about,
            origin,
        }
    }

    /// A store, whose schemes are among its identifiers.
    fn store(self, entry: Entry) -> StorePlugin {
        let Entry { identifiers, about, origin } = entry;
        let schemes: Vec<&'static str> =
            identifiers.aliases.iter().filter_map(|alias| alias.strip_suffix(':')).collect();
        let describer = self.clone();
        let open = forever(move |location: &str| self.imported_store()?.open(location));
        let describe = forever(move |description: &Value, given: Option<&Arc<dyn Store>>| {
            describer.imported_store()?.describe(description, given)
        });
        StorePlugin {
            name: identifiers.name,
            schemes: schemes.leak(),
            open: StoreOpener::Loaded(open),
            describe: StoreDescriber::Loaded(describe),
            about,
            origin,
        }
    }

    fn imported_store(&self) -> Result<&Imported<StoreVtable>, Invalid> {
        self.imported(|functions| match functions {
            Functions::Store(imported) => Some(imported),
            _ => None,
        })
    }
}

/// What all kinds of plugins have.
struct Entry {
    identifiers: Identifiers,
    about: About,
    origin: Origin,
}

/// Leaks a constructor: the registry needs it as long as the program runs.
fn forever<F>(constructor: F) -> &'static F {
    Box::leak(Box::new(constructor))
}

fn unusable(what: Invalid) -> CodecError {
    CodecError::Unsupported(what.to_string())
}
