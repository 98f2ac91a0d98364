//! Members of v2 documents that v3 does not have, or that have no readers there.

use crate::diagnostic::{Diagnostic, code};
use crate::metadata::{CodecMetadata, Json, Object, v2};
use crate::operation::{Documents, Draft, NodePath, draft};
use crate::pipeline::{CodecKind, codec_kind};

/// Makes members that no version of Zarr has attributes, because v3 has no other form for them (SEMANTICS D13).
/// netCDF-C writes such members (`_NCZARR_ARRAY`). Returns a warning for each.
pub(crate) fn keep_members(attributes: &mut Object, members: Object) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    for (name, value) in members {
        let shown = Json::from(name.as_str()).excerpt();
        let what = if attributes.contains(&name) {
            "is left out: an attribute has its name"
        } else {
            attributes.insert(name, value);
            "becomes an attribute"
        };
        let message = format!("the member {shown}, which v2 does not have, {what}");
        warnings.push(Diagnostic::new(code::V2_MEMBER_UNKNOWN, message));
    }
    warnings
}

/// Replaces the findings about such members in v2 by those about their form in v3.
pub(crate) fn tell_of_members(
    node_path: &NodePath,
    Documents { key, document, .. }: &Documents,
    attributes: &Object,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let members = v2::netcdf_members(document);
    // The findings of v2 do not apply any more.
    let pointers: Vec<String> = members.names().map(|name| format!("/{name}")).collect();
    let is_about = |known: &Diagnostic| known.location.pointer.as_ref().is_some_and(|at| pointers.contains(at));
    diagnostics.retain(|known| !(known.is(code::V2_MEMBER_UNKNOWN) && is_about(known)));
    let mut found = keep_members(&mut attributes.clone(), members);
    node_path.locate(&mut found, key);
    diagnostics.extend(found);
}

/// Attributes of OME-Zarr 0.4 with which its readers find images, plates and labels.
const OME: [&str; 6] = ["multiscales", "omero", "plate", "well", "image-label", "bioformats2raw.layout"];

/// Returns a warning if OME-Zarr 0.4 metadata of a group, which are for v2, are written to v3.
pub(crate) fn tell_of_ome(attributes: &Object) -> Option<Diagnostic> {
    let is_image = attributes.get("multiscales").and_then(Json::as_array).is_some();
    let is_other = ["plate", "well", "bioformats2raw.layout"].iter().any(|name| attributes.contains(name));
    let names = OME.iter().filter(|name| attributes.contains(name)).map(|name| format!("`{name}`"));
    let message = format!(
        "{} stay as in OME-Zarr 0.4: readers of 0.5, the version for Zarr v3, do not find them",
        names.collect::<Vec<_>>().join(", ")
    );
    (is_image || is_other).then(|| {
        Diagnostic::new(code::OME_METADATA_OLD, message)
            .with_help("keep Zarr v2, or have a tool for OME-Zarr write the metadata of 0.5")
    })
}

/// Removes a `quantize` that also changes the type, which no zarr-python decodes in v3. Decoded values are the same
/// without it (SEMANTICS D12). If another filter follows, which needs that type, `astype` changes only the type.
pub(crate) fn leave_quantize(draft: &mut Draft) {
    let type_of = |codec: &CodecMetadata, name: &str| {
        codec.member(name).and_then(Json::as_str).map(|text| text.trim_start_matches(['<', '>', '|', '=']).to_owned())
    };
    let changes_type = |codec: &CodecMetadata| {
        let astype = type_of(codec, "astype");
        codec.name == "numcodecs.quantize" && astype.is_some() && astype != type_of(codec, "dtype")
    };
    let Some(index) = draft.codecs.iter().position(changes_type) else { return };
    let mut codecs = draft.codecs.clone();
    let follower = codecs.get(index + 1).and_then(|codec| codec_kind(&codec.name));
    if follower == Some(CodecKind::ArrayToArray) {
        let member = |name: &str| codecs[index].member(name).cloned().unwrap_or(Json::Null);
        let configuration = Object::new().with("encode_dtype", member("astype")).with("decode_dtype", member("dtype"));
        codecs[index] = CodecMetadata::new("numcodecs.astype", Some(configuration));
    } else {
        codecs.remove(index);
        draft::follow_data_type(&mut codecs, &draft.data_type);
    }
    draft.keep_codecs(codecs);
}
