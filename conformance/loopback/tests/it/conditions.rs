//! Conditions of writes and deletions: "Conditional requests" in the user guide of S3, and generations of Cloud
//! Storage.

use std::thread;

use zarr_loopback::{Options, Server};

use crate::client::Client;

/// Returns a server with a bucket in memory, and one with a bucket in a folder.
fn servers() -> (tempfile::TempDir, [Server; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let servers = [Options::in_memory(), Options::of_folder(folder.path())];
    (folder, servers.map(|options| Server::start(options).unwrap()))
}

#[test]
fn writes_with_unmet_conditions_are_refused() {
    let (_folder, servers) = servers();
    for server in &servers {
        let mut client = Client::new(server);
        let mut put = |condition: &str, value: &[u8]| client.ask("PUT", "/bench/k", &[condition], value);
        // S3 answers 404 if there is no object whose ETag could match.
        assert_eq!(put("If-Match: \"1\"", b"a").status, 404);
        let tag = put("If-None-Match: *", b"a").header("ETag").to_owned();
        assert_eq!(put("If-None-Match: *", b"b").status, 412);
        assert_eq!(put(&format!("If-Match: {tag}"), b"c").status, 200);
        let refused = put(&format!("If-Match: {tag}"), b"d");
        assert_eq!(refused.status, 412);
        assert!(refused.text().contains("<Code>PreconditionFailed</Code>"));
        assert_eq!(client.get("/bench/k").body, b"c");
        assert_eq!(client.ask("HEAD", "/bench/k", &[&format!("If-Match: {tag}")], b"").status, 412);
        let tag = client.get("/bench/k").header("ETag").to_owned();
        assert_eq!(client.ask("GET", "/bench/k", &[&format!("If-None-Match: {tag}")], b"").status, 304);
    }
}

#[test]
fn objects_are_copied_unless_they_have_changed() {
    let (_folder, servers) = servers();
    for server in &servers {
        let mut client = Client::new(server);
        let tag = client.ask("PUT", "/bench/a%20b", &[], b"value").header("ETag").to_owned();
        let mut copy = |headers: &[&str]| client.ask("PUT", "/bench/d/copy", headers, b"");
        let source = "x-amz-copy-source: bench/a%20b";
        let changed = copy(&[source, "x-amz-copy-source-if-match: \"1\""]);
        assert_eq!(changed.status, 412);
        let copied = copy(&[source, &format!("x-amz-copy-source-if-match: {tag}")]);
        assert!(
            copied.status == 200 && copied.text().contains("<CopyObjectResult><ETag>&quot;"),
            "{}",
            copied.text()
        );
        assert_eq!(copy(&[source, "If-None-Match: *"]).status, 412);
        for missing in ["x-amz-copy-source: /bench/none", "x-amz-copy-source: other/a%20b"] {
            assert_eq!(copy(&[missing]).status, 404);
        }
        assert_eq!(client.get("/bench/d/copy").body, b"value");
    }
}

#[test]
fn deletions_with_unmet_conditions_are_refused() {
    let (_folder, servers) = servers();
    for server in &servers {
        let mut client = Client::new(server);
        assert_eq!(client.ask("DELETE", "/bench/k", &["If-Match: \"1\""], b"").status, 404);
        let tag = client.ask("PUT", "/bench/k", &[], b"a").header("ETag").to_owned();
        assert_eq!(client.ask("DELETE", "/bench/k", &["If-Match: \"1\""], b"").status, 412);
        let body = "<Delete><Object><Key>k</Key><ETag>\"1\"</ETag></Object></Delete>";
        let many = client.ask("POST", "/bench?delete", &[], body.as_bytes());
        assert!(
            many.status == 200 && many.text().contains("<Code>PreconditionFailed</Code>"),
            "{}",
            many.text()
        );
        assert_eq!(client.get("/bench/k").body, b"a");
        assert_eq!(client.ask("DELETE", "/bench/k", &[&format!("If-Match: {tag}")], b"").status, 204);
        assert_eq!(client.get("/bench/k").status, 404);
    }
}

#[test]
fn generations_are_conditions_too() {
    let (_folder, servers) = servers();
    for server in &servers {
        let mut client = Client::new(server);
        let mut put = |generation: &str, value: &[u8]| {
            client.ask("PUT", "/bench/k", &[&format!("x-goog-if-generation-match: {generation}")], value)
        };
        assert_eq!(put("7", b"a").status, 412);
        let first = put("0", b"a").header("x-goog-generation").to_owned();
        assert_eq!(put("0", b"b").status, 412);
        // The same value gets another generation when it is written again.
        let second = put(&first, b"a").header("x-goog-generation").to_owned();
        assert_eq!(put(&first, b"b").status, 412);
        assert_eq!(put(&second, b"c").status, 200);
    }
}

/// "Delete object" in the reference of the XML API of Cloud Storage: 412 for another generation, 404 for a missing
/// object.
#[test]
fn deletions_compare_generations() {
    let (_folder, servers) = servers();
    for server in &servers {
        let mut client = Client::new(server);
        let old = client.ask("PUT", "/bench/k", &[], b"a").header("x-goog-generation").to_owned();
        let now = client.ask("PUT", "/bench/k", &[], b"b").header("x-goog-generation").to_owned();
        let mut delete = |generation: &str| {
            let condition = format!("x-goog-if-generation-match: {generation}");
            client.ask("DELETE", "/bench/k", &[&condition], b"").status
        };
        assert_eq!([delete(&old), delete("0"), delete(&now), delete(&now)], [412, 412, 204, 404]);
        assert_eq!(client.get("/bench/k").status, 404);
    }
}

/// All threads increment one number, each equally often. A thread repeats a write whose condition does not hold.
#[test]
fn conditions_are_checked_and_applied_in_one_step() {
    const THREADS: u32 = 8;
    const COUNT: u32 = 25;
    let (_folder, servers) = servers();
    for server in &servers {
        Client::new(server).ask("PUT", "/bench/k", &[], b"0");
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| (0..COUNT).for_each(|_| increment(&mut Client::new(server))));
            }
        });
        let wanted = (THREADS * COUNT).to_string();
        assert_eq!(Client::new(server).get("/bench/k").text(), wanted);
    }
}

fn increment(client: &mut Client) {
    loop {
        let got = client.get("/bench/k");
        let next = (got.text().parse::<u32>().unwrap() + 1).to_string();
        let condition = format!("If-Match: {}", got.header("ETag"));
        match client.ask("PUT", "/bench/k", &[&condition], next.as_bytes()).status {
            200 => return,
            status => assert_eq!(status, 412),
        }
    }
}

#[test]
fn only_one_of_many_writers_creates_an_object() {
    let (_folder, servers) = servers();
    for server in &servers {
        let created = thread::scope(|scope| {
            let create = |number: u8| {
                let put = Client::new(server).ask("PUT", "/bench/new", &["If-None-Match: *"], &[number]);
                (put.status == 200).then_some(number)
            };
            let threads: Vec<_> = (0..16).map(|number| scope.spawn(move || create(number))).collect();
            threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(created.len(), 1);
        assert_eq!(Client::new(server).get("/bench/new").body, created);
    }
}

#[test]
fn a_server_may_ignore_conditions() {
    let server = Server::start(Options::in_memory().ignoring_conditions()).unwrap();
    let mut client = Client::new(&server);
    for value in [b"a", b"b"] {
        assert_eq!(client.ask("PUT", "/bench/k", &["If-None-Match: *"], value).status, 200);
    }
    assert_eq!(client.ask("DELETE", "/bench/k", &["If-Match: \"1\""], b"").status, 204);
}
