// Reads an array with zarrita.js: `node zarrita_read.mjs PACKAGES STORE ARRAY OUT`. The folder PACKAGES has `node_modules`.
import { openAsBlob } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [packages, location, path, out] = process.argv.slice(2);

function load(file) {
  return import(pathToFileURL(join(packages, "node_modules", file)));
}

/** Returns the store of zarrita.js for a URL, a folder, a zip archive or a file of references. */
async function open(location) {
  if (/^https?:/.test(location)) {
    const { default: FetchStore } = await load("@zarrita/storage/dist/src/fetch.js");
    return new FetchStore(location.replace(/\/$/, ""));
  }
  if (/\.(zip|ozx)$/.test(location)) {
    const { default: ZipFileStore } = await load("@zarrita/storage/dist/src/zip.js");
    return ZipFileStore.fromBlob(await openAsBlob(location));
  }
  if (location.endsWith(".json")) {
    const { default: ReferenceStore } = await load("@zarrita/storage/dist/src/ref.js");
    return ReferenceStore.fromSpec(JSON.parse(await readFile(location, "utf8")));
  }
  const { default: FileSystemStore } = await load("@zarrita/storage/dist/src/fs.js");
  return new FileSystemStore(location);
}

/** Yields the positions of all elements in C order. */
function* positions(shape, stride, from = 0) {
  if (shape.length === 0) {
    yield from;
    return;
  }
  for (let index = 0; index < shape[0]; index++) {
    yield* positions(shape.slice(1), stride.slice(1), from + index * stride[0]);
  }
}

/** Returns an item of variable length after its size. Values other than texts and bytes are JSON. */
function item(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const bytes = value instanceof Uint8Array ? value : new TextEncoder().encode(text);
  const size = Buffer.alloc(4);
  size.writeUInt32LE(bytes.length);
  return Buffer.concat([size, bytes]);
}

/** Returns the elements in the form of `raw.py`. */
function raw({ data, shape, stride }) {
  const parts = [];
  const size = data.BYTES_PER_ELEMENT;
  for (const position of positions(shape, stride)) {
    parts.push(
      Array.isArray(data) ? item(data[position]) : Buffer.from(data.buffer, data.byteOffset + position * size, size),
    );
  }
  return Buffer.concat(parts);
}

try {
  const zarr = await load("zarrita/dist/src/index.js");
  const array = await zarr.open(zarr.root(await open(location)).resolve(path), { kind: "array" });
  // `get` returns a number, not a chunk, for arrays without dimensions.
  const elements = array.shape.length === 0 ? await array.getChunk([]) : await zarr.get(array);
  await writeFile(out, raw(elements));
} catch (error) {
  console.error(String(error).split("\n")[0]);
  process.exit(1);
}
