//! The text of `--chunk-shape`, `--shard-shape` and `--select`.

use super::value::{extents, size};
use crate::operation::options::Slice;
use crate::operation::{ShapeRequest, ShardRequest};

/// `--chunk-shape`: a shape, or `auto[:SIZE]`.
pub(super) fn chunks(text: &str) -> Result<ShapeRequest, String> {
    shape(text, ShapeRequest::CHUNK_BYTES)
}

/// `--shard-shape`: the same, or `none`.
pub(super) fn shards(text: &str) -> Result<ShardRequest, String> {
    if text == "none" {
        return Ok(ShardRequest::None);
    }
    shape(text, ShapeRequest::SHARD_BYTES).map(ShardRequest::Shape)
}

/// `16,256,256`, or by dimension name `time=1,lat=256`, where 0 is the whole axis; or `auto[:SIZE]`, of so many bytes.
fn shape(text: &str, default_bytes: u64) -> Result<ShapeRequest, String> {
    match text.strip_prefix("auto") {
        Some("") => return Ok(ShapeRequest::Auto(default_bytes)),
        Some(rest) if rest.starts_with(':') => return size(&rest[1..]).map(ShapeRequest::Auto),
        _ => {}
    }
    if !text.contains('=') {
        return extents(text).map(ShapeRequest::Lengths).map_err(|error| error + &respelt(text));
    }
    let refusal = |part: &str| {
        format!("expected lengths, such as 16,256,256, or all by name, such as time=1,lat=256; found {part:?}")
    };
    let length = |part: &str, length: &str| {
        let digits = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
        length.parse().ok().filter(|_| digits).ok_or_else(|| refusal(part))
    };
    pairs(text, refusal, length).map(ShapeRequest::Named)
}

/// `NAME=VALUE,...`, no name twice; `read` is given the whole part and the value.
fn pairs<T>(
    text: &str,
    refusal: impl Fn(&str) -> String,
    read: impl Fn(&str, &str) -> Result<T, String>,
) -> Result<Vec<(String, T)>, String> {
    let mut pairs: Vec<(String, T)> = Vec::new();
    for part in text.split(',') {
        // A name may hold the sign, a value does not.
        let (name, value) = part.rsplit_once('=').ok_or_else(|| refusal(part))?;
        let (name, value) = (name.trim().to_owned(), read(part, value)?);
        if name.is_empty() {
            return Err(refusal(part));
        }
        if pairs.iter().any(|(known, _)| *known == name) {
            return Err(format!("the dimension {name:?} is given twice"));
        }
        pairs.push((name, value));
    }
    Ok(pairs)
}

/// A hint for names and lengths with `:` instead of `=`.
fn respelt(text: &str) -> String {
    let meant = text.replace(':', "=");
    let are_pairs = text.split(',').all(|part| part.matches(':').count() == 1);
    if are_pairs && shape(&meant, 0).is_ok() {
        format!("; lengths by name are given as {meant}")
    } else {
        String::new()
    }
}

/// `--select`: at least one slice. Under its own name, one value of an option.
pub(super) type Slices = Vec<Slice>;

/// `time=0:100,lat=-90:`: parts of dimensions; an index that is left out is the dimension's own end.
pub(super) fn slices(text: &str) -> Result<Slices, String> {
    let refusal =
        |part: &str| format!("expected DIM=START:STOP, such as time=0:100 or time=5:6,lat=20:; found {part:?}");
    let slice = |part: &str, slice: &str| {
        let (start, stop) = slice.split_once(':').ok_or_else(|| refusal(part))?;
        if stop.contains(':') {
            return Err(format!("no step can be given, only START:STOP; found {slice:?}"));
        }
        let index = |text: &str| match text.trim() {
            "" => Ok(None),
            text => match text.parse() {
                Ok(index) if !text.starts_with('+') => Ok(Some(index)),
                _ => Err(refusal(part)),
            },
        };
        Ok((index(start)?, index(stop)?))
    };
    let slices = pairs(text, refusal, slice)?.into_iter();
    Ok(slices.map(|(dimension, (start, stop))| Slice { dimension, start, stop }).collect())
}
