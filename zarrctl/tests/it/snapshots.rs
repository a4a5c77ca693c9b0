//! All messages of the program, each provoked by a real run, in `tests/snapshots/messages.txt`.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Place, run, snapshot};

/// A heading, and commands that run in order in one folder. Commands that begin with `@` prepare the folder and are not
/// part of the snapshot.
type Section = (&'static str, &'static [&'static str]);

const SECTIONS: [Section; 14] = [
    (
        "Wrong usage",
        &[
            "zarrctl tre demo/v3",
            "zarrctl tree",
            "zarrctl tree demo/v3 --stict",
            "zarrctl tree demo/v3 --strict --compat",
            "zarrctl tree demo/v3 --as v4",
            "zarrctl tree demo/v3 --as v3draft",
            "zarrctl get demo/v3 words --format jsn",
            "zarrctl bench demo/v3 image/mask --seconds -1",
            "zarrctl clean demo/v3 --older-than 5",
            "zarrctl --memory much tree demo/v3",
            "ZARR_KIT_MEMORY=much zarrctl tree demo/v3",
            "ZARR_KIT_DURABLE=maybe zarrctl tree demo/v3",
            "zarrctl create a.zarr /a --shape 3,x --dtype int8",
            "zarrctl create a.zarr /a --shape 3",
            "zarrctl create a.zarr /a --shape 3 --dtype int8 --codec gzip:5",
            "zarrctl create a.zarr /a --shape 3 --dtype int8 --codec '{\"id\":\"gzip\"}'",
            "zarrctl create a.zarr /a --shape 3 --dtype int8 --attr a",
            "zarrctl create a.zarr /a --shape 3 --dtype int8 --grid '{' ",
            "zarrctl attrs demo/v3 / --set title=text",
            "zarrctl plugins new codek example.a",
            "zarrctl plugins new codec example.a --deps folder",
            "zarrctl conformance plugin --level L9",
            "zarrctl completions bassh",
        ],
    ),
    (
        "Stores",
        &[
            "zarrctl tree demo/v33",
            "zarrctl tree nowhere",
            "zarrctl tree ''",
            "@mkdir empty notes && echo text > notes/notes.txt",
            "zarrctl tree empty",
            "zarrctl tree notes",
            "zarrctl tree demo",
            "zarrctl tree demo/v3/zarr.json",
            "zarrctl tree notes/notes.txt",
            "zarrctl tree nowhere.zip",
            "zarrctl tree ftp://example.org/a.zarr",
            "zarrctl tree '{\"type\": \"tape\"}'",
            "zarrctl tree '{\"type\": 1}'",
            "zarrctl tree demo/v2 --as v3",
            "zarrctl create demo.zip /a --shape 2 --dtype int8",
            "zarrctl create memory: /a --shape 2 --dtype int8",
            "zarrctl create tape:x /a --shape 2 --dtype int8",
        ],
    ),
    (
        "Nodes",
        &[
            "zarrctl info demo/v3 image/mandelbrod",
            "zarrctl info demo/v3 mandelbrot",
            "zarrctl info demo/v3 nothing",
            "zarrctl get demo/v3 image",
            "zarrctl info demo/v3 image//mask",
            "zarrctl info demo/v3 __x",
            "@mkdir demo/v3/broken && echo '{' > demo/v3/broken/zarr.json",
            "zarrctl info demo/v3 broken",
            "zarrctl get demo/v3 broken",
            "@rm -r demo/v3/broken",
        ],
    ),
    (
        "create",
        &[
            "zarrctl create demo/v3 /image/mask --shape 2 --dtype int8",
            "zarrctl create demo/v3 /image/mask/a --shape 2 --dtype int8",
            "zarrctl create demo/v3 /a --shape 2 --dtype double",
            "zarrctl create demo/v3 /a --shape 2 --dtype UINT16",
            "zarrctl create demo/v3 /a --shape 2 --dtype flaot32",
            "zarrctl create demo/v3 /a --shape 2 --dtype f8",
            "zarrctl create demo/v3 /a --shape 2 --dtype 'datetime64[ns]'",
            "zarrctl create demo/v3 /a --shape 2 --dtype nonsense",
            "zarrctl create demo/v3 /a --shape 2 --dtype int8 --codec zsdt",
            "zarrctl create demo/v3 /a --shape 2 --dtype int8 --codec nonsense",
            "zarrctl create demo/v3 /a --shape 2 --dtype int8 --codec 'gzip:{\"levl\":5}'",
            "zarrctl create demo/v3 /a --shape 2 --dtype int8 --codec 'gzip:{\"level\":50}'",
            "zarrctl create demo/v3 /a --shape 2 --dtype int8 --codec gzip --codec bytes",
            "zarrctl create demo/v3 /a --shape 2 --dtype string --codec gzip --codec bytes",
            "zarrctl create demo/v3 /a --shape 4,4 --dtype int8 --chunks 2",
            "zarrctl create demo/v3 /a --shape 4,4 --dtype int8 --chunks 3,3 --shards 4,4",
            "zarrctl create demo/v3 /a --shape 4,4 --dtype int8 --dimension-names x",
            "zarrctl create demo/v3 /a --shape 4 --dtype bool --fill 1",
            "zarrctl create demo/v3 /a --shape 4 --dtype int8 --fill 1000",
            "zarrctl create demo/v2 /a --shape 4 --dtype int8 --shards 4",
            "zarrctl create demo/v2 /a --shape 4 --dtype int8 --format v3-drat",
            "zarrctl create demo/v3 /a --shape 4 --dtype int8 --grid '{\"name\": \"regulr\"}'",
            "zarrctl create demo/v3 /a --shape 4 --dtype int8 --key-encoding '{\"name\": \"defalt\"}'",
            "zarrctl create demo/v3 /a --shape 4 --dtype int8 --metadata-encoding cbor",
        ],
    ),
    (
        "get",
        &[
            "zarrctl get demo/v3 image/mask --select 1,2,3",
            "zarrctl get demo/v3 image/mask --select 5000",
            "zarrctl get demo/v3 image/mask --select a",
            "zarrctl get demo/v3 image/mask -o mask.nc",
            "zarrctl get demo/v3 image/mask -o mask",
            "zarrctl get demo/v3 image/mask -o no/such/folder.npy",
            "zarrctl get demo/v3 words --format npy",
            "@zarrctl create big.zarr /a --shape 2,2,2 --dtype int8",
            "zarrctl get big.zarr /a --format csv",
            "@zarrctl create big.zarr /huge --shape 1000000,10000000 --dtype int8",
            "zarrctl get big.zarr /huge",
            "@zarrctl create big.zarr /endless --shape 9223372036854775807,8 --dtype int8",
            "zarrctl get big.zarr /endless --select ...",
        ],
    ),
    (
        "put",
        &[
            "@printf 'a,b\\n' > a.csv && printf 12345678 > a.raw && printf 123 > short.raw",
            "zarrctl put big.zarr /a nowhere.npy",
            "zarrctl put big.zarr /a a.csv",
            "zarrctl put big.zarr /a a.raw",
            "zarrctl put big.zarr /a short.raw --format raw",
            "zarrctl put big.zarr /b a.raw --format raw",
            "@zarrctl get demo/v3 image/mandelbrot --select 0:2,0:2 -o small.npy",
            "zarrctl put big.zarr /a small.npy",
            "zarrctl put demo/v3 image/mandelbrot small.npy",
            "zarrctl put demo/v3 words a.raw --format raw",
        ],
    ),
    (
        "copy",
        &[
            "zarrctl copy demo/v3 demo/v3",
            "zarrctl copy demo/v3 demo/v3/copy",
            "zarrctl copy demo/v3 demo/v2",
            "zarrctl copy demo/v3 copy.zip",
            "zarrctl copy demo/v3 none.zarr --path nothing",
            "zarrctl copy demo/v3-draft v2.zarr --format v2 --dry-run",
            "zarrctl copy demo/v3-draft v2.zarr --format v2",
            "zarrctl copy demo/v3 chunks.zarr --chunks 2,2,2",
            "zarrctl copy demo/v3 chunks.zarr --chunks tme=3,x=2 --shards time=x",
            "zarrctl copy demo/v3 chunks.zarr --chunks tme=3,x=2",
            "zarrctl copy demo/v3 chunks.zarr --chunks image=3,2",
            "zarrctl copy demo/v3 chunks.zarr --chunks /image=64,64",
            "zarrctl copy demo/v3 chunks.zarr --exclude images",
            "zarrctl copy demo/v3 chunks.zarr --max-reads 0",
            "zarrctl copy demo/v3 lossy.zarr --path weather/temperature --codec 'bitround:{\"keepbits\":2}'",
            "@echo text > demo/v3/notes.txt && mkdir demo/v3/folder && echo text > demo/v3/folder/notes.txt",
            "zarrctl copy demo/v3 others.zarr --path /",
        ],
    ),
    (
        "pack",
        &[
            "zarrctl pack demo/v3 s3://bucket/a.zip",
            "zarrctl pack demo/v3 demo/v3/a.zip",
            "zarrctl pack demo/v3 a.csv",
            "zarrctl pack demo/v3-draft a.zip --path image",
            "zarrctl pack nowhere a.zip",
        ],
    ),
    (
        "erase, resize, attrs, consolidate",
        &[
            "zarrctl erase demo/v3 nothing",
            "zarrctl erase demo/v3 image/mask",
            "zarrctl erase others.zarr /",
            "zarrctl resize demo/v3 image/mandelbrot --shape 2",
            "zarrctl resize demo/v3 image/mandelbrod --shape 2,2",
            "zarrctl resize demo/v3 image --shape 2",
            "zarrctl resize demo/v3 image/mandelbrot --at-start 1,1",
            "zarrctl resize demo/v3 image/mandelbrot --at-start 1",
            "zarrctl attrs demo/v3 weather/temperature --unset unit",
            "zarrctl attrs demo/v3 weather/temperature --unset nothing",
            "zarrctl attrs demo/v3 weather/temperatur",
            "zarrctl consolidate demo/v3 image/mandelbrot",
            "zarrctl consolidate demo/v3",
            "@rm demo/v3/weather/time/zarr.json",
            "zarrctl tree demo/v3 weather",
            "zarrctl info demo/v3 weather/time --json > info.json",
        ],
    ),
    (
        "clean",
        &[
            "zarrctl clean nowhere",
            "zarrctl clean memory:",
            "zarrctl clean demo/v2",
            "@mkdir -p left.zarr/a/c && echo 1 > left.zarr/a/c/0 && echo 2 > left.zarr/.zarr-tmp-1",
            "zarrctl tree left.zarr",
            "zarrctl clean left.zarr",
            "zarrctl clean left.zarr --older-than 0s --dry-run",
            "zarrctl clean left.zarr --older-than 0s",
        ],
    ),
    (
        "bench",
        &[
            "zarrctl bench demo/v3 image",
            "zarrctl bench demo/v3 words",
            "zarrctl bench big.zarr /a --seconds 0",
        ],
    ),
    (
        "plugins",
        &[
            "zarrctl plugins show zsdt",
            "zarrctl plugins show nonsense",
            "zarrctl plugins why zsdt",
            "zarrctl plugins why imagecodecs_pglz",
            "zarrctl plugins why bshuf",
            "zarrctl plugins why zarrs.regular_bounded",
            "zarrctl plugins why ocdbt",
            "zarrctl plugins why sftp",
            "zarrctl plugins why zstd",
            "zarrctl plugins new codec gzip",
            "zarrctl plugins new codec Gzip",
            "zarrctl plugins new codec core",
            "zarrctl plugins new layout example.a",
            "zarrctl plugins new grid example.a --uri https://example.org/a/1.0",
            "zarrctl plugins new codec example.a --uri https://example.org/a",
            "zarrctl plugins new codec example.a --folder demo",
            "zarrctl plugins new codec example.a --deps path:demo",
            "zarrctl plugins trust xor",
            "zarrctl plugins install empty",
            "zarrctl plugins install a.csv",
            "zarrctl plugins install nowhere",
            "zarrctl plugins remove xor",
            "zarrctl plugins pack a.csv",
            "zarrctl plugins probe a.csv",
            "zarrctl plugins probe xor",
            "zarrctl plugins dirs",
        ],
    ),
    (
        "conformance",
        &[
            "zarrctl conformance plugin zsdt",
            "zarrctl conformance plugin zstd gzip --badge badge.json",
            "zarrctl conformance plugin zstd --expect a.csv",
            "zarrctl conformance store demo/v3",
            "zarrctl conformance store demo.zip",
            "zarrctl conformance format --only v3/nothing --list",
            "zarrctl conformance format",
        ],
    ),
    ("demo", &["zarrctl demo notes", "zarrctl demo a.csv"]),
];

#[test]
fn messages_match_the_snapshot() {
    let place = Place::new();
    assert!(run(&["demo", &place.at("demo")]).status.success());
    assert!(run(&["pack", &place.at("demo/v3"), &place.at("demo.zip")]).status.success());
    let mut text = String::new();
    for (heading, commands) in SECTIONS {
        text.push_str(&format!("# {heading}\n\n"));
        for command in commands {
            let output = shell(&place.path(""), command.trim_start_matches('@'));
            match command.strip_prefix('@') {
                Some(_) => assert!(output.ends_with("status 0\n"), "{command}: {output}"),
                None => text.push_str(&format!("$ {command}\n{output}\n")),
            }
        }
    }
    snapshot("messages.txt", &normalised(&text, &place));
}

/// Runs a command and returns its output and exit status.
fn shell(folder: &Path, command: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_zarrctl")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(folder).env("PATH", path).env("HOME", folder.join("home"));
    for variable in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "ZARR_PLUGIN_PATH"] {
        shell.env_remove(variable);
    }
    let output = shell.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let messages = String::from_utf8_lossy(&output.stderr);
    format!("{printed}{messages}status {}\n", output.status.code().unwrap_or(-1))
}

/// Replaces everything that differs between machines.
fn normalised(text: &str, place: &Place) -> String {
    let folder = fs::canonicalize(place.path("")).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_zarrctl")).parent().unwrap();
    let names =
        [place.path(""), folder].map(|folder| folder.to_str().unwrap().trim_end_matches('/').to_owned());
    let text = names.iter().fold(text.to_owned(), |text, folder| text.replace(folder.as_str(), "FOLDER"));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let text = text.replace(&format!("on {threads} threads"), "on N threads");
    text.replace(program.to_str().unwrap(), "PROGRAM").replace(env!("CARGO_PKG_VERSION"), "VERSION")
}
