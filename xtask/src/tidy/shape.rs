//! Rules for functions: they are short, but not dense.

use std::collections::BTreeSet;
use std::path::Path;

use proc_macro2::{Ident, Span};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Expr, FnArg, Pat, Signature};

use super::{Finding, shown};
use crate::workspace::Workspace;

/// The maximum number of lines of a function, including its signature.
const LONGEST: usize = 60;

/// The maximum number of parameters of a function, without `self`.
const MOST_PARAMETERS: usize = 5;

/// Folders in which functions may have more parameters, with reasons.
const MANY_PARAMETERS: &[(&str, &str)] = &[
    ("zarr-plugin/src/abi", "declarations of the C ABI"),
    ("zarr-plugin/src/ffi", "functions that the C ABI declares"),
    ("zarr-engine/src/copy", "compute kernels"),
];

/// Functions that are older than these rules. Remove a function from the list when it follows them.
const OLDER: &[(&str, &str)] = &[
    ("zarr-engine/src/elements.rs", "fixed"),
    ("zarr-engine/src/elements.rs", "variable"),
    ("zarr-metadata/src/draft.rs", "parse_array"),
    ("zarr-plugin-kit/src/typestrings.rs", "check_same"),
    ("zarr-plugin/tests/it/loaded.rs", "create_in"),
    ("zarr-spec/src/host/pipeline.rs", "add"),
    ("zarrctl/src/target.rs", "metadata"),
];

/// Checks that functions are short, have few parameters, and do not hide parameters or statements in tuples.
pub(super) fn check(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for file in workspace.rust_files()? {
        for finding in check_source(&file, &workspace.read(&file)?)? {
            match finding.older() {
                Some(older) => _ = seen.insert(older),
                None => findings.push(finding.finding),
            }
        }
    }
    for older in OLDER.iter().filter(|older| workspace.root.join(older.0).exists() && !seen.contains(*older))
    {
        let message = format!("`{}` follows the rules: remove it from the list of older functions", older.1);
        findings.push(Finding::error(older.0, message));
    }
    Ok(findings)
}

/// A finding and its function. A finding about a statement does not have a function.
struct InFunction {
    file: String,
    function: Option<String>,
    finding: Finding,
}

impl InFunction {
    fn older(&self) -> Option<(&'static str, &'static str)> {
        let function = self.function.as_deref()?;
        OLDER.iter().copied().find(|older| *older == (self.file.as_str(), function))
    }
}

fn check_source(file: &Path, source: &str) -> Result<Vec<InFunction>, String> {
    let place = shown(file);
    let parsed = syn::parse_file(source).map_err(|error| format!("{place}: {error}"))?;
    let has_many_parameters = MANY_PARAMETERS.iter().any(|(folder, _)| place.starts_with(folder));
    let mut shapes = Shapes { place, has_many_parameters, findings: Vec::new() };
    shapes.visit_file(&parsed);
    Ok(shapes.findings)
}

/// Collects the findings about the functions of one file.
struct Shapes {
    place: String,
    has_many_parameters: bool,
    findings: Vec<InFunction>,
}

impl Shapes {
    fn add(&mut self, span: Span, function: Option<&Ident>, message: String) {
        let finding = Finding::error(format!("{}:{}", self.place, span.start().line), message);
        let function = function.map(ToString::to_string);
        self.findings.push(InFunction { file: self.place.clone(), function, finding });
    }

    fn check_function(&mut self, signature: &Signature, whole: Span) {
        let name = &signature.ident;
        let lines = whole.end().line - signature.span().start().line + 1;
        if lines > LONGEST {
            let message = format!("`{name}` has {lines} lines, more than {LONGEST}");
            self.add(signature.span(), Some(name), message);
        }
        let typed = signature.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(typed) => Some(&*typed.pat),
            FnArg::Receiver(_) => None,
        });
        let patterns: Vec<_> = typed.collect();
        if patterns.len() > MOST_PARAMETERS && !self.has_many_parameters {
            let count = patterns.len();
            let message = format!("`{name}` has {count} parameters, more than {MOST_PARAMETERS}");
            self.add(signature.span(), Some(name), message);
        }
        for pattern in patterns.into_iter().filter(|pattern| matches!(pattern, Pat::Tuple(_))) {
            let message = format!("`{name}` has a tuple pattern as a parameter");
            self.add(pattern.span(), Some(name), message);
        }
    }
}

impl<'ast> Visit<'ast> for Shapes {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.check_function(&function.sig, function.block.span());
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.check_function(&function.sig, function.block.span());
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        self.check_function(&function.sig, function.span());
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        let pattern = match &local.pat {
            Pat::Type(typed) => &*typed.pat,
            pattern => pattern,
        };
        // With `else`, the tuple is one condition.
        let is_value =
            |init: &&syn::LocalInit| init.diverge.is_none() && matches!(*init.expr, Expr::Tuple(_));
        if matches!(pattern, Pat::Tuple(_)) && local.init.as_ref().filter(is_value).is_some() {
            self.add(local.span(), None, "`let (a, b) = (x, y)` is two statements".to_owned());
        }
        visit::visit_local(self, local);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(file: &str, source: &str) -> Vec<String> {
        let findings = check_source(Path::new(file), source).unwrap();
        findings
            .into_iter()
            .map(|InFunction { finding, .. }| format!("{}: {}", finding.place, finding.message))
            .collect()
    }

    #[test]
    fn a_long_function_is_found_everywhere() {
        let body = "\n".repeat(60);
        for source in [
            format!("/// Doc.\nfn a() {{{body}}}"),
            format!("impl A {{\nfn a() {{{body}}} }}"),
            format!("trait A {{\nfn a() {{{body}}} }}"),
            format!("fn b() {{\nfn a() {{ {body} }} }}").replace("fn b() {\nfn a", "mod b {\nfn a"),
        ] {
            assert_eq!(messages("a.rs", &source), ["a.rs:2: `a` has 61 lines, more than 60"], "{source}");
            assert_eq!(messages("a.rs", &source.replacen("\n\n", "\n", 1)), [""; 0]);
        }
    }

    #[test]
    fn an_older_function_is_named_by_its_file_and_its_name() {
        let (file, function) = OLDER[0];
        let source = format!("fn {function}((a, b): (u8, u8)) {{}}");
        let found = check_source(Path::new(file), &source).unwrap();
        assert_eq!(found[0].older(), Some(OLDER[0]));
        let found = check_source(Path::new("a.rs"), &source).unwrap();
        assert_eq!(found[0].older(), None);
    }

    #[test]
    fn too_many_parameters_are_found_outside_the_listed_folders() {
        let source = "impl A { fn a(&self, a: u8, b: u8, c: u8, d: u8, e: u8) {} }";
        assert_eq!(messages("a.rs", source), [""; 0]);
        let source = "fn a(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8) {}";
        assert_eq!(messages("a.rs", source), ["a.rs:1: `a` has 6 parameters, more than 5"]);
        assert_eq!(messages("zarr-plugin/src/abi/store.rs", source), [""; 0]);
    }

    #[test]
    fn tuples_that_hide_parameters_or_statements_are_found() {
        let parameter = "fn a((b, c): (u8, u8)) {}";
        assert_eq!(messages("a.rs", parameter), ["a.rs:1: `a` has a tuple pattern as a parameter"]);
        let statement = "fn a() {\n    let (b, c) = (1, 2);\n    let (d, e) = f();\n    \
                         let (Some(g), Some(h)) = (d, e) else { return };\n}";
        assert_eq!(messages("a.rs", statement), ["a.rs:2: `let (a, b) = (x, y)` is two statements"]);
    }
}
