//! Where a hierarchy is written: its place, and where it stands until it is whole if it replaces another.

use std::fmt::Debug;

use super::{Node, StoreError};

/// The place of a hierarchy, in a store where hierarchies take each other's places.
pub trait Site: Debug + Send + Sync {
    /// The node at a spot. What is written to it and removed from it is so through no link.
    fn node(&self, spot: Spot) -> Node;

    /// Whether another node, by all its names, is this place, or one of them lies in the other.
    fn relation(&self, other: &Node) -> Result<Relation, StoreError>;

    /// Whether what replaces another hierarchy is written beside it first; else the old one goes before.
    fn stages(&self) -> bool {
        true
    }

    /// Whether the place cannot be given to something else: another file system is mounted there.
    fn is_fixed(&self) -> bool;

    /// Whether what an unfinished run has written is kept for another. Then it is written where it will stay; else beside
    /// that, whether it replaces something or not.
    fn keeps_unfinished(&self) -> bool {
        true
    }

    /// A link somewhere in another node that leads into the place, as messages name it.
    fn link_from(&self, other: &Node) -> Result<Option<String>, StoreError>;

    /// Exchanges what stands at two spots, at once; false where the store cannot.
    fn exchange(&self, a: Spot, b: Spot) -> Result<bool, StoreError>;

    /// Moves what stands at one spot to another, where nothing is.
    fn rename(&self, from: Spot, to: Spot) -> Result<(), StoreError>;

    /// Makes durable what stands at which spot.
    fn settle_spots(&self) -> Result<(), StoreError>;

    /// Makes durable which names there are at the place.
    fn settle_names(&self) -> Result<(), StoreError>;
}

/// Where something can stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spot {
    /// The place itself.
    Place,
    /// Beside it, until it takes the place.
    Staging,
    /// Beside it, where the old one waits until the new one has its place.
    Aside,
}

/// How two nodes lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Relation {
    /// Neither is in the other.
    Apart,
    /// They are the same.
    Same,
    /// One is in the other.
    Nested {
        /// The other node, as messages name it.
        other: String,
        /// The place of the site, as messages name it.
        place: String,
    },
}

impl Relation {
    /// The relation of a place to another node, from what lies in what.
    pub(super) fn of(is_inside: bool, is_around: bool, names: impl FnOnce() -> (String, String)) -> Self {
        match (is_inside, is_around) {
            (true, true) => Relation::Same,
            (false, false) => Relation::Apart,
            _ => {
                let (other, place) = names();
                Relation::Nested { other, place }
            }
        }
    }
}
