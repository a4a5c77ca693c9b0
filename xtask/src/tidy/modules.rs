//! The order of the modules of the engine.
//!
//! `Hierarchy`, `Group` and `Array` may name one another. Modules below them do not name these three types, and do not
//! form cycles.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::visit::{self, Visit};
use syn::{Item, UseTree};

use super::Finding;
use crate::workspace::Workspace;

const FOLDER: &str = "zarr-engine/src";

/// The modules of the handles, including the modules inside them.
const ABOVE: &[&str] = &["", "array", "builder", "convert", "elements", "group", "hierarchy", "values"];

/// The path of a module from the root of its crate, such as `a::b`; empty for the root.
type Module = String;

/// The modules of one crate, and the paths that each of them names.
#[derive(Debug, Default)]
struct Modules {
    /// Paths that a module names, each as segments from the root of the crate.
    paths: BTreeMap<Module, BTreeSet<Vec<String>>>,
    /// Names that a module re-exports, with their original paths.
    exports: BTreeMap<Module, BTreeMap<String, Vec<String>>>,
}

pub(super) fn check(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let mut modules = Modules::default();
    for file in workspace.rust_files()? {
        if let Ok(inner) = file.strip_prefix(FOLDER) {
            let source = workspace.read(&file)?;
            let parsed = syn::parse_file(&source).map_err(|error| format!("{}: {error}", file.display()))?;
            modules.add(module_of(inner), &parsed.items);
        }
    }
    Ok(modules.findings())
}

/// Returns the module in a file. `file` is relative to the folder of the sources.
fn module_of(file: &Path) -> Module {
    let path = file.with_extension("");
    let segments: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    if segments == ["lib"] { String::new() } else { segments.join("::") }
}

impl Modules {
    fn add(&mut self, module: Module, items: &[Item]) {
        let mut names = Names { module: segments_of(&module), found: BTreeSet::new() };
        let mut exports = BTreeMap::new();
        for item in items.iter().filter(|item| !is_test(item)) {
            names.visit_item(item);
            if let Item::Use(item) = item
                && !matches!(item.vis, syn::Visibility::Inherited)
            {
                for (name, path) in names.imported(&item.tree) {
                    exports.insert(name, path);
                }
            }
        }
        self.exports.insert(module.clone(), exports);
        self.paths.insert(module, names.found);
    }

    /// Returns the module that defines the item at a path.
    fn defining(&self, path: &[String]) -> Module {
        let mut path = path.to_vec();
        // A re-export leads to another path; a cycle of re-exports does not compile. A module that exports its own
        // macro, `use name;`, leads to itself.
        loop {
            let is_module = |count: &usize| self.paths.contains_key(&path[..*count].join("::"));
            let count = (0..=path.len()).rev().find(is_module).unwrap_or(0);
            let module = path[..count].join("::");
            let export = path.get(count).and_then(|name| self.exports.get(&module)?.get(name));
            match export.filter(|export| ***export != path[..=count]) {
                Some(export) => path = [export, &path[count + 1..]].concat(),
                None => return module,
            }
        }
    }

    /// Returns the other modules that each module names.
    fn uses(&self) -> BTreeMap<&str, BTreeSet<Module>> {
        let uses = |module: &Module, paths: &BTreeSet<Vec<String>>| {
            let defining = paths.iter().map(|path| self.defining(path));
            defining.filter(|used| !is_within(used, module) && !is_within(module, used)).collect()
        };
        self.paths.iter().map(|(module, paths)| (module.as_str(), uses(module, paths))).collect()
    }

    fn findings(&self) -> Vec<Finding> {
        let uses = self.uses();
        let mut findings = Vec::new();
        let below: Vec<&str> = uses.keys().copied().filter(|module| !is_above(module)).collect();
        for module in &below {
            for used in uses[module].iter().filter(|used| is_above(used)) {
                findings.push(Finding::error(place(module), format!("is below `{used}`, but names it")));
            }
        }
        for circle in circles(&below, &uses) {
            let message = format!("is in a cycle of modules: {}", circle.join(", "));
            findings.push(Finding::error(place(circle[0]), message));
        }
        findings
    }
}

fn place(module: &str) -> String {
    format!("{FOLDER}/{}.rs", module.replace("::", "/"))
}

fn segments_of(module: &str) -> Vec<String> {
    module.split("::").filter(|segment| !segment.is_empty()).map(str::to_owned).collect()
}

/// Returns whether `inner` is `outer` or a module inside it. The root does not count as a module that contains others.
fn is_within(inner: &str, outer: &str) -> bool {
    inner
        .strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || (!outer.is_empty() && rest.starts_with("::")))
}

fn is_above(module: &str) -> bool {
    ABOVE.iter().any(|listed| is_within(module, listed))
}

fn is_test(item: &Item) -> bool {
    let Item::Mod(module) = item else { return false };
    module.attrs.iter().any(|attribute| attribute.path().is_ident("cfg")) && module.ident == "tests"
}

/// Returns the groups of modules that reach one another, each sorted.
fn circles<'m>(modules: &[&'m str], uses: &BTreeMap<&str, BTreeSet<Module>>) -> Vec<Vec<&'m str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        modules.iter().map(|module| (*module, reached_from(module, modules, uses))).collect();
    let mut circles = BTreeSet::new();
    for module in modules {
        let others = reached[module].iter().filter(|other| reached[*other].contains(module));
        let circle: BTreeSet<&str> = others.copied().collect();
        if circle.len() > 1 {
            circles
                .insert(modules.iter().copied().filter(|other| circle.contains(other)).collect::<Vec<_>>());
        }
    }
    circles.into_iter().collect()
}

