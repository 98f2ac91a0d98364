//! `numcodecs.zfpy`, which is not decoded here.
//!
//! Documentation: <https://numcodecs.readthedocs.io/en/stable/compression/zfpy.html>

use super::array::{ArrayConfiguration, ArrayKind, BoundArray};
use super::members::Members;
use super::numcodecs::{Absent, Form, Member, check, names};
use super::{ArrayRepresentation, Parsed};
use crate::diagnostic::Diagnostic;
use crate::metadata::extension::CodecMetadata;

/// `numcodecs.zfpy`.
pub(crate) static ZFPY: ArrayKind = ArrayKind::new::<ZfpyConfiguration>().little_endian_in_v2();

const MEMBERS: &[Member] = &[
    Member::new("mode", Form::Integer(0, 5), Absent::Nothing),
    Member::new("tolerance", Form::Number, Absent::Nothing),
    Member::new("rate", Form::Number, Absent::Nothing),
    Member::new("precision", Form::Number, Absent::Nothing),
    Member::new("compression_kwargs", Form::Any, Absent::Nothing),
];

struct ZfpyConfiguration;

impl ArrayConfiguration for ZfpyConfiguration {
    fn parse(codec: &CodecMetadata) -> Parsed<Self> {
        let configuration = codec.configuration.as_ref();
        let mut members = Members::of_codec("numcodecs.zfpy", configuration, &codec.pointer, &names(MEMBERS));
        let is_valid = check(&mut members, MEMBERS);
        members.finish(is_valid.then_some(ZfpyConfiguration))
    }

    fn bind(self, _: &CodecMetadata, _: &ArrayRepresentation, _: &mut Vec<Diagnostic>) -> Option<BoundArray> {
        None
    }
}
