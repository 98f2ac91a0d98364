//! The limit of concurrent requests. It is lower while the store reports too many.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::Notify;

use crate::store::held;

/// Most concurrent requests to a server that closes each connection. The queue of such a server is often short: Python's
/// has 5 places, and the system drops connections beyond them for seconds.
const MOST_CLOSED: usize = 4;

/// Limiter of concurrent requests. Its limit is halved when the store reports too many requests. It grows by one with
/// each success, like the congestion window of TCP.
#[derive(Debug)]
pub(super) struct Limiter {
    most: usize,
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Debug)]
struct State {
    bound: usize,
    in_flight: usize,
    /// Time of the last halving. Earlier requests do not show whether the new limit is too high.
    halved: Option<Instant>,
    /// True after an answer that left its connection open.
    keeps_open: bool,
}

/// Permission for one request.
pub(super) struct Permit {
    limiter: Arc<Limiter>,
    taken: Instant,
}

impl Limiter {
    pub(super) fn new(most: usize) -> Self {
        let state = State { bound: most, in_flight: 0, halved: None, keeps_open: false };
        Limiter { most, state: Mutex::new(state), freed: Notify::new() }
    }

    /// Waits until a request is allowed. An urgent request goes beyond the limit and does not wait.
    pub(super) async fn permit(self: &Arc<Self>, is_urgent: bool) -> Permit {
        loop {
            let mut freed = pin!(self.freed.notified());
            // Registered before the check. Otherwise a permit that becomes free between the check and the wait could be
            // missed.
            freed.as_mut().enable();
            {
                let mut state = held(&self.state);
                if is_urgent || state.in_flight < state.bound {
                    state.in_flight += 1;
                    return Permit { limiter: self.clone(), taken: Instant::now() };
                }
            }
            freed.await;
        }
    }
}

impl Permit {
    /// Reports success of the request. Raises a lowered limit by one. `closes` means that the answer closes its connection.
    /// Servers that do so after some requests are not limited.
    pub(super) fn succeeded(self, closes: bool) {
        let mut state = held(&self.limiter.state);
        state.keeps_open |= !closes;
        let most = if state.keeps_open { self.limiter.most } else { self.limiter.most.min(MOST_CLOSED) };
        state.bound = most.min(state.bound + 1);
        self.limiter.freed.notify_one();
    }

    /// Reports that the store has too many requests. Halves the limit.
    pub(super) fn too_many(self) {
        let mut state = held(&self.limiter.state);
        if state.halved.is_none_or(|halved| halved < self.taken) {
            state.bound = (state.bound / 2).max(1);
            state.halved = Some(Instant::now());
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        held(&self.limiter.state).in_flight -= 1;
        self.limiter.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permit(limiter: &Arc<Limiter>) -> Permit {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(limiter.permit(false))
    }

    #[test]
    fn bound_is_halved_once_for_all_that_was_sent_before() {
        let limiter = Arc::new(Limiter::new(8));
        let permits: Vec<_> = (0..8).map(|_| permit(&limiter)).collect();
        permits.into_iter().for_each(Permit::too_many);
        assert_eq!(held(&limiter.state).bound, 4);
        assert_eq!(held(&limiter.state).in_flight, 0);
        permit(&limiter).too_many();
        assert_eq!(held(&limiter.state).bound, 2);
        for bound in [3, 4, 5, 6, 7, 8, 8] {
            permit(&limiter).succeeded(false);
            assert_eq!(held(&limiter.state).bound, bound);
        }
    }

    #[test]
    fn bound_is_low_until_an_answer_leaves_its_connection_open() {
        let limiter = Arc::new(Limiter::new(8));
        for (closes, bound) in [(true, 4), (true, 4), (false, 5), (true, 6), (false, 7)] {
            permit(&limiter).succeeded(closes);
            assert_eq!(held(&limiter.state).bound, bound);
        }
    }
}
