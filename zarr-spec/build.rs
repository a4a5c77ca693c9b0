//! Nothing is built: `links` in the manifest, which keeps two copies of the registry out of one program, needs this file.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
