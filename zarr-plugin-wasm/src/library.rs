//! Checks and opens modules.

use std::sync::Arc;

use wasmi::{Config, Engine, ExternType, OperatorCost};
use zarr_plugin::abi;
use zarr_plugin::host::{Opened, Refusal};
use zarr_spec::{CodecPlugin, Creation, Format, Origin, Representation};

use crate::codec::{self, Recipe};
use crate::entry;
use crate::{FUEL_OF_A_CALL, MAX_MODULE};

/// The exported table that function pointers are indices into.
pub(crate) const TABLE: &str = "__indirect_function_table";

/// A module that has been checked and compiled.
#[derive(Debug)]
pub(crate) struct Module {
    engine: Engine,
    code: wasmi::Module,
}

impl Module {
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) fn code(&self) -> &wasmi::Module {
        &self.code
    }

    fn new(library: &[u8]) -> Result<Self, Refusal> {
        if library.len() > MAX_MODULE {
            let what = format!("it has {} bytes; the limit for modules is {MAX_MODULE}", library.len());
            return Err(Refusal::Open(what));
        }
        if !library.starts_with(b"\0asm") {
            return Err(Refusal::Open(
                "it is not a WebAssembly module, which begins with `\\0asm`".to_owned(),
            ));
        }
        let engine = Engine::new(&config());
        let code = wasmi::Module::new(&engine, library).map_err(|error| Refusal::Open(error.to_string()))?;
        let module = Self { engine, code };
        module.check()?;
        Ok(module)
    }

    /// Checks that the module has no imports and has all exports of a plugin.
    fn check(&self) -> Result<(), Refusal> {
        let imports: Vec<_> =
            self.code.imports().map(|import| format!("`{}.{}`", import.module(), import.name())).collect();
        if !imports.is_empty() {
            let what = format!("it imports {}, but a plugin must not have imports", imports.join(", "));
            return Err(Refusal::Open(what));
        }
        let exports = |name: &str| matches!(self.code.get_export(name), Some(ExternType::Func(_)));
        if !exports(abi::ENTRY_SYMBOL) {
            let other = abi::OTHER_ENTRY_SYMBOLS.iter().find(|(_, name)| exports(name));
            return Err(other.map_or(Refusal::NoSymbol, |(major, _)| Refusal::AbiMajor(*major)));
        }
        if !matches!(self.code.get_export("memory"), Some(ExternType::Memory(_))) {
            return Err(Refusal::Open("it does not export its memory as `memory`".to_owned()));
        }
        if !matches!(self.code.get_export(TABLE), Some(ExternType::Table(_))) {
            let what = format!("it does not export `{TABLE}`: link it with --export-table");
            return Err(Refusal::Open(what));
        }
        Ok(())
    }
}

fn config() -> Config {
    let mut config = Config::default();
    let calls = OperatorCost {
        call: FUEL_OF_A_CALL,
        call_indirect: FUEL_OF_A_CALL,
        return_call: FUEL_OF_A_CALL,
        return_call_indirect: FUEL_OF_A_CALL,
        ..OperatorCost::default()
    };
    config.consume_fuel(true).operator_cost(calls);
    config.compilation_mode(wasmi::CompilationMode::Eager).ignore_custom_sections(true);
    config.set_max_recursion_depth(1000).set_max_stack_height(256 << 10);
    config.wasm_multi_memory(false);
    config
}

/// Opens a module. Runs its start function and its entry function.
///
/// # Errors
///
/// The reason for which the module cannot be used as a plugin.
pub(crate) fn open(library: &[u8]) -> Result<Opened, Refusal> {
    let module = Arc::new(Module::new(library)?);
    let (mut opened, found) = entry::describe(&module)?;
    let origin: Arc<str> = format!("plugin {} {}", opened.name, opened.version).into();
    let codec = |(number, identifiers, about)| {
        let recipe = Recipe { module: module.clone(), item: number, origin: origin.clone() };
        let translated = recipe.clone();
        let create = move |creation: &Creation<'_>, decoded: &Representation| {
            codec::create(&recipe, creation, decoded)
        };
        let translate = move |creation: &Creation<'_>, decoded: &Representation, format: Format| {
            codec::translate(&translated, creation, decoded, format)
        };
        CodecPlugin::new(identifiers, Box::leak(Box::new(create)))
            .translated_by(Box::leak(Box::new(translate)))
            .with_about(about)
            .from(Origin::new(opened.name, opened.version))
    };
    opened.codecs = found.into_iter().map(codec).collect();
    Ok(opened)
}
