//! Tests that wait for 2 to 22 seconds. They begin early, beside tests that never wait.

use crate::remote::{at_once, faults, locks};

#[test]
fn locks_expire_and_servers_are_waited_for() {
    at_once([
        locks::run_whose_lock_is_taken_over_while_it_waits_stops as fn(),
        locks::run_whose_lock_is_taken_over_while_it_is_paused_stops,
        faults::store_that_does_not_answer_is_given_up_at_first_contact,
        faults::retry_after_is_heeded,
    ]);
}
