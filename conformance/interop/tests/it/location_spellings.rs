//! Every spelling of a location means the same to the crates and to each verb of `zarrctl`, and messages about wrong ones
//! name the place.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::fs;
use std::process::Output;

use serde_json::json;
use tempfile::TempDir;
use zarr_interop::{key, with_icechunk};
use zarr_kit::spec::store::get_value;
use zarr_kit::{ArrayBuilder, Context, Error, Format, Hierarchy, Selection, open_store};
use zarr_loopback::{Options, Server};

use crate::icechunk_stores::Person;

/// The folder that is the home of a user without plugins.
const HOME: &str = "home";

/// Returns the elements of `/g/a`.
fn elements() -> Vec<i32> {
    (0..24).map(|element| element * 5 - 7).collect()
}

/// The same hierarchy in every store, below one folder and in a bucket.
struct Places {
    folder: TempDir,
    context: Context,
    person: Person,
    server: Server,
}

impl Places {
    fn new() -> Option<Self> {
        let context = with_icechunk()?;
        let person = Person::new()?;
        let server = Server::start(Options::in_memory()).unwrap();
        let places = Self { folder: tempfile::tempdir().unwrap(), context, person, server };
        for (format, name) in
            [(Format::V3, "a.zarr"), (Format::V2, "v2.zarr"), (Format::V3Draft, "draft.zarr")]
        {
            places.create(&places.at(name), format);
        }
        for name in ["a.zip", "lmdb:a.lmdb", "redb:a.redb", "n5:a.n5", "icechunk:a.icechunk"] {
            let (scheme, file) = name.split_once(':').unwrap_or(("", name));
            let scheme = if scheme.is_empty() { String::new() } else { format!("{scheme}:") };
            places.done(&["copy", &places.at("a.zarr"), &format!("{scheme}{}", places.at(file))]);
        }
        // HTTP servers do not list, so the nodes are in consolidated metadata.
        places.done(&["copy", &places.at("a.zip"), "s3://bench/data/a.zarr", "--consolidate"]);
        places.done(&["references", &places.at("v2.zarr"), "-o", &places.at("refs.json")]);
        for folder in ["empty.zarr", HOME] {
            fs::create_dir(places.at(folder)).unwrap();
        }
        places.done(&["copy", &places.at("a.zarr"), &places.at("next to outer/a.zarr")]);
        places.write_outer_archive();
        places.server.put("data/a.zip", fs::read(places.at("a.zip")).unwrap()).unwrap();
        Some(places)
    }

