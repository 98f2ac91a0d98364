//! The objects that a plan would make, as text.

use super::quantity::{count, counted};
use crate::operation::transcode_result::PlannedObjects;

/// The objects of a plan, label by label.
pub(super) fn planned(plan: &PlannedObjects) -> Vec<(&'static str, String)> {
    let keys = match (plan.files, plan.folders) {
        (Some(1), Some(0)) => format!("one zip file of at most {}", counted(plan.keys, "key")),
        (Some(files), Some(folders)) => {
            format!("at most {} in {}", counted(files, "file"), counted(folders, "folder"))
        }
        _ => format!("at most {}", counted(plan.keys, "object")),
    };
    let mut members = vec![("will be", keys)];
    let requests = [(plan.requests_read, "to read"), (plan.requests_write, "to write")];
    let known = requests.iter().filter_map(|(number, word)| Some(format!("{} {word}", count((*number)?))));
    let requests: Vec<String> = known.collect();
    if !requests.is_empty() {
        members.push(("requests", format!("about {}", requests.join(", "))));
    }
    members
}
