//! How the values of an array that has been quantised before are encoded again.

use super::{BoundChain, BoundCodec, ByShape, Codec};
use crate::codec::kinds::Role;

impl BoundChain {
    /// True if both chains take values through the same `scale_offset` and `cast_value`, so that what one decodes has a
    /// code in the other.
    pub fn casts_like(&self, other: &Self) -> bool {
        let is_value = |codec: &&BoundCodec| matches!(codec.codec.role(), Role::ScaleOffset(_) | Role::Cast { .. });
        let (mut one, mut two) = (self.codecs.iter().filter(is_value), other.codecs.iter().filter(is_value));
        one.by_ref().zip(two.by_ref()).all(|(a, b)| a.metadata.same_value(&b.metadata))
            && one.next().is_none()
            && two.next().is_none()
    }

    /// Lets `cast_value` take the nearest code from now on, whatever its `rounding` says. Decoded codes lie within the
    /// rounding of two operations of their own code, on either side of it: a directed rounding would take the next code
    /// for half of them, each time that the chunks are encoded anew.
    pub fn encode_to_nearest(&mut self) {
        (self.is_to_nearest, self.by_shape) = (true, ByShape::default());
        for codec in &mut self.codecs {
            match &mut codec.codec {
                Codec::Array(codec) => {
                    if let Some(nearest) = codec.to_nearest() {
                        *codec = nearest;
                    }
                }
                Codec::Sharding(sharding) => sharding.encode_to_nearest(),
                Codec::BytesToBytes(_) | Codec::Unread => {}
            }
        }
    }
}