    fn at(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn create(&self, location: &str, format: Format) {
        let store = open_store(self.context.registry(), location).unwrap();
        let hierarchy = Hierarchy::create(store, &self.context, format).unwrap();
        let builder = ArrayBuilder::new([4, 6], "int32").chunks([2, 3]).codec("gzip");
        hierarchy.create_array("/g/a", &builder).unwrap().write_values(&Selection::All, &elements()).unwrap();
    }

    /// Writes an archive that contains an archive and a folder.
    fn write_outer_archive(&self) {
        let open = |name: &str| open_store(self.context.registry(), &self.at(name)).unwrap();
        let [outer, folder] = ["outer.zip", "a.zarr"].map(open);
        outer.set(&key("inner.zip"), fs::read(self.at("a.zip")).unwrap().as_slice().into()).unwrap();
        for inside in folder.list().unwrap() {
            let value = get_value(&*folder, &inside, 10_000).unwrap().unwrap();
            outer.set(&key(&format!("in a folder/a.zarr/{inside}")), (&value[..]).into()).unwrap();
        }
        outer.commit().unwrap();
    }

    /// Runs a command with the settings of the bucket. Only commands about Icechunk load the plugin.
    fn run(&self, arguments: &[&str]) -> Output {
        let home = self.at(HOME);
        let environment = [
            ("AWS_ENDPOINT_URL", self.server.endpoint()),
            ("AWS_SKIP_SIGNATURE", "true"),
            ("AWS_ALLOW_HTTP", "true"),
            ("HOME", &home),
        ];
        let needs_plugin = arguments.iter().any(|argument| argument.contains("icechunk"));
        self.person.run(arguments, if needs_plugin { &environment[..3] } else { &environment })
    }

    fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns the locations that this process and a program can open.
    fn local(&self) -> Vec<String> {
        let [folder, zip, lmdb, redb] = ["a.zarr", "a.zip", "a.lmdb", "a.redb"].map(|name| self.at(name));
        let [n5, icechunk, refs, outer] =
            ["a.n5", "a.icechunk", "refs.json", "outer.zip"].map(|name| self.at(name));
        let empty = self.at("empty.zarr");
        let here = self.folder.path().to_str().unwrap();
        let host = self.server.endpoint();
        let bucket = json!({"type": "s3", "url": "s3://bench/data", "endpoint": host, "anonymous": true});
        vec![
            folder.clone(),
            format!("file://{folder}"),
            format!("{folder}|zarr3:"),
            format!("{folder}|zarr:"),
            json!({"type": "filesystem", "path": folder}).to_string(),
            json!({"type": "read-only", "store": {"type": "filesystem", "path": folder}}).to_string(),
            json!({"type": "prefix", "prefix": "a.zarr", "store": {"type": "filesystem", "path": here}}).to_string(),
            zip.clone(),
            format!("zip:{zip}"),
            format!("{zip}|zip:"),
            format!("file://{zip}|zip:|zarr3:"),
            json!({"type": "zip", "path": zip}).to_string(),
            format!("{outer}|zip:inner.zip|zip:"),
            format!("{outer}|zip:in%20a%20folder/a.zarr/|zarr3:"),
            format!("{outer}|zip:inner.zip|zip:|..:in%20a%20folder/a.zarr/"),
            format!("{outer}|zip:inner.zip|..:next%20to%20outer/a.zarr/|zarr3:"),
            format!("file://{outer}|zip:|..:next%20to%20outer/a.zarr/"),
            format!("lmdb:{lmdb}"),
            format!("{lmdb}|lmdb:|zarr3:"),
            json!({"type": "lmdb", "path": lmdb}).to_string(),
            format!("redb:{redb}"),
            format!("{redb}|redb:"),
            redb.clone(),
            json!({"type": "redb", "path": redb}).to_string(),
            format!("n5:{n5}"),
            format!("{n5}|n5:"),
            json!({"type": "n5", "store": {"type": "filesystem", "path": n5}}).to_string(),
            format!("reference:{refs}"),
            format!("{refs}|reference:|zarr2:"),
            json!({"type": "reference", "key": "refs.json", "store": {"type": "filesystem", "path": here}}).to_string(),
            format!("icechunk:{icechunk}"),
            format!("{icechunk}|icechunk:"),
            format!("{icechunk}|icechunk:@branch.main/|zarr3:"),
            json!({"type": "icechunk", "path": icechunk}).to_string(),
            format!("{folder}|overlay:?changes={empty}"),
            json!({"type": "overlay", "store": {"type": "memory"}, "base": {"type": "filesystem", "path": folder}})
                .to_string(),
            json!({"type": "zip", "key": "a.zip", "store": bucket}).to_string(),
            format!("{host}/bench/data/a.zarr"),
            format!("{host}/bench/data/a.zip|zip:|zarr3:"),
            format!("zip:{host}/bench/data/a.zip"),
        ]
    }

    /// Returns the locations whose settings are in the environment of the program.
    fn in_buckets() -> [&'static str; 4] {
        [
            "s3://bench/data/a.zarr",
            "s3://bench/data/a.zip|zip:",
            "zip:s3://bench/data/a.zip",
            "s3://bench/data/a.zip|zip:|zarr3:",
        ]
    }
}

#[test]
fn every_spelling_is_opened_by_the_crates() {
    let Some(places) = Places::new() else { return };
    for location in places.local() {
        let open = || -> Result<Vec<i32>, Error> {
            let store = open_store(places.context.registry(), &location)?;
            let array = Hierarchy::open(store, &places.context)?.array("/g/a")?;
            Ok(array.read_values::<i32>(&Selection::All)?.into_vec())
        };
        assert_eq!(open().unwrap_or_else(|error| panic!("{location}: {error}")), elements(), "{location}");
    }
}

#[test]
fn every_spelling_is_opened_by_each_verb() {
    let Some(places) = Places::new() else { return };
    let digest = places.done(&["digest", &places.at("a.zarr"), "/g/a"]);
    let local = places.local();
    let locations = local.iter().map(String::as_str).chain(Places::in_buckets());
    for (number, location) in locations.enumerate() {
        let tree = places.done(&["tree", location]);
        assert!(tree.contains("─ a int32 [4 × 6]"), "{location}: {tree}");
        assert!(places.done(&["ls", location, "/g"]).lines().any(|line| line.starts_with('a')), "{location}");
        let info = places.done(&["info", location, "/g/a"]);
        assert!(info.contains("  data type         int32\n"), "{location}: {info}");
        let read = places.done(&["get", location, "/g/a", "--format", "json", "--select", "3,4:"]);
        assert_eq!(read.split_whitespace().collect::<String>(), "[103,108]", "{location}");
        let shown = places.done(&["show", location, "/g/a"]);
        assert!(shown.contains("-7") && shown.contains("108"), "{location}: {shown}");
        let copy = places.at(&format!("copy-{number}.zarr"));
        let copying = ["copy", location, &copy, "--format", "v3"];
        assert_eq!(places.done(&["digest", location, "/g/a"]), digest, "{location}");
        let verified = places.done(&["verify", location]);
        assert!(verified.contains("whole at the level `decode`: 1 array"), "{location}: {verified}");
        places.done(&copying);
        assert_eq!(places.done(&["digest", &copy, "/g/a"]), digest, "{location}");
    }
}

#[test]
fn messages_about_wrong_locations_name_the_place() {
    let Some(places) = Places::new() else { return };
    let [folder, zip, n5, text] = ["a.zarr", "a.zip", "a.n5", "text"].map(|name| places.at(name));
    fs::write(&text, "not a store").unwrap();
    let none = places.at("none");
    for (location, place) in [
        (none.clone(), "none"),
        (format!("file://{none}"), "none"),
        (format!("lmdb:{none}"), "none"),
        (format!("redb:{none}"), "none"),
        (format!("n5:{none}"), "none"),
        (format!("zip:{none}"), "none"),
        (format!("reference:{none}"), "none"),
        (format!("icechunk:{none}"), "none"),
        (format!("lmdb:{text}"), "text"),
        (format!("redb:{text}"), "text"),
        (format!("n5:{text}"), "text"),
        (format!("zip:{text}"), "text"),
        (format!("reference:{text}"), "text"),
        (format!("icechunk:{text}"), "text"),
        (text.clone(), "text"),
        (format!("{folder}|zarr2:"), "a.zarr"),
        (format!("{n5}|zarr3:"), "a.n5"),
        (format!("{zip}|zip:none/|zarr3:"), "none"),
        (format!("{zip}|zip:none.zip|zip:"), "none.zip"),
        (format!("{zip}|none:"), "none"),
        (format!("{zip}|zip:?none=1"), "none"),
        (format!("none:{zip}"), "none:"),
        ("s3://bench/none.zip|zip:".to_owned(), "none.zip"),
        ("s3://typo/a.zip|zip:".to_owned(), "typo"),
        ("http://127.0.0.1:9/a.zip|zip:".to_owned(), "127.0.0.1:9"),
        (json!({"type": "none", "path": zip}).to_string(), "`none`"),
        (json!({"type": "zip", "path": none}).to_string(), "none"),
        (json!({"type": "zip"}).to_string(), "zip"),
        (
            r#"{"type": "zip", "#.to_owned(),
            r#"column 17: unexpected end, expected a member name in double quotes; a correct example is {"type": "zip", "path""#,
        ),
        (r#"{"type": "icechunk""#.to_owned(), r#"not valid JSON: line 1, column 20"#),
    ] {
        for verb in [&["tree", &location][..], &["get", &location, "/g/a"], &["verify", &location]] {
            let output = places.run(verb);
            let message = String::from_utf8(output.stderr).unwrap();
            assert!(matches!(output.status.code(), Some(1 | 2)), "{verb:?}: {message}");
            assert!(message.starts_with("error: ") && message.contains(place), "{verb:?}: {message}");
        }
        assert!(fs::metadata(&none).is_err(), "{location} was created");
    }
}
