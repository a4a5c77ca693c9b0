//! Exit status and messages.

use std::process::{Command, Stdio};

use crate::support::{Place, bytes, program, refused, run, text};

#[test]
fn wrong_usage_ends_with_status_two() {
    for arguments in [
        &["no-such-verb"][..],
        &["tree"],
        &["get", "store"],
        &["tree", "store", "--strict", "--compat"],
        &["tree", "store", "--as", "v4"],
        &["create", "store", "/a", "--shape", "3,x", "--dtype", "int8"],
        &["create", "store", "/a", "--shape", "3"],
        &["create", "store", "/a", "--shape", "3", "--dtype", "int8", "--codec", "gzip:5"],
        &["create", "store", "/a", "--shape", "3", "--dtype", "int8", "--attr", "a"],
        &["create", "store", "/a", "--shape", "3", "--dtype", "int8", "--grid", "{}", "--chunks", "3"],
        &["get", "store", "/a", "--format", "xml"],
        &["attrs", "store", "/a", "--set", "a=not json"],
        &["bench", "store", "/a", "--seconds", "-1"],
        &["bench", "store", "/a", "--seconds", "soon"],
        &["plugins", "show"],
        &["plugins", "show", "zstd", "gzip"],
        &["plugins", "show", "zstd", "--schema", "--json"],
        &["plugins", "--json", "show", "zstd"],
        &["plugins", "--json", "--long"],
        &["completions", "no-such-shell"],
    ] {
        refused(arguments, 2);
    }
}

#[test]
fn a_call_without_arguments_lists_the_verbs() {
    let output = run::<&str>(&[]);
    assert_eq!(output.status.code(), Some(2));
    let help = String::from_utf8(output.stderr).unwrap();
    for verb in [
        "demo",
        "tree",
        "info",
        "get",
        "bench",
        "create",
        "put",
        "copy",
        "erase",
        "resize",
        "attrs",
        "consolidate",
        "plugins",
    ] {
        assert!(help.contains(&format!("\n  {verb} ")), "{verb} in {help}");
    }
}

#[test]
fn help_and_version_succeed() {
    assert!(text(&["--version"]).starts_with("zarrctl "));
    assert!(text(&["copy", "--help"]).contains("--chunks"));
}

#[test]
fn a_store_without_hierarchy_is_named() {
    let place = Place::new();
    let message = refused(&["tree", &place.at("nothing")], 1);
    assert!(message.contains("nothing") && message.contains("no Zarr hierarchy"), "{message}");
    assert!(!place.path("nothing").exists());
}

