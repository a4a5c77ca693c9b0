#!/bin/sh
# Made the two libraries of this folder, once: see README.md. OUT is where it writes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
out=${1:?a folder to write to}
mkdir -p "$out/crate"
cat > "$out/crate/Cargo.toml" <<END
[package]
name = "abi-1-0-rust"
version = "1.0.0"
edition = "2024"
license = "MIT OR Apache-2.0"
[lib]
path = "$here/rust/lib.rs"
crate-type = ["cdylib"]
[dependencies]
serde = { version = "1", features = ["derive"] }
zarr-plugin.path = "$root/zarr-plugin"
zarr-spec.path = "$root/zarr-spec"
[workspace]
[profile.release]
opt-level = "s"
lto = "fat"
codegen-units = 1
panic = "unwind"
strip = true
END
cp "$root/Cargo.lock" "$out/crate"
(cd "$out/crate" && RUSTFLAGS="--remap-path-prefix=$root=zarr-kit --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo" \
    CARGO_TARGET_DIR="$out/target" cargo build --release --offline)
cc -std=c11 -Wall -Wextra -Werror -Os -s -shared -fPIC -I "$root/zarr-plugin/include" -o "$out/abi-1-0-c.so" "$here/c.c"
zarrctl plugins pack "$out/target/release/libabi_1_0_rust.so" --output "$out/packed"
zarrctl plugins pack "$out/abi-1-0-c.so" --output "$out/packed"
ls -l "$out/packed"