fn reached_from<'m>(
    start: &str,
    modules: &[&'m str],
    uses: &BTreeMap<&str, BTreeSet<Module>>,
) -> BTreeSet<&'m str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![start];
    while let Some(module) = open.pop() {
        for used in modules.iter().copied().filter(|used| uses[module].contains(*used)) {
            if reached.insert(used) {
                open.push(used);
            }
        }
    }
    reached
}

/// Collects the paths inside the crate that a module names.
struct Names {
    module: Vec<String>,
    found: BTreeSet<Vec<String>>,
}

impl Names {
    /// Returns a path from the root of the crate, or `None` for a path outside the crate.
    fn resolved(&self, path: &[String]) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        let mut from = match first.as_str() {
            "crate" => Vec::new(),
            "self" | "super" => self.module.clone(),
            _ => return None,
        };
        let mut rest = if first == "super" { path } else { rest };
        while let [first, others @ ..] = rest
            && first == "super"
        {
            from.pop();
            rest = others;
        }
        from.extend(rest.iter().cloned());
        Some(from)
    }

    /// Returns the names that a `use` imports, with their paths from the root of the crate.
    fn imported(&self, tree: &UseTree) -> Vec<(String, Vec<String>)> {
        let mut leaves = Vec::new();
        collect_leaves(tree, &mut Vec::new(), &mut leaves);
        // A path that begins with a child module does not need `self`.
        let resolved =
            |path: &[String]| self.resolved(path).or_else(|| Some([self.module.as_slice(), path].concat()));
        leaves.into_iter().filter_map(|(name, path)| Some((name, resolved(&path)?))).collect()
    }
}

fn collect_leaves(tree: &UseTree, path: &mut Vec<String>, leaves: &mut Vec<(String, Vec<String>)>) {
    match tree {
        UseTree::Path(inner) => {
            path.push(inner.ident.to_string());
            collect_leaves(&inner.tree, path, leaves);
            path.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|inner| collect_leaves(inner, path, leaves)),
        UseTree::Name(name) => {
            let mut whole = path.clone();
            let name = name.ident.to_string();
            if name != "self" {
                whole.push(name.clone());
            }
            leaves.push((name, whole));
        }
        UseTree::Rename(rename) => {
            let whole = [path.as_slice(), &[rename.ident.to_string()]].concat();
            leaves.push((rename.rename.to_string(), whole));
        }
        UseTree::Glob(_) => leaves.push(("*".to_owned(), path.clone())),
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let imported = self.imported(&item.tree);
        self.found.extend(imported.into_iter().map(|(_, path)| path));
    }

    // The path in `pub(crate)` or `pub(super)` does not count as a name of a module.
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.found.extend(self.resolved(&segments));
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(sources: &[(&str, &str)]) -> Vec<String> {
        let mut modules = Modules::default();
        for (file, source) in sources {
            modules.add(module_of(Path::new(file)), &syn::parse_file(source).unwrap().items);
        }
        modules
            .findings()
            .into_iter()
            .map(|finding| format!("{} {}", finding.place, finding.message))
            .collect()
    }

    #[test]
    fn a_module_below_the_handles_does_not_name_them() {
        let sources = [
            ("lib.rs", "mod array; mod scale; pub use array::Array;"),
            ("array.rs", "use crate::scale::Plan; pub struct Array;"),
            ("scale.rs", "pub struct Plan; fn f(_: &crate::array::Array) {}"),
        ];
        assert_eq!(findings(&sources), ["zarr-engine/src/scale.rs is below `array`, but names it"]);
        let sources = [sources[0], sources[1], ("scale.rs", "pub struct Plan; use crate::Array;")];
        assert_eq!(findings(&sources), ["zarr-engine/src/scale.rs is below `array`, but names it"]);
    }

    #[test]
    fn cycles_are_found_through_exports_and_between_siblings() {
        let sources = [
            ("scale.rs", "mod axis; mod cell; pub use cell::Cell;"),
            ("scale/axis.rs", "use super::Cell; pub struct Axis;"),
            ("scale/cell.rs", "use super::axis::Axis; pub struct Cell;"),
        ];
        assert_eq!(
            findings(&sources),
            ["zarr-engine/src/scale/axis.rs is in a cycle of modules: scale::axis, scale::cell"]
        );
    }

    #[test]
    fn a_module_may_export_its_own_macro() {
        let sources = [
            ("table.rs", "macro_rules! table { () => {} } pub(crate) use table;"),
            ("copy.rs", "use crate::table::table; table!();"),
        ];
        assert_eq!(findings(&sources), [""; 0]);
    }

    #[test]
    fn parents_and_children_may_name_one_another() {
        let sources = [
            ("scale.rs", "mod axis; use axis::Axis; pub struct Plan;"),
            ("scale/axis.rs", "use super::Plan; pub struct Axis;"),
            ("copy.rs", "use crate::scale::Plan; #[cfg(test)] mod tests { use crate::array::Array; }"),
            ("array.rs", "use crate::copy; pub struct Array;"),
        ];
        assert_eq!(findings(&sources), [""; 0]);
    }
}
