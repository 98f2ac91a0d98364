//! Stores behind a network: web servers, S3, Google Cloud Storage, Azure.
//!
//! Only this module names `object_store`, `reqwest` and `tokio`. Requests are those of `object_store`, which makes them by the
//! service that is here.

mod address;
mod ahead;
mod answer;
mod aws_files;
mod body;
mod certificate;
mod client;
mod configuration;
mod copy;
mod date;
mod explain;
mod lease;
mod let_go;
mod limiter;
mod lock;
mod log;
mod reader;
mod remove;
mod runtime;
mod same;
mod service;
mod site;
mod sizes;
mod writer;
mod writes;

use std::collections::HashMap;
use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub(super) use address::Address;
use address::Kind;
use ahead::Ahead;
use client::{Client, Fetched, Listed, Page, Wanted, Written};
pub(super) use configuration::{has_effect, is_setting};
use explain::Attempt;
use log::RemoteLog;
use object_store::PutMode;
use reader::{FIRST, RemoteReader, io};
use runtime::runtime;
use site::RemoteSite;
use sizes::Sizes;
use tokio::runtime::Runtime;
use writer::RemoteWriter;
use writes::Writes;

use super::entry::EntryKind;
use super::node::object_name;
use super::{
    Abilities, Depth, Entry, Found, Key, Log, Network, Node, ObjectReader, ObjectWriter, Part, Put,
    RemoteOptions, Store, StoreError, Tree,
};

/// How often an object is asked to be made that the store refuses and does not have.
const ATTEMPTS: usize = 3;

/// A bucket or a web server, and what in it all keys begin with.
pub struct RemoteStore {
    address: Address,
    options: RemoteOptions,
    /// With what all keys begin: of a web server the path of its URL, of a bucket nothing, or what is no key.
    base: String,
    name: String,
    /// Made when it is used first, and why that is not possible.
    client: OnceLock<Result<Arc<Client>, String>>,
    ahead: Arc<Ahead>,
    writes: Arc<Writes>,
    /// Whether the server copies objects, once it has been asked to.
    copies: Mutex<Option<bool>>,
    sizes: Sizes,
}

/// Without what may be a secret.
impl fmt::Debug for RemoteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RemoteStore").field(&self.name).finish()
    }
}

/// The node at an address. Nothing is asked yet: what is wrong with it shows when it is used.
///
/// Nodes of one bucket with the same options share one store in a process, and so its connections and its bounds.
pub(super) fn node(address: &Address, options: &RemoteOptions) -> Node {
    static STORES: Mutex<Vec<Arc<RemoteStore>>> = Mutex::new(Vec::new());
    let key = Some(address.path.as_str()).filter(|_| address.kind != Kind::Http);
    let prefix = match key {
        Some("") => Some(Key::ROOT),
        Some(path) => Key::new(path).ok().map(Key::into_owned),
        None => None,
    };
    let base = if prefix.is_some() { "" } else { address.path.as_str() };
    let root = address.without_path();
    let mut stores = STORES.lock().unwrap_or_else(PoisonError::into_inner);
    let known =
        stores.iter().find(|store| store.address == root && store.base == base && store.options == *options);
    let store = known.cloned().unwrap_or_else(|| {
        let made = Arc::new(RemoteStore::new(root, base.to_owned(), options.clone()));
        stores.push(made.clone());
        made
    });
    Node::of(store).below(&prefix.unwrap_or(Key::ROOT))
}

impl RemoteStore {
    fn new(address: Address, base: String, options: RemoteOptions) -> Self {
        let separator = if base.is_empty() { "" } else { "/" };
        let name = format!("{}{separator}{base}", address.shown_root());
        let ahead = Arc::new(Ahead::new(options.requests.get()));
        let writes = Arc::new(Writes::new(options.requests.get()));
        let (client, copies, sizes) = (OnceLock::new(), Mutex::default(), Sizes::default());
        RemoteStore { address, options, base, name, client, ahead, writes, copies, sizes }
    }

