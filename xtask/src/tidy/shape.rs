//! Rules for functions: they are short, but not dense.

use std::path::Path;

use proc_macro2::Span;
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

/// Checks that functions are short, have few parameters, and do not hide parameters or statements in tuples.
pub(super) fn check(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for file in workspace.rust_files()? {
        findings.extend(check_source(&file, &workspace.read(&file)?)?);
    }
    Ok(findings)
}

fn check_source(file: &Path, source: &str) -> Result<Vec<Finding>, String> {
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
    findings: Vec<Finding>,
}

impl Shapes {
    fn add(&mut self, span: Span, message: String) {
        self.findings.push(Finding::error(format!("{}:{}", self.place, span.start().line), message));
    }

    fn check_function(&mut self, signature: &Signature, whole: Span) {
        let name = &signature.ident;
        let lines = whole.end().line - signature.span().start().line + 1;
        if lines > LONGEST {
            let message = format!("`{name}` has {lines} lines, more than {LONGEST}");
            self.add(signature.span(), message);
        }
        let typed = signature.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(typed) => Some(&*typed.pat),
            FnArg::Receiver(_) => None,
        });
        let patterns: Vec<_> = typed.collect();
        if patterns.len() > MOST_PARAMETERS && !self.has_many_parameters {
            let count = patterns.len();
            let message = format!("`{name}` has {count} parameters, more than {MOST_PARAMETERS}");
            self.add(signature.span(), message);
        }
        for pattern in patterns.into_iter().filter(|pattern| matches!(pattern, Pat::Tuple(_))) {
            let message = format!("`{name}` has a tuple pattern as a parameter");
            self.add(pattern.span(), message);
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
        // In `let … else`, the tuple combines several conditions, which is allowed.
        let is_value =
            |init: &&syn::LocalInit| init.diverge.is_none() && matches!(*init.expr, Expr::Tuple(_));
        if matches!(pattern, Pat::Tuple(_)) && local.init.as_ref().filter(is_value).is_some() {
            self.add(local.span(), "`let (a, b) = (x, y)` is two statements".to_owned());
        }
        visit::visit_local(self, local);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(file: &str, source: &str) -> Vec<String> {
        let findings = check_source(Path::new(file), source).unwrap();
        findings.into_iter().map(|finding| format!("{}: {}", finding.place, finding.message)).collect()
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
