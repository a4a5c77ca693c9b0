//! A file system after a power cut.
//!
//! The model is POSIX, with the order of file systems that have a journal: the changes of one folder reach the disk in
//! their order, up to any point after the last sync of that folder. Different folders, and the bytes of files, are
//! independent of each other. The bytes of a file that was not synced are missing, incomplete or complete.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::Step;

/// A recorded step, or the end of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Recorded {
    Create(PathBuf),
    CreateComplete(PathBuf, Vec<u8>, bool),
    Write(PathBuf, Vec<u8>),
    SyncFile(PathBuf),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    CreateFolder(PathBuf),
    SyncFolder(PathBuf),
}

thread_local! {
    static RECORD: RefCell<Option<Vec<Recorded>>> = const { RefCell::new(None) };
}

thread_local! {
    static OTHER_WRITER: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

/// Sets the work of another writer, which runs once, after the next comparison of this thread.
pub(crate) fn set_other_writer(work: impl FnOnce() + 'static) {
    OTHER_WRITER.set(Some(Box::new(work)));
}

/// Runs the other writer.
pub(crate) fn after_comparison() {
    if let Some(work) = OTHER_WRITER.take() {
        work();
    }
}

/// Records a step, if this thread records.
pub(crate) fn note(step: Step<'_>) {
    let recorded = match step {
        Step::Create(path) => Recorded::Create(path.into()),
        Step::CreateComplete(path, bytes, is_synced) => {
            Recorded::CreateComplete(path.into(), bytes.into(), is_synced)
        }
        Step::Write(path, bytes) => Recorded::Write(path.into(), bytes.into()),
        Step::SyncFile(path) => Recorded::SyncFile(path.into()),
        Step::Rename(from, to) => Recorded::Rename(from.into(), to.into()),
        Step::Remove(path) => Recorded::Remove(path.into()),
        Step::CreateFolder(path) => Recorded::CreateFolder(path.into()),
        Step::SyncFolder(path) => Recorded::SyncFolder(path.into()),
    };
    RECORD.with_borrow_mut(|record| record.iter_mut().for_each(|steps| steps.push(recorded.clone())));
}

/// Returns the steps of `work`.
pub(crate) fn recorded(work: impl FnOnce()) -> Vec<Recorded> {
    RECORD.set(Some(Vec::new()));
    work();
    RECORD.take().unwrap_or_default()
}

/// The files and their bytes, by their paths. Folders are left out.
pub(crate) type Files = BTreeMap<PathBuf, Vec<u8>>;

/// A change of one folder.
#[derive(Debug, Clone)]
enum Change {
    Add(String, usize),
    Rename(String, String),
    Remove(String),
}

/// A file or a folder. If it replaces another one at the same path, it is a new node.
#[derive(Debug, Clone, Default)]
struct Node {
    bytes: Vec<u8>,
    /// The changes of the names in a folder.
    changes: Vec<Change>,
    is_folder: bool,
    /// Whether the bytes are on disk.
    is_synced: bool,
    /// The number of changes that are on disk.
    synced_changes: usize,
}

/// A file system of which some changes are not on disk.
#[derive(Debug, Clone)]
pub(crate) struct Disk {
    root: PathBuf,
    /// The first node is the folder `root`, which exists.
    nodes: Vec<Node>,
}

impl Disk {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.into(), nodes: vec![Node { is_folder: true, ..Node::default() }] }
    }

    /// Applies a step.
    pub(crate) fn apply(&mut self, step: &Recorded) {
        match step {
            Recorded::Create(path) => self.add(path, Node::default()),
            Recorded::CreateComplete(path, bytes, is_synced) => {
                self.add(path, Node { bytes: bytes.clone(), is_synced: *is_synced, ..Node::default() });
            }
            Recorded::CreateFolder(path) => self.add(path, Node { is_folder: true, ..Node::default() }),
            Recorded::Write(path, bytes) => {
                let file = self.node_at(path);
                self.nodes[file].bytes.clone_from(bytes);
            }
            Recorded::SyncFile(path) => {
                let file = self.node_at(path);
                self.nodes[file].is_synced = true;
            }
            Recorded::SyncFolder(path) if path.starts_with(&self.root) => {
                let folder = self.node_at(path);
                self.nodes[folder].synced_changes = self.nodes[folder].changes.len();
            }
            Recorded::SyncFolder(_) => {}
            Recorded::Rename(from, to) => {
                assert_eq!(from.parent(), to.parent());
                let change = Change::Rename(name(from), name(to));
                self.change(from, change);
            }
            Recorded::Remove(path) => self.change(path, Change::Remove(name(path))),
        }
    }

    /// Returns all states that a power cut may leave now.
    pub(crate) fn after_power_cut(&self) -> BTreeSet<Files> {
        let mut states = BTreeSet::new();
        let choices: Vec<usize> = self.nodes.iter().map(Node::choices).collect();
        let mut chosen = vec![0; choices.len()];
        loop {
            states.insert(self.files(&chosen));
            let Some(place) = (0..choices.len()).find(|&place| chosen[place] + 1 < choices[place]) else {
                return states;
            };
            chosen[place] += 1;
            chosen[..place].fill(0);
        }
    }

    /// Returns the files without a power cut.
    pub(crate) fn now(&self) -> Files {
        self.files(&self.nodes.iter().map(|node| node.choices() - 1).collect::<Vec<_>>())
    }

    fn files(&self, chosen: &[usize]) -> Files {
        let mut files = Files::new();
        self.collect(0, &self.root, chosen, &mut files);
        files
    }

    fn collect(&self, folder: usize, path: &Path, chosen: &[usize], files: &mut Files) {
        for (name, node) in self.nodes[folder].names(chosen[folder]) {
            match self.nodes[node].is_folder {
                true => self.collect(node, &path.join(name), chosen, files),
                false => drop(files.insert(path.join(name), self.nodes[node].bytes_of(chosen[node]))),
            }
        }
    }

    fn add(&mut self, path: &Path, node: Node) {
        self.nodes.push(node);
        self.change(path, Change::Add(name(path), self.nodes.len() - 1));
    }

    fn change(&mut self, path: &Path, change: Change) {
        let folder = self.node_at(path.parent().expect("a parent"));
        self.nodes[folder].changes.push(change);
    }

    /// Returns the node at a path, in the present state.
    fn node_at(&self, path: &Path) -> usize {
        let below = path.strip_prefix(&self.root).expect("a path below the root");
        below.iter().fold(0, |folder, name| {
            let folder = &self.nodes[folder];
            folder.names(folder.choices() - 1)[name.to_str().expect("a name in UTF-8")]
        })
    }
}

