//! Stores behind a network: web servers, S3, Google Cloud Storage, Azure.
//!
//! Only this module names `object_store`, `reqwest` and `tokio`. Credentials and signatures are those of `object_store`;
//! requests are made here, because its paths lose names such as `[ä]`, and its listings keys such as `a//b`.

mod address;
mod ahead;
mod aws_files;
mod backend;
mod body;
mod client;
mod configuration;
mod explain;
mod limiter;
mod listing;
mod reader;
mod runtime;
mod transport;

use std::collections::HashMap;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub(super) use address::Address;
use address::{Service, percent_encoded};
use ahead::Ahead;
use client::{Client, Fetched, Wanted};
use explain::Attempt;
use listing::{Listed, Page};
use reader::{FIRST, RemoteReader, io};
use runtime::runtime;

use super::entry::EntryKind;
use super::node::object_name;
use super::{
    Abilities, Depth, Entry, Found, Key, Node, ObjectReader, ObjectWriter, Part, Receipt, RemoteOptions,
    Store, StoreError,
};

/// A bucket or a web server, and what in it all keys begin with.
pub(super) struct RemoteStore {
    address: Address,
    options: RemoteOptions,
    /// With what all keys begin: of a web server the path of its URL, of a bucket nothing, or what is no key.
    base: String,
    name: String,
    /// Made when it is used first, and why that is not possible.
    client: OnceLock<Result<Arc<Client>, String>>,
    ahead: Ahead,
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
    let key = Some(address.path.as_str()).filter(|_| address.service != Service::Http);
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
        let ahead = Ahead::new(options.requests.get());
        RemoteStore { address, options, base, name, client: OnceLock::new(), ahead }
    }

    fn client(&self) -> Result<&Arc<Client>, StoreError> {
        let made = self.client.get_or_init(|| Client::new(&self.address, &self.options).map(Arc::new));
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

    /// The key in the bucket, or the path at the server.
    fn whole_key(&self, key: &Key<'_>) -> String {
        let mut whole = self.base.clone();
        if !whole.is_empty() && !key.is_root() {
            whole.push('/');
        }
        if self.address.service == Service::Http {
            percent_encoded(key.as_str(), true, &mut whole);
        } else {
            whole.push_str(key.as_str());
        }
        whole
    }

    /// With what the keys below another begin.
    fn prefix(&self, below: &Key<'_>) -> String {
        let mut prefix = self.whole_key(below);
        if !prefix.is_empty() {
            prefix.push('/');
        }
        prefix
    }

    fn shown(&self, key: &Key<'_>) -> String {
        object_name(&self.name, key)
    }

    fn unsupported(&self, action: &'static str, key: &Key<'_>) -> StoreError {
        let attempt = Attempt { action, object: &self.shown(key) };
        attempt.error("this build does not write to stores behind a network", "name a local folder")
    }

    /// A part that was asked for before, or is asked for now.
    fn fetch(&self, key: &Key<'_>, part: Part, most: u64) -> Result<Option<Fetched>, StoreError> {
        let (whole, object, client) = (self.whole_key(key), self.shown(key), self.client()?);
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
            client.fetch(Wanted { key: &whole, object: &object, part, most, version: None }).await
        })
    }

    /// The sizes of objects of one folder, from a listing of what lies between the first and the last of them.
    fn listed_sizes(&self, folder: &Key<'_>, names: &[&str]) -> Result<Vec<Option<u64>>, StoreError> {
        let (Some(least), Some(greatest)) = (names.iter().min(), names.iter().max()) else {
            return Ok(Vec::new());
        };
        let in_common = least.bytes().zip(greatest.bytes()).take_while(|(a, b)| a == b).count();
        let in_common = (0..=in_common).rev().find(|end| least.is_char_boundary(*end)).unwrap_or(0);
        let below = self.prefix(folder);
        let prefix = format!("{below}{}", &least[..in_common]);
        let last = format!("{below}{greatest}");
        let mut known: HashMap<&str, Option<u64>> = names.iter().map(|name| (*name, None)).collect();
        let by_folder = !names.iter().any(|name| name.contains('/'));
        self.pages(folder, Listed { prefix: &prefix, by_folder, most: None }, |page| {
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

impl Store for RemoteStore {
    fn name(&self) -> &str {
        &self.name
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            lists: self.address.service != Service::Http,
            reads_ranges: true,
            renames: false,
            locks: false,
            copies_itself: false,
            creates_exclusively: false,
            is_remote: true,
        }
    }

    fn read(
        &self,
        key: &Key<'_>,
        part: Part,
        most: u64,
        into: &mut Vec<u8>,
    ) -> Result<Option<Found>, StoreError> {
        into.clear();
        let Some(fetched) = self.fetch(key, part, most)? else { return Ok(None) };
        *into = fetched.bytes;
        Ok(Some(Found { object_bytes: fetched.object_bytes }))
    }

    /// One request, which brings the end of the object as well: the index of a shard, or all of what is small.
    fn open(&self, key: &Key<'_>) -> Result<Option<ObjectReader>, StoreError> {
        let came = match self.ahead.take_any(&self.whole_key(key)) {
            Some(coming) => self.wait(async { coming.come().await.transpose() })?,
            None => None,
        };
        let fetched = match came {
            Some(fetched) => fetched,
            None => self.fetch(key, Part::Last(FIRST), FIRST)?,
        };
        let Some(fetched) = fetched else { return Ok(None) };
        let names = (self.whole_key(key), self.shown(key));
        Ok(Some(ObjectReader::new(RemoteReader::new(self.client()?.clone(), names, fetched))))
    }

    fn size(&self, key: &Key<'_>) -> Result<Option<u64>, StoreError> {
        let (whole, object) = (self.whole_key(key), self.shown(key));
        self.wait(self.client()?.size(&whole, &object))
    }

    /// What a listing says of them, where they are many: the names are of one folder, and near each other.
    fn sizes(&self, folder: &Key<'_>, names: &[&str]) -> Result<Vec<Option<u64>>, StoreError> {
        const FEW: usize = 8;
        if self.abilities().lists && names.len() > FEW {
            return self.listed_sizes(folder, names);
        }
        let (client, runtime) =
            (self.client()?, runtime().map_err(|source| io("reach", &self.name, source))?);
        let mut asked = Vec::with_capacity(names.len());
        for name in names {
            let key = folder.join(name)?;
            let (client, whole, object) = (client.clone(), self.whole_key(&key), self.shown(&key));
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
        let is_bucket = key.is_root() && self.base.is_empty();
        if self.abilities().lists {
            // Some servers fail where they are asked for an object at the key of a folder.
            let (prefix, mut is_folder) = (self.prefix(key), is_bucket);
            self.pages(key, Listed { prefix: &prefix, by_folder: false, most: Some(1) }, |page| {
                is_folder |= !page.objects.is_empty();
                if is_folder { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
            if is_folder {
                return Ok(Some(EntryKind::Folder));
            }
        }
        Ok(if is_bucket { None } else { self.size(key)?.map(|_| EntryKind::File) })
    }

    fn list(
        &self,
        below: &Key<'_>,
        depth: Depth,
        each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let prefix = self.prefix(below);
        let listed = Listed { prefix: &prefix, by_folder: depth == Depth::Folder, most: None };
        self.pages(below, listed, |page| {
            for (key, bytes) in &page.objects {
                let Some(name) = key.strip_prefix(prefix.as_str()) else { continue };
                // What other tools make so that a folder is seen.
                if *bytes == 0 && (name.is_empty() || name.ends_with('/')) {
                    continue;
                }
                let kind = if Key::new(name).is_ok() { EntryKind::File } else { EntryKind::Unnamed };
                each(Entry { name, kind })?;
            }
            for key in &page.folders {
                let Some(name) = key.strip_prefix(prefix.as_str()) else { continue };
                let folder = name.strip_suffix('/').unwrap_or(name);
                match Key::new(folder) {
                    Ok(_) => each(Entry { name: folder, kind: EntryKind::Folder })?,
                    Err(_) => each(Entry { name, kind: EntryKind::Unnamed })?,
                }
            }
            ControlFlow::Continue(())
        })
    }

    fn wants_hints(&self) -> Option<super::Ahead> {
        Some(super::Ahead { requests: self.options.requests.get(), bytes: ahead::MOST_BYTES })
    }

    fn expect(&self, soon: &[(Key<'_>, Part)]) {
        // What is wrong shows when it is read.
        let (Ok(client), Ok(runtime)) = (self.client(), runtime()) else { return };
        for (key, part) in soon.iter().take(self.ahead.room()) {
            self.ahead.ask(runtime, client, (self.whole_key(key), self.shown(key)), *part);
        }
    }

    fn write(&self, key: &Key<'_>, _bytes: &[u8]) -> Result<Receipt, StoreError> {
        Err(self.unsupported("write", key))
    }

    fn writer(&self, key: &Key<'_>) -> Result<ObjectWriter, StoreError> {
        Err(self.unsupported("write", key))
    }

    fn replace(&self, key: &Key<'_>, _bytes: &[u8]) -> Result<Receipt, StoreError> {
        Err(self.unsupported("write", key))
    }

    fn publish(&self, key: &Key<'_>, _bytes: &[u8]) -> Result<(), StoreError> {
        Err(self.unsupported("write", key))
    }

    fn remove(&self, key: &Key<'_>) -> Result<bool, StoreError> {
        Err(self.unsupported("remove", key))
    }

    fn settle(&self, _below: &Key<'_>, _receipts: Vec<Receipt>) -> Result<(), StoreError> {
        Ok(())
    }

    fn create_folder(&self, key: &Key<'_>) -> Result<(), StoreError> {
        Err(self.unsupported("write", key))
    }

    fn remove_folder(&self, key: &Key<'_>) -> Result<(), StoreError> {
        Err(self.unsupported("remove", key))
    }

    fn site(&self, below: &Key<'_>) -> Result<Box<dyn super::Site>, StoreError> {
        Err(self.unsupported("write", below))
    }
}
