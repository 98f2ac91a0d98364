//! The attributes of a v2 array: what masks values is the fill value there, and may stand in `_FillValue` beside it.

use super::{is_zero, named, read_again};
use crate::data_type::{DataType, FillValue};
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::json::{Json, Object};
use crate::metadata::v2::NotInV2;
use crate::operation::draft::Draft;
use crate::operation::open::OpenedArray;
use crate::operation::options::{ChangeOptions, QuantizeForm};
use crate::operation::xarray::{self, FILL_VALUE};

/// Attributes as v2 has them.
pub(super) struct Description {
    pub(super) attributes: Object,
    /// The names of the dimensions, where there are any.
    pub(super) dimension_names: Option<Json>,
    /// Whether the fill value is null, which masks nothing.
    pub(super) is_null: bool,
}

impl Description {
    pub(super) fn of(
        source: &OpenedArray,
        draft: &Draft,
        (options, is_fill_given): (&ChangeOptions, bool),
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Description, NotInV2> {
        let mut attributes = draft.attributes();
        let Some(names) = named(draft) else {
            return Ok(Description { attributes, dimension_names: None, is_null: false });
        };
        if names.iter().any(Json::is_null) {
            return Err(NotInV2 {
                what: "names for some dimensions alone".to_owned(),
                help: Some("give a name to each with --dimension-names"),
            });
        }
        let data_type = &draft.data_type;
        let decoded = attributes.get(FILL_VALUE).and_then(|json| xarray::decode(data_type, json));
        let fill = draft.fill_value.as_ref();
        let is_alike =
            |fill| decoded.as_ref().is_some_and(|masked| xarray::is_same_mask(data_type, masked, fill));
        // What v3 has no attribute for stays what it was.
        let is_kept =
            source.zarr_format == 2 && fill.is_none_or(|fill| xarray::encode(data_type, fill).is_none());
        let beside = Beside::of(source, draft, options);
        let mut is_null = false;
        if fill.is_some_and(is_alike) {
            match beside.and_then(|beside| beside.written(draft, decoded.as_ref())) {
                Some(beside) => attributes.insert(FILL_VALUE, beside),
                None => drop(attributes.remove(FILL_VALUE)),
            }
        } else if !is_kept {
            let plain = decoded.as_ref().and_then(|masked| data_type.fill_value_to_json(masked).ok());
            if let Some(beside) = beside.and_then(|beside| beside.written(draft, decoded.as_ref())).or(plain)
            {
                attributes.insert(FILL_VALUE, beside);
            }
            // A null that readers take for 0 is NaT for times.
            is_null = is_zero(draft) && !is_fill_given && !matches!(data_type, DataType::Time(_));
            if !is_null && fill.is_some_and(|fill| !xarray::is_nan(data_type, fill)) {
                warnings.push(masks(draft));
            }
        }
        Ok(Description { attributes, dimension_names: Some(Json::Array(names.to_vec())), is_null })
    }
}

/// The attribute `_FillValue` that stands beside the fill value of a v2 array, as netCDF-C and GDAL write it
/// (SEMANTICS: D5).
struct Beside {
    /// As it stands in `.zattrs`, or was given.
    literal: Json,
    /// Whether no option makes it wrong.
    is_kept: bool,
}

impl Beside {
    /// The attribute that is given, else that of SOURCE, unless all attributes are given anew.
    fn of(source: &OpenedArray, draft: &Draft, options: &ChangeOptions) -> Option<Self> {
        let mut given = [&options.attributes_append, &options.attributes].into_iter().flatten();
        if let Some(literal) = given.find_map(|given| given.get(FILL_VALUE)) {
            return Some(Beside { literal: literal.clone(), is_kept: false });
        }
        // The one that CF packing gives, which readers of attributes alone need.
        let form = options.quantize.as_ref().map(|quantize| quantize.form);
        if form == Some(QuantizeForm::Cf) {
            let code = draft.attributes().get(FILL_VALUE).cloned();
            return code.map(|literal| Beside { literal, is_kept: true });
        }
        let is_read = source.zarr_format == 2 && options.attributes.is_none();
        let read = source.attributes_bytes.as_ref().filter(|_| is_read)?;
        let literal = read_again(".zattrs", read)?.get(FILL_VALUE)?.clone();
        let is_untouched = draft.data_type == source.data_type && draft.fill_value == source.fill_value;
        // One that never was the fill value does not follow it.
        let fill = source.fill_value.as_ref();
        let is_fill = xarray::decode(&source.data_type, &literal)
            .zip(fill)
            .is_none_or(|(value, fill)| xarray::is_same_mask(&source.data_type, &value, fill));
        // `--as plain` leaves attributes as they are.
        let is_plain = form == Some(QuantizeForm::Plain);
        let is_packed = options.quantize.is_some() || options.unpack;
        Some(Beside { literal, is_kept: is_plain || (!is_packed && (is_untouched || !is_fill)) })
    }

    /// As it is written: the literal where it is kept or says what masks, else the value that does.
    fn written(self, draft: &Draft, masked: Option<&FillValue>) -> Option<Json> {
        let is_masked = |value: &FillValue| {
            masked.is_some_and(|masked| xarray::is_same_mask(&draft.data_type, value, masked))
        };
        if self.is_kept || xarray::decode(&draft.data_type, &self.literal).as_ref().is_some_and(is_masked) {
            return Some(self.literal);
        }
        draft.data_type.fill_value_to_json(masked?).ok()
    }
}

/// What xarray makes of a fill value in v2 alone.
fn masks(draft: &Draft) -> Diagnostic {
    let fill = draft.document.get("fill_value").map_or_else(String::new, Json::excerpt);
    let message = format!("in Zarr v2 xarray takes elements that equal the fill value {fill} for missing");
    Diagnostic::new(code::V2_FILL_VALUE_MASKS, message)
        .with_help("`--fill-value` with a value that does not occur, or NaN, keeps all elements")
}
