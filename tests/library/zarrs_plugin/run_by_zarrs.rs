//! Codecs of zarrs or of this program that zarrcast lacks: zarrs runs them in every command.

use std::any::Any;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use zarrcast::inspect::{InspectOptions, inspect};
use zarrcast::transcode::{ShapeRequest, TranscodeOptions, transcode};
use zarrcast::validate::{AgainstOptions, ValidateLevel, ValidateOptions, validate};
use zarrcast::{Interrupt, Location, Silent};
use zarrs::array::codec::api::{
    CodecRuntimePluginV3, PartialDecoderCapability, PartialEncoderCapability, register_codec_v3,
};
use zarrs::array::{
    Array, ArrayBytesRaw, BytesRepresentation, BytesToBytesCodecTraits, Codec, CodecError, CodecMetadataOptions,
    CodecOptions, CodecTraits, RecommendedConcurrency,
};
use zarrs::metadata::Configuration;
use zarrs::plugin::{ExtensionName, ZarrVersion};
use zarrs::storage::store::MemoryStore;
use zarrs::storage::{ListableStorageTraits, ReadableStorageTraits, StoreKey, WritableStorageTraits};

use super::{Value, json, little, metadata, open};

/// A codec of the host program that inverts every bit.
#[derive(Debug)]
struct Inverted;

impl ExtensionName for Inverted {
    fn name(&self, _: ZarrVersion) -> Option<std::borrow::Cow<'static, str>> {
        Some("example.inverted".into())
    }
}

impl CodecTraits for Inverted {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn configuration(&self, _: ZarrVersion, _: &CodecMetadataOptions) -> Option<Configuration> {
        Some(Configuration::default())
    }

    fn partial_decoder_capability(&self) -> PartialDecoderCapability {
        PartialDecoderCapability { partial_read: false, partial_decode: false }
    }

    fn partial_encoder_capability(&self) -> PartialEncoderCapability {
        PartialEncoderCapability { partial_encode: false }
    }
}

impl BytesToBytesCodecTraits for Inverted {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn BytesToBytesCodecTraits> {
        self
    }

    fn recommended_concurrency(&self, _: &BytesRepresentation) -> Result<RecommendedConcurrency, CodecError> {
        Ok(RecommendedConcurrency::new_maximum(1))
    }

    fn encoded_representation(&self, decoded: &BytesRepresentation) -> BytesRepresentation {
        *decoded
    }

    fn encode<'a>(&self, bytes: ArrayBytesRaw<'a>, _: &CodecOptions) -> Result<ArrayBytesRaw<'a>, CodecError> {
        Ok(bytes.iter().map(|byte| !byte).collect::<Vec<u8>>().into())
    }

    fn decode<'a>(
        &self,
        bytes: ArrayBytesRaw<'a>,
        _: &BytesRepresentation,
        options: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        assert!(bytes.first() != Some(&0x55), "a codec that panics");
        self.encode(bytes, options)
    }
}

fn register_inverted() {
    let plugin =
        CodecRuntimePluginV3::new(|name| name == "example.inverted", |_| Ok(Codec::BytesToBytes(Arc::new(Inverted))));
    register_codec_v3(plugin);
}

/// Writes all keys of a store into a folder.
fn save(array: &Array<MemoryStore>, folder: &Path) {
    for key in array.storage().list().unwrap() {
        let path = folder.join(key.as_str());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, array.storage().get(&key).unwrap().unwrap()).unwrap();
    }
}

/// Opens the array in a folder with zarrs.
fn load(folder: &Path) -> Array<MemoryStore> {
    let store = Arc::new(MemoryStore::new());
    let mut folders = vec![folder.to_owned()];
    while let Some(own) = folders.pop() {
        for entry in fs::read_dir(own).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let key = StoreKey::new(path.strip_prefix(folder).unwrap().to_str().unwrap()).unwrap();
                store.set(&key, fs::read(&path).unwrap().into()).unwrap();
            }
        }
    }
    Array::open(store, "/").unwrap()
}

/// Returns the validation messages.
fn faults(store: &Path, against: Option<&Path>) -> Vec<String> {
    let location = |path: &Path| Location::parse(path).unwrap();
    let mut options = ValidateOptions::new(location(store));
    options.level = ValidateLevel::Data;
    options.against = against.map(|other| AgainstOptions::new(location(other)));
    let outcome = validate(&options, &Silent, &Interrupt::default());
    assert!(outcome.failures.is_empty());
    let found = outcome.result.findings.iter().filter(|found| found.is_error());
    let differs = outcome.result.against.iter().filter(|against| !against.equal);
    found.map(|found| found.message.clone()).chain(differs.map(|_| "differs".to_owned())).collect()
}

/// Rechunks an array that zarrs wrote, and reads the result with zarrs.
fn check(metadata: &Value, chunk_shape: &[u64], write: impl Fn(&Array<MemoryStore>)) -> Array<MemoryStore> {
    register_inverted();
    let array = open(metadata).unwrap();
    array.store_metadata().unwrap();
    write(&array);
    let folder = tempfile::tempdir().unwrap();
    let (source, destination) = (folder.path().join("source"), folder.path().join("destination"));
    save(&array, &source);
    assert_eq!(faults(&source, None), Vec::<String>::new());
    let location = |path: &Path| Location::parse(path).unwrap();
    let mut options = TranscodeOptions::new(location(&source), location(&destination));
    options.change.chunk_shape = Some(ShapeRequest::Lengths(chunk_shape.to_vec()));
    let result = transcode(&options, &Silent, &Interrupt::default()).unwrap();
    assert!(result.warnings.iter().any(|found| found.message.ends_with("zarrs runs it")), "{:?}", result.warnings);
    assert_eq!(faults(&destination, Some(&source)), Vec::<String>::new());
    load(&destination)
}

