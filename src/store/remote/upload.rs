//! Requests that change objects.

use object_store::client::HttpRequestBody;
use reqwest::Method;

use super::address::Service;
use super::body::{Keep, header};
use super::client::Client;
use super::explain::Attempt;
use super::transport::{Answer, Request};
use crate::store::StoreError;

/// The most bytes of an answer that is a document.
pub(super) const ANSWER: Keep = Keep::All { most: 1 << 20 };

/// An upload in parts, by the name that the store gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Upload {
    pub(super) key: String,
    /// As messages name it.
    pub(super) object: String,
    id: String,
}

impl Client {
    /// Writes a whole object.
    pub(super) async fn put(&self, (key, object): (&str, &str), bytes: Vec<u8>) -> Result<(), StoreError> {
        let attempt = Attempt { action: "write", object };
        let mut request = Request::new(Method::PUT, Some(key));
        if self.backend.service() == Service::Azure {
            request = request.with_header("x-ms-blob-type", "BlockBlob");
        }
        self.success(attempt, &with_body(request, bytes)).await.map(drop)
    }

    /// Writes a whole object where there is none; false where one stands there, `None` where the store takes no conditions.
    pub(super) async fn put_new(
        &self,
        (key, object): (&str, &str),
        bytes: Vec<u8>,
    ) -> Result<Option<bool>, StoreError> {
        let attempt = Attempt { action: "write", object };
        let service = self.backend.service();
        let mut request = Request::new(Method::PUT, Some(key));
        if service == Service::Azure {
            request = request.with_header("x-ms-blob-type", "BlockBlob");
        }
        let (name, value) = where_none_is(service);
        let request = with_body(request.with_header(name, value), bytes);
        let answer = self.send(attempt, &request, ANSWER).await?;
        match answer.status.as_u16() {
            200..300 => Ok(Some(true)),
            304 | 409 | 412 => Ok(Some(false)),
            400 | 405 | 501 => Ok(None),
            _ => Err(attempt.answered(&answer, &self.backend)),
        }
    }

    /// Removes an object; false where the store says that there was none.
    pub(super) async fn delete(&self, key: &str, object: &str) -> Result<bool, StoreError> {
        let attempt = Attempt { action: "remove", object };
        let answer = self.send(attempt, &Request::new(Method::DELETE, Some(key)), ANSWER).await?;
        match answer.status.as_u16() {
            200..300 => Ok(true),
            404 => Ok(false),
            _ => Err(attempt.answered(&answer, &self.backend)),
        }
    }

    /// Begins an upload in parts.
    pub(super) async fn begin_upload(&self, key: String, object: String) -> Result<Upload, StoreError> {
        if self.backend.service() == Service::Azure {
            return Ok(Upload { key, object, id: String::new() });
        }
        let attempt = Attempt { action: "write", object: &object };
        let request = Request::new(Method::POST, Some(&key)).with_query("uploads", "");
        let answer = self.success(attempt, &with_body(request, Vec::new())).await?;
        let id = element(&answer.body, "UploadId");
        let id = id.ok_or_else(|| {
            attempt.error("the store gives no name to the upload", "report it to whoever runs the store")
        })?;
        let upload = Upload { key, object, id };
        self.open.begin(&upload);
        Ok(upload)
    }

    /// Uploads a part, which are counted from 1; what names it when the upload ends.
    pub(super) async fn upload_part(
        &self,
        upload: &Upload,
        number: usize,
        bytes: Vec<u8>,
    ) -> Result<String, StoreError> {
        let attempt = Attempt { action: "write", object: &upload.object };
        let request = Request::new(Method::PUT, Some(&upload.key));
        if self.backend.service() == Service::Azure {
            let id = block_id(number);
            let request = request.with_query("comp", "block").with_query("blockid", id.as_str());
            self.success(attempt, &with_body(request, bytes)).await?;
            return Ok(id);
        }
        let request =
            request.with_query("partNumber", number.to_string()).with_query("uploadId", upload.id.as_str());
        let answer = self.success(attempt, &with_body(request, bytes)).await?;
        let tag = header(&answer.headers, "etag").map(str::to_owned);
        tag.ok_or_else(|| {
            attempt.error("the store gives no tag to a part", "report it to whoever runs the store")
        })
    }

    /// Ends an upload: the object is there, whole.
    pub(super) async fn end_upload(&self, upload: &Upload, parts: &[String]) -> Result<(), StoreError> {
        let attempt = Attempt { action: "write", object: &upload.object };
        if self.backend.service() == Service::Azure {
            let blocks: Vec<String> =
                parts.iter().map(|id| format!("<Uncommitted>{id}</Uncommitted>")).collect();
            let blocks = blocks.concat();
            let text = format!("<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>{blocks}</BlockList>");
            let request = Request::new(Method::PUT, Some(&upload.key)).with_query("comp", "blocklist");
            return self.success(attempt, &with_body(request, text.into_bytes())).await.map(drop);
        }
        let part = |(index, tag): (usize, &String)| {
            let tag = tag.replace('&', "&amp;").replace('"', "&quot;");
            format!("<Part><PartNumber>{}</PartNumber><ETag>{tag}</ETag></Part>", index + 1)
        };
        let parts: String = parts.iter().enumerate().map(part).collect();
        let text = format!(
            "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">{parts}</CompleteMultipartUpload>"
        );
        let request =
            Request::new(Method::POST, Some(&upload.key)).with_query("uploadId", upload.id.as_str());
        let answer = self.success(attempt, &with_body(request, text.into_bytes())).await?;
        // The store answers before it knows: an error may follow the status of a success.
        if let Some(code) = element(&answer.body, "Code") {
            return Err(attempt.error(format!("the store answers: {code}"), "run the command again"));
        }
        self.open.end(upload);
        Ok(())
    }

    /// Gives an upload up: its parts take no room any more.
    pub(super) async fn abort_upload(&self, upload: &Upload) -> Result<(), StoreError> {
        if self.backend.service() == Service::Azure {
            // Blocks that no list names go by themselves.
            return Ok(());
        }
        let attempt = Attempt { action: "remove", object: &upload.object };
        let request =
            Request::new(Method::DELETE, Some(&upload.key)).with_query("uploadId", upload.id.as_str());
        self.success(attempt, &request).await?;
        self.open.end(upload);
        Ok(())
    }

    async fn success(&self, attempt: Attempt<'_>, request: &Request) -> Result<Answer, StoreError> {
        let answer = self.send(attempt, request, ANSWER).await?;
        if answer.status.is_success() { Ok(answer) } else { Err(attempt.answered(&answer, &self.backend)) }
    }
}

pub(super) fn with_body(request: Request, bytes: Vec<u8>) -> Request {
    let request = request.with_header("content-length", bytes.len().to_string());
    Request { body: HttpRequestBody::from(bytes), ..request }
}

/// Names of blocks have one length.
fn block_id(number: usize) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(format!("{number:09}"))
}

pub(super) fn element(body: &[u8], name: &str) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    let start = text.find(&format!("<{name}>"))? + name.len() + 2;
    let end = start + text[start..].find('<')?;
    Some(text[start..end].trim().to_owned())
}

/// The header of a request that makes an object only where there is none.
pub(super) fn where_none_is(service: Service) -> (&'static str, &'static str) {
    if service == Service::Google { ("x-goog-if-generation-match", "0") } else { ("if-none-match", "*") }
}