impl Node {
    /// Returns the number of states that a power cut may leave this node in. The last one has all changes.
    fn choices(&self) -> usize {
        match (self.is_folder, self.is_synced) {
            (true, _) => self.changes.len() - self.synced_changes + 1,
            (false, true) => 1,
            (false, false) => 3,
        }
    }

    fn names(&self, chosen: usize) -> BTreeMap<&str, usize> {
        let mut names = BTreeMap::new();
        for change in &self.changes[..self.synced_changes + chosen] {
            match change {
                Change::Add(name, node) => drop(names.insert(name.as_str(), *node)),
                Change::Remove(name) => drop(names.remove(name.as_str())),
                Change::Rename(from, to) => {
                    let node = names.remove(from.as_str()).expect("a renamed file exists");
                    names.insert(to, node);
                }
            }
        }
        names
    }

    fn bytes_of(&self, chosen: usize) -> Vec<u8> {
        let size = match (self.is_synced, chosen) {
            (true, _) | (false, 2..) => self.bytes.len(),
            (false, chosen) => chosen * self.bytes.len() / 2,
        };
        self.bytes[..size].to_vec()
    }
}

fn name(path: &Path) -> String {
    path.file_name().and_then(|name| name.to_str()).expect("a name in UTF-8").to_owned()
}
