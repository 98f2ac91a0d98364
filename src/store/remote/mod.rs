//! Remote stores: web servers, S3, Google Cloud Storage and Azure.
//!
//! Only this module uses `object_store`, `reqwest` and `tokio`. `object_store` builds the requests, and the service of
//! this module sends them.

mod answer;
mod aws_files;
mod change;
mod client;
mod configuration;
mod failure;
mod limiter;
mod log;
mod prefetch;
mod service;
mod writes;

use std::ops::Range;
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock};

use futures_util::future::{join, try_join_all};
use futures_util::{FutureExt, TryStreamExt};
use object_store::PutMode;
use object_store::list::PaginatedListOptions;

use super::{
    Capabilities, Depth, Destination, Entry, EntryKind, Key, Log, Network, Node, ObjectReader, ObjectWriter, Part,
    PrefetchLimit, Put, RemoteOptions, Result, Store, StoreError, Tree, Visit, check_absent, held, object_name,
};
use answer::{Answer, Body, StoreResponse, header};
use change::PutOutcome;
use client::{Client, GetRequest, Stores, path};
use configuration::Kind;
use failure::{Failure, cause, credentials_help, is_refused, lacks_bucket, unreachable_help};
use log::{LOST, LOST_HELP, LockOwner, RemoteLog};
use prefetch::{FIRST, Prefetched, RemoteReader};
use service::{Call, CallResult, Caller, Connector, Service, client_builder, runtime, seconds};
use writes::{InFlightWrites, RemoteWriter};

pub(super) use change::{is_shown, relation};
pub(super) use configuration::{Address, has_effect, is_setting, missing};

/// Number of attempts to create an object that the server refuses although it is absent.
const ATTEMPTS: usize = 3;

/// Bucket, or the common root of all URLs of a web server.
pub struct RemoteStore {
    /// Address of a bucket without a path.
    address: Address,
    options: RemoteOptions,
    name: String,
    /// Created at the first use, or the reason why that failed.
    client: OnceLock<Result<Arc<Client>, String>>,
}

/// Returns the node at an address. Sends no request yet, so errors appear at the first use.
///
/// In one process, all nodes of a bucket with the same options share a store with its connections and limits.
pub(super) fn node(address: &Address, options: &RemoteOptions) -> Node {
    static STORES: Mutex<Vec<Arc<RemoteStore>>> = Mutex::new(Vec::new());
    // The path of a web server is part of all its URLs, unchanged.
    let (root, prefix) = match (address.kind, Key::new(&address.path)) {
        (Kind::Http, _) => (address.clone(), Key::ROOT),
        (_, key) => (address.with_path(""), key.map_or(Key::ROOT, Key::into_owned)),
    };
    let mut stores = held(&STORES);
    let known = stores.iter().find(|store| store.address == root && store.options == *options);
    let store = known.cloned().unwrap_or_else(|| {
        let (name, options, client) = (root.shown(), options.clone(), OnceLock::new());
        let made = Arc::new(RemoteStore { address: root, options, name, client });
        stores.push(made.clone());
        made
    });
    Node::of(store).below(&prefix)
}

impl RemoteStore {
    fn client(&self) -> Result<&Arc<Client>> {
        self.client.get_or_init(|| Client::new(&self.address, &self.options).map(Arc::new)).as_ref().map_err(|why| {
            let help = "check the options, the environment and the files of the cloud's own tools";
            failure::error("open", self.name.clone(), why.as_str(), help)
        })
    }

    /// Returns the client if it was created.
    fn used(&self) -> Option<&Arc<Client>> {
        self.client.get()?.as_ref().ok()
    }

    /// Fails for web servers, which are read-only.
    fn check_writable(&self, action: &'static str, key: &Key<'_>) -> Result<()> {
        if self.address.kind != Kind::Http {
            return Ok(());
        }
        let help = "name a local folder, or a bucket: s3://, gs:// or az://";
        Err(failure::error(action, object_name(&self.name, key), "HTTP stores can only be read", help))
    }

    /// Returns the client before an object is written or removed.
    ///
    /// Drops announced reads of the old object. Waits for earlier changes: a late removal would delete what is written
    /// next.
    fn changing(&self, action: &'static str, key: &Key<'_>) -> Result<&Arc<Client>> {
        self.check_writable(action, key)?;
        let client = self.client()?;
        client.forget(key.as_str(), None);
        client.writes.finish_of(key.as_str())?;
        Ok(client)
    }

    /// Returns an announced part, or requests it now.
    fn fetch(&self, key: &Key<'_>, part: Part, most: u64) -> Result<Option<StoreResponse>> {
        let (key, client) = (key.as_str(), self.client()?);
        client.writes.finish_of(key)?;
        let wanted = GetRequest { key, part, most, version: None };
        client.take(key, Some(part)).unwrap_or_else(|| client.wait(client.fetch(wanted)))
    }