#[test]
fn squeeze_and_codecs_of_the_host_are_run_by_zarrs() {
    let codecs = json!([{"name": "zarrs.squeeze"}, little(), {"name": "example.inverted"}]);
    let values: Vec<f32> = (0..24_u8).map(f32::from).collect();
    let metadata = metadata("float32", json!(0.0), &[2, 1, 12], &[2, 1, 6], &codecs);
    let written = check(&metadata, &[1, 1, 4], |array| array.store_array_subset(&array.subset_all(), &values).unwrap());
    let found: Vec<f32> = written.retrieve_array_subset(&written.subset_all()).unwrap();
    assert_eq!(found, values);
}

/// Returns the metadata of an array of optional values.
fn optional(data_type: &Value, fill_value: Value) -> Value {
    let mask_codecs = json!([{"name": "packbits"}]);
    let data_codecs = json!([little(), {"name": "gzip", "configuration": {"level": 1}}]);
    let codec =
        json!({"name": "zarrs.optional", "configuration": {"mask_codecs": mask_codecs, "data_codecs": data_codecs}});
    let mut metadata = metadata("uint8", fill_value, &[2, 6], &[2, 3], &json!([codec]));
    metadata["data_type"] = json!({"name": "zarrs.optional", "configuration": data_type});
    metadata
}

#[test]
fn optional_values_are_run_by_zarrs_nested_ones_too() {
    let int16 = json!({"name": "int16", "configuration": {}});
    let values = [Some(1_i16), None, Some(-3), None, None, Some(6)].repeat(2);
    let written = check(&optional(&int16, json!([7])), &[1, 2], |array| {
        array.store_chunk(&[0, 1], values[..6].to_vec()).unwrap();
    });
    let found: Vec<Option<i16>> = written.retrieve_array_subset(&written.subset_all()).unwrap();
    let fill = [Some(7); 3];
    assert_eq!(found, [&fill, &values[..3], &fill, &values[3..6]].concat());

    let nested = json!({"name": "zarrs.optional", "configuration": int16});
    let values = [Some(Some(1_i16)), Some(None), None, None, Some(Some(5)), Some(None)];
    let mut of_nested = optional(&nested, json!([null]));
    let inner = of_nested["codecs"][0].clone();
    of_nested["codecs"][0]["configuration"]["data_codecs"] = json!([inner]);
    let written = check(&of_nested, &[2, 3], |array| array.store_chunk(&[0, 0], values.to_vec()).unwrap());
    let found: Vec<Option<Option<i16>>> = written.retrieve_chunk(&[0, 0]).unwrap();
    assert_eq!(found, values);
    let found: Vec<Option<Option<i16>>> = written.retrieve_chunk(&[0, 1]).unwrap();
    assert_eq!(found, [Some(None); 6]);
}

#[test]
fn damage_in_a_chunk_that_zarrs_decodes_is_a_finding() {
    register_inverted();
    let folder = tempfile::tempdir().unwrap();
    let write = |metadata: &Value, chunk: &[u8]| {
        let path = folder.path().join("a");
        fs::create_dir_all(path.join("c/0")).unwrap();
        fs::write(path.join("zarr.json"), metadata.to_string()).unwrap();
        fs::write(path.join("c/0/0"), chunk).unwrap();
        faults(&path, None)
    };
    let int16 = json!({"name": "int16", "configuration": {}});
    let of_lengths = |lengths: [u64; 2]| lengths.iter().flat_map(|length| length.to_le_bytes()).collect::<Vec<u8>>();
    for chunk in
        [vec![0; 15], of_lengths([u64::MAX, 17]), of_lengths([0, 0]), [&of_lengths([1, 2])[..], &[0xff, 1, 2]].concat()]
    {
        let found = write(&optional(&int16, json!(null)), &chunk);
        assert!(found.len() == 1 && found[0].contains("zarrs.optional"), "{found:?}");
    }
    let inverted =
        metadata("uint8", json!(0), &[1, 2], &[1, 2], &json!([{"name": "bytes"}, {"name": "example.inverted"}]));
    let found = write(&inverted, &[0x55, 1]);
    assert!(found.len() == 1 && found[0].contains("zarrs stopped with a panic"), "{found:?}");
    let found = write(&inverted, &[1, 2, 3]);
    assert!(found.len() == 1 && found[0].contains("expected 2"), "{found:?}");
}

#[test]
fn codec_that_zarrs_refuses_or_has_under_another_name_is_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = json!({"name": "bytes"});
    for codecs in [
        json!([bytes, {"name": "https://codec.zarrs.dev/bytes_to_bytes/bz2", "configuration": {"level": 1}}]),
        json!([{"name": "zarrs.squeeze", "configuration": {"unknown": 1}}, bytes]),
        json!([{"name": "zarrs.vlen"}]),
    ] {
        let metadata = metadata("uint8", json!(0), &[4], &[2], &codecs);
        fs::write(folder.path().join("zarr.json"), metadata.to_string()).unwrap();
        let mut options = InspectOptions::new(Location::parse(folder.path()).unwrap());
        options.stats = true;
        let result = inspect(&options, &Silent, &Interrupt::default());
        let result = serde_json::to_string(&result.unwrap()).unwrap();
        assert!(result.contains("\"stats\":null") && !result.contains("zarrs runs it"), "{codecs}: {result}");
    }
}
