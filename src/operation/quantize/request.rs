//! A quantisation as it is asked for (CLI.md, "Quantising").

use super::{FloatType, RangeFinder, Scaling};
use crate::data_type::{DataType, value_from_json};
use crate::element::NumberType;
use crate::kernel::unpack::Unpack;
use crate::metadata::{CodecMetadata, Json};
use crate::operation::draft::codec_names;
use crate::operation::{
    ChangeOptions, Missing, Numbers, OpenedArray, OperationError, QuantizeForm, QuantizeOptions, cf,
};

/// A quantisation as it is asked for, before the range is known.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    /// The array.
    pub source: &'a OpenedArray,
    /// The options of the run.
    pub options: &'a ChangeOptions,
    /// Those of the quantisation.
    pub quantize: &'a QuantizeOptions,
    /// Conversion of packed integers to floats, which comes first.
    pub unpack: Option<Unpack>,
    /// The type of its values.
    pub float: FloatType,
    /// Values that count as NaN.
    pub missing: Vec<u64>,
    /// The fill value's bits.
    pub fill_bits: u64,
}

impl<'a> Request<'a> {
    /// Checks that the array can be quantised at all.
    pub(crate) fn new(
        source: &'a OpenedArray,
        options: &'a ChangeOptions,
        quantize: &'a QuantizeOptions,
    ) -> Result<Self, OperationError> {
        let unpack = if options.unpack { cf::packing(source, None)? } else { None };
        let number_type = match (&unpack, &source.data_type) {
            (Some(unpack), _) => unpack.target(),
            (None, DataType::Number(number_type)) if number_type.is_float() && !source.data_type.is_small_float() => {
                *number_type
            }
            _ => {
                return Err(OperationError::data(format!(
                    "only float arrays can be quantised; the data type of `{}` is {}",
                    source.store, source.data_type
                ))
                .with_help(if cf::has_packing(source) {
                    "the integers are CF-packed: add `--unpack`"
                } else {
                    "`--compress auto:small` makes other arrays smaller"
                }));
            }
        };
        if !options.unpack {
            refuse_packed(&source.metadata.codecs, &source.store)?;
        }
        if quantize.form == QuantizeForm::Cf {
            check_cf(source, options.unpack, quantize.data_type)?;
        }
        let own_fill = || source.fill_value.as_ref().and_then(|fill| fill.to_bits(&source.data_type));
        let fill_bits = match &unpack {
            Some(unpack) => cf::unpacked_fill(source, unpack),
            None => own_fill().unwrap_or(0),
        };
        // What is unpacked has NaN for what attributes declare missing.
        let named = quantize.missing.as_ref().filter(|named| unpack.is_none() || **named != Missing::Auto);
        let missing = cf::missing_values(source, number_type, named)?;
        let float = FloatType(number_type);
        Ok(Request { source, options, quantize, unpack, float, missing, fill_bits })
    }

    /// Stored elements as the floats that are quantised.
    pub(crate) fn numbers(&self) -> Numbers {
        match &self.unpack {
            Some(unpack) => Numbers::Unpacked(Box::new(unpack.clone())),
            None => Numbers::Own(self.float.0),
        }
    }

    /// Whether the range must be looked for in the data.
    pub(crate) fn needs_first_pass(&self) -> bool {
        self.quantize.finds_range()
    }

    /// Whether chunks must be read before anything can be settled.
    pub(crate) fn reads_data(&self) -> bool {
        self.needs_first_pass() || self.quantize.max_error.is_some()
    }

    /// Whether the fill value stands for NaN.
    pub(crate) fn fill_is_nan(&self) -> bool {
        let fill = self.float.value(self.fill_bits);
        fill.is_nan() || self.missing.iter().any(|bits| self.float.value(*bits) == fill)
    }

    /// The scaling of `--scale` and `--offset`, or of all codes over the range.
    pub(crate) fn scaling(&self, finder: &RangeFinder, range: Option<(f64, f64)>) -> Result<Scaling, OperationError> {
        if self.quantize.scale.is_some() || self.quantize.offset.is_some() {
            let number = |json: &Option<Json>, option| json.as_ref().map(|json| self.number(json, option)).transpose();
            let scale = number(&self.quantize.scale, "--scale")?;
            let offset = number(&self.quantize.offset, "--offset")?;
            if scale == Some(0.0) {
                return Err(
                    OperationError::data("--scale 0 could not be decoded").with_help("give a scale that is not 0")
                );
            }
            return Ok(Scaling::of(offset, scale));
        }
        let Some((lo, hi)) = range else { return Ok(Scaling::default()) };
        finder.find(lo, hi).map_err(|fault| {
            OperationError::data(format!("values from {lo} to {hi} cannot be quantised to {}", finder.target))
                .because(fault)
                .with_help("give --scale and --offset, or a narrower --range with --out-of-range clamp")
        })
    }

    /// A finite number of an option in the array's type.
    pub(super) fn number(&self, json: &Json, option: &str) -> Result<f64, OperationError> {
        let refused = |why: String| {
            OperationError::data(format!("{option} {} is not a finite {}{why}", json.to_string_compact(), self.float.0))
        };
        let read = value_from_json(self.float.0, json).map_err(|error| refused(format!(": {error}")))?;
        let value = self.float.value(read.value);
        if value.is_finite() { Ok(value) } else { Err(refused(String::new())) }
    }
}

const UNPACK: &str = "unpack it first: `transcode --unpack SOURCE DEST` can quantise again in the same run";

/// Refuses to quantise what is quantised already: the chain of `whose`.
pub(crate) fn refuse_packed(codecs: &[CodecMetadata], whose: &str) -> Result<(), OperationError> {
    if !is_packed(codecs) {
        return Ok(());
    }
    let message = format!("`{whose}` has `scale_offset` or `cast_value` in its chain already");
    Err(OperationError::data(message).with_help(UNPACK))
}

/// The codecs that quantise.
pub(crate) const PACKING_CODECS: [&str; 2] = ["scale_offset", "cast_value"];

/// Whether a chain has codecs that quantise.
pub(crate) fn is_packed(codecs: &[CodecMetadata]) -> bool {
    codec_names(codecs).iter().any(|name| PACKING_CODECS.contains(&name.as_str()))
}

/// Refuses a quantisation that CF attributes cannot express.
fn check_cf(source: &OpenedArray, unpacks: bool, target: Option<NumberType>) -> Result<(), OperationError> {
    let packed = ["scale_factor", "add_offset"].into_iter().find(|name| source.metadata.attributes.contains(name));
    if let Some(name) = packed.filter(|_| !unpacks) {
        let message = format!("`{}` has the attribute `{name}` already", source.store);
        return Err(OperationError::data(message).with_help(UNPACK));
    }
    let fits = |t: NumberType| t.is_whole() && (t.bits() < 64);
    if target.is_some_and(|target| !fits(target)) {
        return Err(OperationError::data("--as cf writes int8 to int32 and uint8 to uint32 only")
            .with_help("choose one of these types, or --as codecs"));
    }
    Ok(())
}