    /// Writes an object if none exists. Returns false if there is one.
    fn put_new(&self, key: &Key<'_>, bytes: &[u8]) -> Result<bool> {
        let client = self.changing("create", key)?;
        client.writes.finish()?;
        for _ in 0..ATTEMPTS {
            // Some stores accept a condition but ignore it. Others refuse because an earlier failed request created the
            // object.
            if self.size(key)?.is_some() {
                return Ok(false);
            }
            match client.wait(client.put_if("create", key.as_str(), bytes.to_vec(), PutMode::Create))? {
                PutOutcome::Done => return Ok(true),
                PutOutcome::Refused => {}
                PutOutcome::Unsupported => return self.put(key, bytes, Put::Durable),
            }
        }
        let refused = "the store says that the object exists, and that it does not";
        Err(client.error("create", key.as_str(), refused, "report it to whoever runs the store"))
    }
}

impl Store for RemoteStore {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { lists: self.address.kind != Kind::Http, is_remote: true }
    }

    fn folder_above(&self) -> Option<Node> {
        let path = Some(self.address.path.as_str()).filter(|path| !path.is_empty())?;
        let (folder, _) = path.rsplit_once('/').unwrap_or_default();
        Some(node(&self.address.with_path(folder), &self.options))
    }

    fn read(&self, key: &Key<'_>, part: Part, most: u64, into: &mut Vec<u8>) -> Result<bool> {
        into.clear();
        if let Part::Range { length, .. } = part {
            StoreError::check_size(length, most, || self.shown(key))?;
        }
        let Some(fetched) = self.fetch(key, part, most)? else { return Ok(false) };
        StoreError::check_size(fetched.body.len() as u64, most, || self.shown(key))?;
        *into = fetched.body;
        Ok(true)
    }

    /// Opens an object with one request. It also reads the end of the object: the index of a shard, or the whole of a
    /// small object.
    fn open(&self, key: &Key<'_>, most: u64) -> Result<Option<ObjectReader>> {
        let client = self.client()?;
        let come = client.take(key.as_str(), None);
        let Some(mut fetched) = come.unwrap_or_else(|| self.fetch(key, Part::Last(FIRST), most))? else {
            return Ok(None);
        };
        if fetched.object_bytes.is_none() {
            fetched.object_bytes = client.wait(client.size(key.as_str()))?;
        }
        Ok(Some(Box::new(RemoteReader::new(client.clone(), key.as_str().to_owned(), fetched))))
    }

    fn size(&self, key: &Key<'_>) -> Result<Option<u64>> {
        let client = self.client()?;
        client.wait(client.size(key.as_str()))
    }

    /// Requests all sizes at once. A store that can list has returned them before.
    fn sizes(&self, folder: &Key<'_>, names: &[&str]) -> Result<Vec<Result<Option<u64>>>> {
        let client = self.client()?;
        let keys: Vec<_> = names.iter().map(|name| folder.join(name)).collect::<Result<_, _>>()?;
        client.wait(try_join_all(keys.iter().map(|key| client.size(key.as_str()).map(StoreError::apart))))
    }

    fn kind(&self, key: &Key<'_>) -> Result<Option<EntryKind>> {
        if !self.capabilities().lists {
            return Ok(self.size(key)?.map(|_| EntryKind::File));
        }
        if key.is_root() {
            return Ok(Some(EntryKind::Folder));
        }
        // Uses listings, as some servers fail on a request for an object at the key of a folder. The key itself sorts
        // before all longer keys with that prefix.
        let client = self.client()?;
        client.writes.finish()?;
        let below = key.prefix();
        let (inside, first) = client.wait(join(client.first_key(&below), client.first_key(key.as_str())));
        if inside?.is_some() {
            return Ok(Some(EntryKind::Folder));
        }
        Ok((first?.as_deref() == Some(key.as_str())).then_some(EntryKind::File))
    }

    fn list(&self, below: &Key<'_>, depth: Depth, each: &mut Visit<'_>) -> Result<()> {
        let prefix = below.prefix();
        let delimiter = (depth == Depth::Folder).then_some("/".into());
        let options = PaginatedListOptions { delimiter, ..PaginatedListOptions::default() };
        let client = self.client()?;
        // A listing does not show objects whose writes are in flight.
        client.writes.finish()?;
        let mut pages = pin!(client.pages(&prefix, options));
        while let Some(page) = client.wait(pages.try_next())? {
            for (key, kind, bytes) in page.entries {
                let name = key.strip_prefix(prefix.as_str()).filter(|name| !name.is_empty());
                if name.is_some_and(|name| each(Entry { name, kind, bytes }).is_break()) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn prefetch_limit(&self) -> Option<PrefetchLimit> {
        // Twice the concurrent requests, so that a slow one does not delay those after it.
        let requests = self.options.requests.get().saturating_mul(2);
        Some(PrefetchLimit { requests, bytes: prefetch::MOST_BYTES })
    }

    fn prefetch(&self, soon: &[(Key<'_>, Part)]) {
        // An error appears at the read.
        let Ok(client) = self.client() else { return };
        // An object that is being written must be read after that.
        for (key, part) in soon.iter().filter(|(key, _)| !client.writes.holds(key.as_str())) {
            client.prefetch(key.as_str(), *part);
        }
    }

    fn writer(&self, key: &Key<'_>) -> Result<ObjectWriter> {
        let client = self.changing("write", key)?;
        Ok(Box::new(RemoteWriter::new(client.clone(), key.as_str().to_owned())))
    }

    fn copy_from(&self, source: &dyn Store, (from, to): (&Key<'_>, &Key<'_>), most: u64) -> Result<Option<u64>> {
        if !self.copies_from(source) {
            return self.copy_in_pieces(source, (from, to), most);
        }
        self.copy_inside((from, to), most)
    }

    fn sync(&self, _below: &Key<'_>) -> Result<()> {
        self.used().map_or(Ok(()), |client| client.writes.finish())
    }

    /// Writes an object. Readers never see a part of it. The request continues after this call, and is confirmed by
    /// `sync`.
    fn put(&self, key: &Key<'_>, bytes: &[u8], how: Put) -> Result<bool> {
        if how == Put::New {
            return self.put_new(key, bytes);
        }
        let sync = || if how == Put::Durable { self.sync(key) } else { Ok(()) };
        // Everything that a durable object refers to must exist before it.
        sync()?;
        let mut writer = self.writer(key)?;
        writer.append(bytes)?;
        writer.finish()?;
        sync().map(|()| true)
    }

    /// Does not wait for the removal of one object. Object stores do not report whether it existed.
    fn remove(&self, key: &Key<'_>, what: Tree<'_>) -> Result<bool> {
        match what {
            Tree::All => self.remove_all(key, None)?,
            Tree::AllBut(kept) => self.remove_all(key, Some(kept))?,
            Tree::Object => self.changing("remove", key)?.begin_delete(key.as_str().to_owned())?,
        }
        Ok(true)
    }

    /// Does nothing but check, as a folder is only a prefix of keys.
    fn create_folder(&self, key: &Key<'_>) -> Result<()> {
        self.check_writable("write", key)?;
        check_absent(self, key)
    }

    fn begin_log(&self, key: &Key<'_>) -> Result<Box<dyn Log>> {
        // `lock` finds existing objects.
        let client = self.changing("write", key)?;
        Ok(Box::new(RemoteLog::new(client.clone(), key.as_str().to_owned())))
    }

    /// Writes in place, as no store replaces a hierarchy atomically.
    fn destination(&self, below: &Key<'_>, _replaces: bool) -> Result<Destination> {
        self.check_writable("write", below)?;
        Ok(Destination::in_place(node(&self.address, &self.options).below(&below.clone().into_owned())))
    }

    fn network(&self) -> Option<&dyn Network> {
        Some(self)
    }
}

impl Network for RemoteStore {
    fn tells_keys(&self, below: &Key<'_>) -> bool {
        self.capabilities().lists && !self.used().is_some_and(|client| client.refuses_to_list(&below.prefix()))
    }

    fn num_refused(&self, below: &Key<'_>) -> u64 {
        self.used().map_or(0, |client| client.num_refused(&below.prefix()))
    }

    fn refused_is_absent(&self) -> bool {
        self.options.refused_is_absent
    }

    fn release_on_exit(&self) {
        if let Some(client) = self.used() {
            client.wait(client.release_on_exit());
        }
    }

    /// Returns true if the server may be able to copy objects from `source`. Both must be the same bucket with the same
    /// options, so that they are one store. The server must not have declined a copy yet.
    ///
    /// It is false if refused objects count as absent, as only a read shows the refusal.
    fn copies_from(&self, source: &dyn Store) -> bool {
        source.network().is_some_and(|source| std::ptr::eq(self, source.as_remote()))
            && self.address.kind != Kind::Http
            && !self.options.anonymous
            && !self.options.refused_is_absent
            && self.used().is_none_or(|client| client.copies.get() != Some(&false))
    }

    fn keep_version(&self, key: &Key<'_>) {
        if let Ok(client) = self.client() {
            client.keep_version(key.as_str());
        }
    }

    fn next_write(&self) -> u64 {
        self.used().map_or(0, |client| client.writes.next())
    }

    fn are_written(&self, writes: Range<u64>) -> bool {
        self.used().is_none_or(|client| client.writes.are_done(writes))
    }

    fn as_remote(&self) -> &RemoteStore {
        self
    }
}