    fn client(&self) -> Result<&Arc<Client>, StoreError> {
        let made =
            self.client.get_or_init(|| Client::new(&self.address, &self.base, &self.options).map(Arc::new));
        made.as_ref().map_err(|why| {
            let attempt = Attempt { action: "open", object: &self.name };
            attempt.error(
                why.as_str(),
                "check the options, the environment and the files of the cloud's own tools",
            )
        })
    }

    /// Waits for an answer.
    fn wait<T>(&self, answer: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        runtime().map_err(|source| io("reach", &self.name, source))?.block_on(answer)
    }

    fn shown(&self, key: &Key<'_>) -> String {
        object_name(&self.name, key)
    }

    fn runtime(&self) -> Result<&'static Runtime, StoreError> {
        runtime().map_err(|source| io("reach", &self.name, source))
    }

    /// Web servers take nothing.
    fn check_writable(&self, action: &'static str, key: &Key<'_>) -> Result<(), StoreError> {
        if self.address.kind != Kind::Http {
            return Ok(());
        }
        let object = self.shown(key);
        let attempt = Attempt { action, object: &object };
        Err(attempt.error(
            "nothing is written to web servers",
            "name a local folder, or a bucket: s3://, gs:// or az://",
        ))
    }

    /// The whole key of an object that is to be written or removed, and its name in messages.
    ///
    /// Nobody reads what it was before. What changes it already ends first: a removal would come over what is written next.
    fn names(&self, key: &Key<'_>) -> Result<(String, String), StoreError> {
        let whole = key.as_str().to_owned();
        self.ahead.forget(&whole);
        self.writes.finish_of(self.runtime()?, &whole)?;
        Ok((whole, self.shown(key)))
    }

    /// A part that was asked for before, or is asked for now.
    fn fetch(
        &self,
        key: &Key<'_>,
        part: Part,
        (most, of): (u64, u64),
    ) -> Result<Option<Fetched>, StoreError> {
        let (whole, object, client) = (key.as_str().to_owned(), self.shown(key), self.client()?);
        self.writes.finish_of(self.runtime()?, &whole)?;
        let coming = self.ahead.take(&whole, part);
        self.wait(async {
            let come = match coming {
                Some(coming) => coming.come().await,
                None => None,
            };
            if let Some(come) = come {
                let found = come?;
                return match found
                    .as_ref()
                    .map(|found| found.bytes.len() as u64)
                    .filter(|found| *found > most)
                {
                    Some(found) => Err(StoreError::TooLarge { object, found, bound: most }),
                    None => Ok(found),
                };
            }
            client.fetch(Wanted { key: &whole, object: &object, part, most, of, version: None }).await
        })
    }

    /// Writes an object where there is none.
    fn put_new(&self, key: &Key<'_>, bytes: &[u8]) -> Result<bool, StoreError> {
        self.check_writable("create", key)?;
        self.writes.finish(self.runtime()?)?;
        let (whole, object) = self.names(key)?;
        for _ in 0..ATTEMPTS {
            // Some stores take a condition and do not heed it; and one that refuses may have been at a request that failed.
            if self.size(key)?.is_some() {
                return Ok(false);
            }
            let attempt = Attempt { action: "create", object: &object };
            match self.wait(self.client()?.put_if(attempt, &whole, bytes.to_vec(), PutMode::Create))? {
                Written::Done(_) => return Ok(true),
                Written::Refused => {}
                Written::Unsupported => return self.put(key, bytes, Put::Durable),
            }
        }
        let refused = "the store says that an object is there, and that there is none";
        Err(io("create", &object, std::io::Error::other(refused)))
    }

    /// The sizes of objects of one folder, from a listing of what lies between the first and the last of them.
    fn listed_sizes(&self, folder: &Key<'_>, names: &[&str]) -> Result<Vec<Option<u64>>, StoreError> {
        let (Some(least), Some(greatest)) = (names.iter().min(), names.iter().max()) else {
            return Ok(Vec::new());
        };
        let in_common = least.bytes().zip(greatest.bytes()).take_while(|(a, b)| a == b).count();
        let in_common = (0..=in_common).rev().find(|end| least.is_char_boundary(*end)).unwrap_or(0);
        let below = prefix_of(folder);
        let prefix = format!("{below}{}", &least[..in_common]);
        let last = format!("{below}{greatest}");
        let mut known: HashMap<&str, Option<u64>> = names.iter().map(|name| (*name, None)).collect();
        let by_folder = !names.iter().any(|name| name.contains('/'));
        self.pages(folder, Listed { prefix: &prefix, by_folder, ..Listed::default() }, |page| {
            for (key, bytes) in &page.objects {
                let name = key.strip_prefix(below.as_str());
                if let Some(size) = name.and_then(|name| known.get_mut(name)) {
                    *size = Some(*bytes);
                }
            }
            let is_past = page.objects.last().is_some_and(|(key, _)| *key > last);
            if is_past { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(names.iter().map(|name| known.get(name).copied().flatten()).collect())
    }

    /// Gives each page of a listing to `visit`, until that breaks off.
    fn pages(
        &self,
        below: &Key<'_>,
        listed: Listed<'_>,
        mut visit: impl FnMut(Page) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let (client, object) = (self.client()?, self.shown(below));
        self.writes.finish(self.runtime()?)?;
        let mut next = None;
        loop {
            let mut page = self.wait(client.list(listed, &object, next.as_deref()))?;
            let following = page.next.take();
            let is_same = following.is_some() && following == next;
            if visit(page).is_break() || following.is_none() {
                return Ok(());
            }
            if is_same {
                let attempt = Attempt { action: "list", object: &object };
                return Err(attempt
                    .error("the listing begins anew without end", "report it to whoever runs the store"));
            }
            next = following;
        }
    }
}

/// With what the keys below another begin.
fn prefix_of(below: &Key<'_>) -> String {
    if below.is_root() { String::new() } else { format!("{}/", below.as_str()) }
}

impl Store for RemoteStore {
    fn name(&self) -> &str {
        &self.name
    }

    fn abilities(&self) -> Abilities {
        Abilities { lists: self.address.kind != Kind::Http, is_remote: true }
    }

    fn read(
        &self,
        key: &Key<'_>,
        part: Part,
        most: u64,
        into: &mut Vec<u8>,
    ) -> Result<Option<Found>, StoreError> {
        into.clear();
        let Some(fetched) = self.fetch(key, part, (most, most))? else { return Ok(None) };
        *into = fetched.bytes;
        Ok(Some(Found { object_bytes: fetched.object_bytes }))
    }

    /// One request, which brings the end of the object as well: the index of a shard, or all of what is small.
    fn open(&self, key: &Key<'_>, most: u64) -> Result<Option<ObjectReader>, StoreError> {
        let came = match self.ahead.take_any(key.as_str()) {
            Some(coming) => self.wait(async { coming.come().await.transpose() })?,
            None => None,
        };
        let fetched = match came {
            Some(fetched) => fetched,
            None => self.fetch(key, Part::Last(FIRST), (FIRST, most))?,
        };
        let Some(fetched) = fetched else { return Ok(None) };
        let names = (key.as_str().to_owned(), self.shown(key));
        let shared = (self.client()?.clone(), self.ahead.clone());
        Ok(Some(Box::new(RemoteReader::new(shared, names, fetched))))
    }

    fn size(&self, key: &Key<'_>) -> Result<Option<u64>, StoreError> {
        let (whole, object) = (key.as_str().to_owned(), self.shown(key));
        self.wait(self.client()?.size(&whole, &object))
    }

    /// What a listing says of them, where they are many: the names are of one folder, and near each other.
    fn sizes(&self, folder: &Key<'_>, names: &[&str]) -> Result<Vec<Option<u64>>, StoreError> {
        const FEW: usize = 8;
        if self.tells_keys(folder) && names.len() > FEW {
            return self.listed_sizes(folder, names);
        }
        let (client, runtime) =
            (self.client()?, runtime().map_err(|source| io("reach", &self.name, source))?);
        let mut asked = Vec::with_capacity(names.len());
        for name in names {
            let key = folder.join(name)?;
            let (client, whole, object) = (client.clone(), key.as_str().to_owned(), self.shown(&key));
            asked.push(runtime.spawn(async move { client.size(&whole, &object).await }));
        }
        let mut sizes = Vec::with_capacity(names.len());
        for size in asked {
            let ended = |error| io("look at", &self.name, std::io::Error::other(error));
            sizes.push(runtime.block_on(size).map_err(ended)??);
        }
        Ok(sizes)
    }

    fn kind(&self, key: &Key<'_>) -> Result<Option<EntryKind>, StoreError> {
        if !self.abilities().lists {
            return Ok(self.size(key)?.map(|_| EntryKind::File));
        }
        if key.is_root() && self.base.is_empty() {
            return Ok(Some(EntryKind::Folder));
        }
        // By listings: some servers fail where they are asked for an object at the key of a folder. The key itself is the
        // first of all that begin with it.
        let (folder, object) = (prefix_of(key), key.as_str().to_owned());
        let (client, runtime, shown) = (self.client()?, self.runtime()?, self.shown(key));
        self.writes.finish(runtime)?;
        // Both are asked for at once.
        let first = runtime.spawn(client.clone().first_key(object.clone(), shown.clone()));
        if self.wait(client.clone().first_key(folder, shown.clone()))?.is_some() {
            first.abort();
            return Ok(Some(EntryKind::Folder));
        }
        let ended = |error| io("look at", &shown, std::io::Error::other(error));
        let first = self.wait(async { first.await.map_err(ended)? })?;
        Ok((first.as_ref() == Some(&object)).then_some(EntryKind::File))
    }

    fn list(
        &self,
        below: &Key<'_>,
        depth: Depth,
        each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let prefix = prefix_of(below);
        let listed = Listed { prefix: &prefix, by_folder: depth == Depth::Folder, ..Listed::default() };
        self.pages(below, listed, |page| {
            let below = |key: &str| {
                key.strip_prefix(prefix.as_str()).filter(|name| !name.is_empty()).map(str::to_owned)
            };
            let objects = page.objects.iter().map(|(key, bytes)| (key, EntryKind::File, Some(*bytes)));
            let folders = page.folders.iter().map(|key| (key, EntryKind::Folder, None));
            let others = page.left_out.iter().map(|key| (key, EntryKind::Unnamed, None));
            for (key, kind, bytes) in objects.chain(folders).chain(others) {
                let Some(name) = below(key) else { continue };
                let kind = if Key::new(&name).is_ok() { kind } else { EntryKind::Unnamed };
                each(Entry { name: &name, kind, bytes })?;
            }
            ControlFlow::Continue(())
        })
    }

    fn wants_hints(&self) -> Option<super::Ahead> {
        // Twice as many as are in flight: one that takes longer holds up none behind it.
        let requests = self.options.requests.get().saturating_mul(2);
        Some(super::Ahead { requests, bytes: ahead::MOST_BYTES })
    }

    fn expect(&self, soon: &[(Key<'_>, Part)]) {
        // What is wrong shows when it is read.
        let (Ok(client), Ok(runtime)) = (self.client(), runtime()) else { return };
        for (key, part) in soon.iter().take(self.ahead.room()) {
            let whole = key.as_str().to_owned();
            // What is being written is read once it is.
            if !self.writes.holds(&whole) {
                self.ahead.ask(runtime, client, (whole, self.shown(key)), *part);
            }
        }
    }

    fn writer(&self, key: &Key<'_>) -> Result<ObjectWriter, StoreError> {
        self.check_writable("write", key)?;
        let names = self.names(key)?;
        Ok(Box::new(RemoteWriter::new(self.client()?.clone(), self.writes.clone(), names)))
    }

    fn copy_from(
        &self,
        source: &dyn Store,
        (from, to): (&Key<'_>, &Key<'_>),
        most: u64,
    ) -> Result<Option<u64>, StoreError> {
        match source.network().map(Network::as_remote).filter(|source| self.may_copy_from(source)) {
            Some(source) => self.copy_inside(source, (from, to), most),
            None => super::copy_in_pieces(self, source, (from, to), most),
        }
    }

    fn sync(&self, _below: &Key<'_>) -> Result<(), StoreError> {
        self.writes.finish(self.runtime()?)
    }

    /// Objects are never seen in part. The request goes on while the next object is made; it is acknowledged when the store
    /// is synced.
    fn put(&self, key: &Key<'_>, bytes: &[u8], how: Put) -> Result<bool, StoreError> {
        if how == Put::New {
            return self.put_new(key, bytes);
        }
        if how == Put::Durable {
            // What it tells of is there before it.
            self.writes.finish(self.runtime()?)?;
        }
        let mut writer = self.writer(key)?;
        writer.append(bytes)?;
        writer.finish()?;
        if how == Put::Durable {
            self.writes.finish(self.runtime()?)?;
        }
        Ok(true)
    }

    /// One object is not waited for: object stores do not say whether there was one.
    fn remove(&self, key: &Key<'_>, what: Tree<'_>) -> Result<bool, StoreError> {
        match what {
            Tree::All => self.remove_all(key, None)?,
            Tree::AllBut(kept) => self.remove_all(key, Some(kept))?,
            Tree::Object => {
                self.check_writable("remove", key)?;
                let (whole, object) = self.names(key)?;
                let (client, key) = (self.client()?.clone(), whole.clone());
                let delete = async move { client.delete(&key, &object).await.map(drop) };
                self.writes.begin(self.runtime()?, &whole, 0, delete)?;
            }
        }
        Ok(true)
    }

    /// Folders are nothing but the beginning of keys.
    fn create_folder(&self, key: &Key<'_>) -> Result<(), StoreError> {
        self.check_writable("write", key)?;
        match self.kind(key)? {
            Some(_) => Err(io("create", &self.shown(key), std::io::ErrorKind::AlreadyExists.into())),
            None => Ok(()),
        }
    }

    fn open_log(&self, key: &Key<'_>) -> Result<Option<Box<dyn Log>>, StoreError> {
        let log = RemoteLog::open(self.client()?.clone(), self.names(key)?)?;
        Ok(log.map(|log| Box::new(log) as Box<dyn Log>))
    }

    fn begin_log(&self, key: &Key<'_>) -> Result<Box<dyn Log>, StoreError> {
        self.check_writable("write", key)?;
        // What is there is found out once it is locked.
        Ok(Box::new(RemoteLog::new(self.client()?.clone(), self.names(key)?)))
    }

    fn site(&self, below: &Key<'_>) -> Result<Box<dyn super::Site>, StoreError> {
        self.check_writable("write", below)?;
        let place =
            node(&self.address.with_path(&self.base), &self.options).below(&below.clone().into_owned());
        Ok(Box::new(RemoteSite { place }))
    }

    fn network(&self) -> Option<&dyn Network> {
        Some(self)
    }
}

impl Network for RemoteStore {
    fn tells_keys(&self, below: &Key<'_>) -> bool {
        let client = self.client.get().and_then(|client| client.as_ref().ok());
        self.abilities().lists && !client.is_some_and(|client| client.refuses_to_list(&prefix_of(below)))
    }

    fn num_refused(&self, below: &Key<'_>) -> u64 {
        match self.client.get() {
            Some(Ok(client)) => client.num_refused(&prefix_of(below)),
            _ => 0,
        }
    }

    fn takes_refused_for_absent(&self) -> bool {
        self.options.refused_is_absent
    }

    fn let_go(&self) {
        if let (Some(Ok(client)), Ok(runtime)) = (self.client.get(), runtime()) {
            runtime.block_on(client.let_go());
        }
    }

    fn copies_from(&self, source: &dyn Store) -> bool {
        source.network().is_some_and(|source| self.may_copy_from(source.as_remote()))
    }

    fn next_write(&self) -> u64 {
        self.writes.next()
    }

    fn are_written(&self, writes: Range<u64>) -> bool {
        self.writes.are_done(writes)
    }

    fn as_remote(&self) -> &RemoteStore {
        self
    }
}
