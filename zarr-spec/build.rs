//! An empty build script. `links` in the manifest requires it, and prevents two copies of the registry in one
//! program.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
