//! The work on arrays whose chunks have no size that the metadata tell: elements of any length, and what a codec that
//! is not run here has encoded.

use super::route::Choice;
use crate::engine::job::ObjectJob;
use crate::engine::listing::Listing;
use crate::engine::route::Route;
use crate::engine::transfer::Transfer;
use crate::operation::error::OperationError;
use crate::operation::open::OpenedArray;
use crate::operation::transcode::layout::opaque_array;
use crate::operation::transcode::plan::{Changed, Planned, Planner, Work};
use crate::store::Node;

impl Planner<'_> {
    /// The work on the objects; `refusal` where there is no way for them.
    pub(super) fn opaque_job(
        &self,
        (source, target, destination): (&OpenedArray, &Node, &Planned),
        listing: &Listing,
        changed: Changed,
        refusal: OperationError,
    ) -> Result<Work, OperationError> {
        let (node, metadata) = (source.node.clone(), source.metadata.clone());
        let from = opaque_array(node, metadata, &source.pipeline, &source.store)?;
        let to =
            opaque_array(target.clone(), destination.metadata.clone(), &destination.pipeline, &source.store)?;
        let choice = Choice {
            change: &changed.change,
            write_empty: self.options.write_empty_chunks,
            store: &source.store,
            budget: self.budget,
            elsewhere: 0,
            verifies: self.options.verify,
            resumes: self.options.resume,
        };
        let Some(route) = choice.opaque_route(&from, &to)? else { return Err(refusal) };
        let fill = &destination.pipeline.input.fill_value;
        let absent_element = changed.absent.filter(|absent| Some(absent) != fill.as_ref()).map(|fill| fill.0);
        let is_whole = listing.present.len() == from.metadata.num_chunks() && from.layout.is_none();
        // Absent chunks become such as hold the old fill value, if anybody here can write them.
        let can_fill = matches!(&route, Route::Measured(measured) if measured.destination.is_some());
        if absent_element.is_some() && !is_whole && !can_fill {
            return Err(refusal);
        }
        let present = listing.present.clone();
        let transfer = Transfer { source: from, destination: to, present, absent_element, origin: None };
        let job = ObjectJob { transfer, route };
        Ok(Work { job: Some(job), comparison: None })
    }
}