#[test]
fn an_invalid_store_is_explained() {
    let place = Place::new();
    assert!(refused(&["tree", ""], 1).contains("a path, a URL or a JSON description"));
    let file = place.file("a.txt", b"text");
    assert!(refused(&["tree", &file], 1).contains("is a file, not a store"));
    let unknown = refused(&["tree", r#"{"type":"tape"}"#], 1);
    assert!(
        unknown.contains("store `tape` is unknown; expected one of ") && unknown.contains("`memory`"),
        "{unknown}"
    );
}

#[test]
fn a_write_to_memory_warns_that_it_is_lost() {
    let output = run(&["create", "memory:", "/a", "--shape", "4", "--dtype", "int8"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stderr).unwrap().contains("are lost when this program ends"));
}

/// `create` warns about the folder, because the user may have expected a store whose plugin is not installed.
#[test]
fn an_unknown_url_scheme_that_becomes_a_folder_causes_a_warning() {
    let place = Place::new();
    let create = |path| {
        let arguments = ["create", "tape:a", path, "--shape", "4", "--dtype", "int8"];
        let output = program().args(arguments).current_dir(place.path("")).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stderr).unwrap()
    };
    let told = "`tape:a` becomes a folder, because this build has no store for `tape:` URLs";
    assert!(create("/a").contains(told));
    assert!(place.path("tape:a/a/zarr.json").exists());
    assert_eq!(create("/b"), "");
}

#[test]
fn misspelt_names_get_suggestions() {
    let place = Place::new();
    let store = place.at("store");
    let create = ["create", &store, "/a", "--shape", "4", "--dtype"];
    for (more, part) in [
        (&["floot32"][..], "data type `floot32` is unknown (did you mean `float32`?)"),
        (&["float"], "did you mean `float16` or `float32` or `float64`?"),
        (&["int8", "--codec", "gzp"], "codec `gzp` is unknown (did you mean `gzip`?)"),
        (&["int8", "--chunks", "2,2"], "`chunks`: has 2 entries, but the array has 1 dimension"),
    ] {
        let message = refused(&[&create[..], more].concat(), 1);
        assert!(message.contains(part), "{part} in {message}");
    }
    let negative = refused(&["create", &store, "/a", "--shape", "-1", "--dtype", "int8"], 2);
    assert!(negative.contains("`-1` is not a number of elements"), "{negative}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_failed_write_is_named_without_the_error_number() {
    let place = Place::new();
    let store = place.at("store");
    bytes(&["create", &store, "/a", "--shape", "4", "--dtype", "int8"]);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut tree = Command::new(env!("CARGO_BIN_EXE_zarrctl"));
    let output = tree.args(["tree", &store]).stdout(full).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(message, "error: writing to standard output: No space left on device\n");
    assert_eq!(output.status.code(), Some(1));
    let message = refused(&["get", &store, "/a", "-o", &place.at("no/such/folder")], 1);
    assert!(message.contains("no/such/folder") && !message.contains("os error"), "{message}");
}

#[test]
fn missing_nodes_and_nodes_of_the_wrong_kind_are_named() {
    let place = Place::new();
    let store = place.at("store");
    bytes(&["create", &store, "/g/a", "--shape", "2", "--dtype", "int8"]);
    assert!(refused(&["get", &store, "/g/b"], 1).contains("/g/b"));
    assert!(refused(&["get", &store, "/g"], 1).contains("is a group"));
    let message = refused(&["info", &store, "/x"], 1);
    assert!(message.contains("there is no node at /x; did you mean /g?"), "{message}");
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let place = Place::new();
    let store = place.at("store");
    bytes(&["create", &store, "/a", "--shape", "4000,4000", "--chunks", "1000,1000", "--dtype", "uint8"]);
    let mut get = Command::new(env!("CARGO_BIN_EXE_zarrctl"));
    let pipes =
        get.args(["get", &store, "a", "--format", "raw"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(text(&["completions", shell]).contains("consolidate"), "{shell}");
    }
}

#[test]
fn without_a_terminal_plugins_are_listed_on_whole_lines() {
    let list = text(&["plugins"]);
    assert_eq!(list, text(&["plugins", "list"]));
    assert!(
        list.lines().any(|line| {
            line.starts_with("  gzip ") && line.ends_with("  Compresses with gzip (RFC 1952).")
        })
    );
    for point in ["codec", "data type", "chunk grid", "chunk key encoding", "metadata encoding", "store"] {
        assert!(list.lines().any(|line| line == point), "{point}");
    }
    assert!(list.lines().any(|line| line.chars().count() > 100) && !list.contains('…'), "{list}");
    assert!(!list.contains("://"), "{list}");
    // `show` accepts every listed name.
    for line in list.lines().filter(|line| line.starts_with("  ")) {
        let name = line.split_whitespace().next().unwrap();
        assert_eq!(run(&["plugins", "show", name]).status.code(), Some(0), "{line}");
    }
}

#[test]
fn codecs_that_only_decode_are_marked_and_new_arrays_with_them_are_refused() {
    let list = text(&["plugins", "list"]);
    let jpeg = list.lines().find(|line| line.starts_with("  imagecodecs_jpeg ")).unwrap();
    assert!(jpeg.ends_with("  (only decodes) Reads chunks that are JPEG images."), "{jpeg}");
    let shown = text(&["plugins", "show", "imagecodecs_jpeg"]);
    let consequence = "\nIt only decodes: arrays with it can be read, but not created or written.\n";
    assert!(shown.contains(consequence), "{shown}");
    assert!(text(&["plugins", "--json"]).contains("\"decodes_only\": true"));
    let place = Place::new();
    let store = place.at("store");
    let arguments = ["--shape", "16,24,3", "--dtype", "uint8", "--codec", "imagecodecs_jpeg"];
    let message = refused(&[&["create", &store, "/a"][..], &arguments].concat(), 1);
    assert!(message.contains("/a cannot be created: codec `imagecodecs_jpeg` only decodes"), "{message}");
}

#[test]
fn a_long_list_of_plugins_has_their_identifiers_and_crates() {
    let long = text(&["plugins", "--long"]);
    assert_eq!(long, text(&["plugins", "list", "--long"]));
    let gzip = &long[long.find("\n  gzip  (zarr-codec-gzip 0.").unwrap()..];
    for part in [
        "\n    Compresses with gzip (RFC 1952).\n",
        "\n    v2        gzip\n",
        "\n    v3-draft  https://purl.org/zarr/spec/codecs/gzip/1.0\n",
        "\n    v3        gzip\n",
    ] {
        assert!(gzip.contains(part), "{part} in {gzip}");
    }
    let json = text(&["plugins", "--json"]);
    assert_eq!(json, text(&["plugins", "list", "--json"]));
    assert!(json.contains(r#""package": "zarr-codec-gzip""#), "{json}");
}

#[test]
fn a_plugin_is_shown_with_its_purpose_and_examples() {
    let zstd = text(&["plugins", "show", "zstd"]);
    for part in [
        "codec zstd\nCompresses with Zstandard (RFC 8878).\n",
        "\n  crate     zarr-codec-zstd 0.",
        "\n  feature   codec-zstd of zarr-kit\n",
        "\n  v2        zstd\n",
        "\n  v3-draft  https://zarr-kit.example/spec/codecs/zstd/1.0\n",
        "\n  aliases   numcodecs.zstd\n",
        "\n  page      docs/spec/codecs-zstd.md\n",
        "\n  in v2\n    {\"id\": \"zstd\", \"level\": 0}\n",
    ] {
        assert!(zstd.contains(part), "{part} in {zstd}");
    }
    for other in [
        "numcodecs.zstd",
        "https://zarr-kit.example/spec/codecs/zstd/1.0",
        "https://zarr-kit.example/spec/codecs/zstd/1.7",
        "https://purl.org/zarr/spec/codec/zstd/1.0",
    ] {
        assert_eq!(text(&["plugins", "show", other]), zstd, "{other}");
    }
    // A crate may have several plugins.
    for whole in ["zarr-codec-zstd", "codec-zstd"] {
        let shown = text(&["plugins", "show", whole]);
        assert!(shown.contains(&zstd) && shown.contains("codec imagecodecs_zstd\n"), "{shown}");
    }
    let bitround = text(&["plugins", "show", "bitround"]);
    assert!(bitround.contains("(for float32, float64; relative error up to 0.0005)"), "{bitround}");
}

#[test]
fn equal_configurations_of_several_formats_are_listed_once() {
    let zstd = text(&["plugins", "show", "zstd"]);
    let members = "\n  configuration\n    level     an integer from -131072 to 22 or null\n    checksum  true or false \
                   or null\n\n";
    assert!(zstd.contains(members), "{zstd}");
    let crc32c = text(&["plugins", "show", "crc32c"]);
    let members = "\n  configuration in v2, v3-draft\n    location  one of \"start\", \"end\"\n\n  configuration in v3: none\n";
    assert!(crc32c.contains(members), "{crc32c}");
    let blosc = text(&["plugins", "show", "blosc"]);
    for line in [
        "\n    clevel     an integer from 0 to 255; required\n",
        "\n    typesize   an integer from 1 on\n",
        "\n    shuffle    see the examples\n",
    ] {
        assert!(blosc.contains(line), "{line} in {blosc}");
    }
    let store = text(&["plugins", "show", "filesystem"]);
    assert!(store.contains("\n  members\n    path     a string; required\n"), "{store}");
    assert!(!text(&["plugins", "show", "uint8"]).contains("configuration"));
    // v2 does not have names of grids.
    let json = text(&["plugins", "show", "regular", "--json"]);
    assert_eq!(json.matches("\"additionalProperties\"").count(), 1, "{json}");

    let whole = text(&["plugins", "show", "vlen-bytes", "--schema"]);
    let schema = "\n  configuration, as a JSON Schema\n    {\"type\": \"object\", \"properties\": {}, \"additionalProperties\": false}\n";
    assert!(whole.contains(schema), "{whole}");
    let none = text(&["plugins", "show", "uint8", "--schema"]);
    assert!(
        none.contains("\n  no JSON Schema: it does not have a configuration, or does not describe it\n"),
        "{none}"
    );
}

#[test]
fn long_examples_are_broken_into_lines() {
    let blosc = text(&["plugins", "show", "blosc"]);
    let example = r#"
    {
      "type": "https://purl.org/zarr/spec/codecs/blosc/1.0",
      "configuration": {"cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}
    }
"#;
    assert!(blosc.contains(example), "{blosc}");
    let sharding = text(&["plugins", "show", "sharding_indexed"]);
    assert!(sharding.lines().all(|line| line.chars().count() <= 100), "{sharding}");
    assert!(sharding.contains("\n      (for int16, float32, float64; shape [4, 6])\n"), "{sharding}");
}

#[test]
fn plugins_that_share_a_name_are_all_shown() {
    let bytes = text(&["plugins", "show", "bytes"]);
    assert!(bytes.starts_with("codec bytes\n") && bytes.contains("\n\ndata type bytes\n"), "{bytes}");
    // The codec of this name in v2 differs from the codec in v3.
    let packbits = text(&["plugins", "show", "packbits"]);
    assert!(
        packbits.contains("codec packbits\n") && packbits.contains("codec numcodecs.packbits\n"),
        "{packbits}"
    );
    assert_eq!(text(&["plugins", "show", "dtype-core"]).matches("\n  crate ").count(), 15);
}

#[test]
fn plugins_are_found_by_any_of_their_names() {
    for (id, name) in [
        ("<f4", "data type float32"),
        (">f4", "data type float32"),
        ("f4", "data type float32"),
        ("complex_float64", "data type complex128"),
        ("r16", "data type r*"),
        ("<M8[ns]", "data type numpy.datetime64"),
        ("|S3", "data type null_terminated_bytes"),
        ("memory:", "store memory"),
        ("read-only", "store read-only"),
        ("default", "chunk key encoding default"),
        ("morton", "chunk memory layout https://zarr-kit.example/spec/layouts/morton/1.0"),
    ] {
        let shown = text(&["plugins", "show", id]);
        assert_eq!(shown.lines().next(), Some(name), "{id}");
    }
}

#[test]
fn a_plugin_is_shown_as_json_too() {
    let json = text(&["plugins", "show", "bitround", "--json"]);
    for part in [
        r#""summary": "Rounds numbers to a few significant bits so that they compress better.""#,
        r#""feature": "codec-bitround""#,
        r#""page": "docs/spec/codecs-bitround.md""#,
        r#""kind": "relative""#,
        r#""required": ["#,
    ] {
        assert!(json.contains(part), "{part} in {json}");
    }
    assert!(json.starts_with("[\n") && json.ends_with("]\n"), "{json}");
}

#[test]
fn an_unknown_plugin_is_refused_with_similar_names() {
    let refusal = |id: &str| refused(&["plugins", "show", id], 1);
    for id in ["zstdd", "zsdt"] {
        assert_eq!(refusal(id), format!("error: unknown plugin `{id}`; did you mean `zstd`?\n"));
    }
    assert!(refusal("flaot32").contains("`float32`"));
    assert!(refusal("statistic").contains("did you mean `statistics`?"));
    for id in [
        "nothing like it",
        "",
        "https://example.org/codecs/zstd/1.0",
        "https://zarr-kit.example/spec/codecs/zstd/2.0",
    ] {
        let wanted = format!("error: unknown plugin `{id}`; `zarrctl plugins` lists all plugins\n");
        assert_eq!(refusal(id), wanted);
    }
}

#[test]
fn the_demonstration_reads_back_what_it_wrote() {
    let place = Place::new();
    let folder = place.at("demo");
    let shown = text(&["demo", &folder]);
    assert!(shown.contains("All elements were read back equal."), "{shown}");
    assert!(!shown.contains("DIFFERENT"), "{shown}");
    for part in
        ["── ", "v3-draft", "zarr.json", ".zarray", "sharding_indexed", "numpy.datetime64[s]", "complex64"]
    {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(shown.contains("@@@"), "there is no picture in {shown}");
    assert!(!shown.contains('\x1b'), "colours without a terminal");
    // Existing files are not overwritten.
    assert!(refused(&["demo", &folder], 1).contains("is not empty"));
    let file = place.file("file", b"");
    assert!(refused(&["demo", &file], 1).ends_with("is not a folder; give a new folder\n"));
}

#[test]
fn the_commands_of_the_readme_work() {
    let readme = include_str!("../../../README.md");
    let section = readme.split("## From the terminal").nth(1).unwrap();
    let commands = section.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let place = Place::new();
    for line in commands.lines() {
        let (command, _) = line.split_once("  #").unwrap_or((line, ""));
        // Text between quotes is one argument.
        let parts = command.strip_prefix("zarrctl ").unwrap().split('"').enumerate();
        let arguments = parts.flat_map(|(number, part)| match number % 2 {
            0 => part.split_whitespace().collect(),
            _ => vec![part],
        });
        let mut program = Command::new(env!("CARGO_BIN_EXE_zarrctl"));
        let output = program.args(arguments).current_dir(place.path("")).output().unwrap();
        let messages = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), messages.as_str()), (Some(0), ""), "{line}");
    }
    let part = ["get", &place.at("demo/v3"), "image/mandelbrot", "--select", "0:100, ::2", "--format", "raw"];
    assert_eq!(bytes(&part), bytes(&["get", &place.at("new.zarr"), "a", "--format", "raw"]));
}
