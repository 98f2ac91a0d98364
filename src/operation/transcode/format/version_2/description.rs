//! The attributes of a v2 array. There the fill value masks values, and `_FillValue` may exist in addition.

use super::{Writer, is_zero, named};
use crate::data_type::{DataType, FillValue};
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::v2::NotInV2;
use crate::metadata::{Json, Object};
use crate::operation::xarray::{self, DIMENSIONS, FILL_VALUE};
use crate::operation::{Draft, QuantizeForm};

impl Writer<'_> {
    /// Returns the attributes in v2 form, and whether the fill value is null, which masks nothing.
    pub(super) fn attributes(&self, warnings: &mut Vec<Diagnostic>) -> Result<(Object, bool), NotInV2> {
        let Writer { source, draft, .. } = self;
        let mut attributes = draft.attributes();
        let Some(names) = named(draft) else { return Ok((attributes, false)) };
        if names.iter().any(Json::is_null) {
            return Err(NotInV2 {
                what: "names for some dimensions alone".to_owned(),
                help: Some("give a name to each with --dimension-names"),
            });
        }
        let data_type = &draft.data_type;
        let masked = attributes.get(FILL_VALUE).and_then(|json| xarray::decode(data_type, json));
        let masked = masked.as_ref();
        let fill = draft.fill_value.as_ref();
        let is_fill = |fill| masked.is_some_and(|masked| xarray::is_same_mask(data_type, masked, fill));
        // A fill value without an attribute form in v3 keeps its v2 attribute.
        let is_kept =
            source.documents.zarr_format == 2 && fill.is_none_or(|fill| xarray::encode(data_type, fill).is_none());
        let beside = self.fill_value_attribute(masked);
        let mut is_null = false;
        if fill.is_some_and(is_fill) {
            match beside {
                Some(beside) => attributes.insert(FILL_VALUE, beside),
                None => drop(attributes.remove(FILL_VALUE)),
            }
        } else if !is_kept {
            let plain = || data_type.fill_value_to_json(masked?).ok();
            if let Some(beside) = beside.or_else(plain) {
                attributes.insert(FILL_VALUE, beside);
            }
            // Readers read null as 0, but as NaT for times.
            is_null = is_zero(draft) && !self.is_fill_given && !matches!(data_type, DataType::Time(_));
            if !is_null && fill.is_some_and(|fill| !xarray::is_nan(data_type, fill)) {
                warnings.push(masks(draft));
            }
        }
        Ok((self.with_names(&attributes, Json::Array(names.to_vec())), is_null))
    }

    /// Returns the attributes with the names of the dimensions in their former position.
    fn with_names(&self, attributes: &Object, names: Json) -> Object {
        let read = self.source.documents.attributes.as_ref().and_then(Json::as_object);
        let place = read.and_then(|read| read.names().position(|name| name == DIMENSIONS));
        let others = || attributes.iter().filter(|(name, _)| *name != DIMENSIONS);
        let place = place.unwrap_or(usize::MAX).min(others().count());
        let mut written = Object::new();
        others().take(place).for_each(|(name, value)| written.push(name, value.clone()));
        written.push(DIMENSIONS, names);
        others().skip(place).for_each(|(name, value)| written.push(name, value.clone()));
        written
    }

    /// Returns the attribute `_FillValue` in addition to the fill value, as netCDF-C and GDAL write it (SEMANTICS: D5).
    /// The literal stays if it is kept, or if it has the value `masked`. Otherwise it becomes that value.
    fn fill_value_attribute(&self, masked: Option<&FillValue>) -> Option<Json> {
        let data_type = &self.draft.data_type;
        let (literal, is_kept) = self.literal_fill_value_attribute()?;
        let said = xarray::decode(data_type, &literal);
        let is_masked = said.zip(masked).is_some_and(|(value, masked)| xarray::is_same_mask(data_type, &value, masked));
        if is_kept || is_masked { Some(literal) } else { data_type.fill_value_to_json(masked?).ok() }
    }

    /// Returns the given attribute, or else that of SOURCE, unless all attributes are replaced. Also returns whether no
    /// option makes it wrong.
    fn literal_fill_value_attribute(&self) -> Option<(Json, bool)> {
        let Writer { source, draft, options, .. } = self;
        let mut given = [&options.attributes_append, &options.attributes].into_iter().flatten();
        if let Some(literal) = given.find_map(|given| given.get(FILL_VALUE)) {
            return Some((literal.clone(), false));
        }
        // CF packing sets this one, which is needed by readers that read only attributes.
        let form = options.form();
        if form == Some(QuantizeForm::Cf) {
            return draft.attributes().get(FILL_VALUE).cloned().map(|code| (code, true));
        }
        let is_read = source.documents.zarr_format == 2 && options.attributes.is_none();
        let read = source.documents.attributes.as_ref().filter(|_| is_read)?;
        let literal = read.get(FILL_VALUE)?.clone();
        let is_untouched = draft.data_type == source.data_type && draft.fill_value == source.fill_value;
        // An attribute that was never the fill value does not follow it.
        let said = xarray::decode(&source.data_type, &literal).zip(source.fill_value.as_ref());
        let is_fill = said.is_none_or(|(value, fill)| xarray::is_same_mask(&source.data_type, &value, fill));
        // `--as plain` does not change attributes.
        let is_plain = form == Some(QuantizeForm::Plain);
        let is_packed = form.is_some() || options.unpack;
        Some((literal, is_plain || (!is_packed && (is_untouched || !is_fill))))
    }
}

/// Returns the warning about a fill value that xarray masks only in v2.
fn masks(draft: &Draft) -> Diagnostic {
    let fill = draft.document.get("fill_value").map_or_else(String::new, Json::excerpt);
    let message = format!("in Zarr v2 xarray takes elements that equal the fill value {fill} for missing");
    Diagnostic::new(code::V2_FILL_VALUE_MASKS, message)
        .with_help("`--fill-value` with a value that does not occur, or NaN, keeps all elements")
}
