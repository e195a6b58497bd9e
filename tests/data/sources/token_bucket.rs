use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A source of time that tests can turn by hand.
pub trait Clock {
    fn now(&self) -> Instant;
}

pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant::now()
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Decision {
    Allowed { remaining: u32 },
    Denied { retry_after: Duration },
}

impl Decision {
    pub fn is_allowed(&self) -> bool {
        matches!(self, Decision::Allowed { .. })
    }
}

#[derive(Debug, Clone)]
struct Bucket {
    tokens: f64,
    updated: Instant,
}

#[derive(Debug, Clone, Copy)]
pub struct Limit {
    capacity: f64,
    per_second: f64,
}

impl Limit {
    pub fn new(capacity: u32, every: Duration) -> Result<Self, String> {
        if capacity == 0 {
            return Err("the capacity must be above 0".to_string());
        }
        if every.is_zero() {
            return Err("the interval must be above 0".to_string());
        }
        let capacity = f64::from(capacity);
        Ok(Limit { capacity, per_second: capacity / every.as_secs_f64() })
    }

    fn full(&self, now: Instant) -> Bucket {
        Bucket { tokens: self.capacity, updated: now }
    }
}

impl Bucket {
    fn refill(&mut self, limit: &Limit, now: Instant) {
        let elapsed = now.saturating_duration_since(self.updated).as_secs_f64();
        self.tokens = (self.tokens + elapsed * limit.per_second).min(limit.capacity);
        self.updated = now;
    }

    fn take(&mut self, limit: &Limit, count: u32, now: Instant) -> Decision {
        self.refill(limit, now);
        let wanted = f64::from(count);
        if self.tokens >= wanted {
            self.tokens -= wanted;
            return Decision::Allowed { remaining: self.tokens as u32 };
        }
        let missing = wanted - self.tokens;
        let seconds = missing / limit.per_second;
        Decision::Denied { retry_after: Duration::from_secs_f64(seconds) }
    }

    fn is_full(&self, limit: &Limit, now: Instant) -> bool {
        let mut copy = self.clone();
        copy.refill(limit, now);
        copy.tokens >= limit.capacity
    }
}

/// Buckets by key. Those that are full again are forgotten, as a new one would be the same.
pub struct Limiter<K, C: Clock = SystemClock> {
    limit: Limit,
    clock: C,
    buckets: Mutex<HashMap<K, Bucket>>,
    most: usize,
}

impl<K: Hash + Eq + Clone> Limiter<K> {
    pub fn new(limit: Limit) -> Self {
        Limiter::with_clock(limit, SystemClock)
    }
}

impl<K: Hash + Eq + Clone, C: Clock> Limiter<K, C> {
    pub fn with_clock(limit: Limit, clock: C) -> Self {
        Limiter { limit, clock, buckets: Mutex::new(HashMap::new()), most: 65_536 }
    }

    pub fn bounded(mut self, most: usize) -> Self {
        self.most = most.max(1);
        self
    }

    pub fn check(&self, key: &K) -> Decision {
        self.check_many(key, 1)
    }

    pub fn check_many(&self, key: &K, count: u32) -> Decision {
        let now = self.clock.now();
        let mut buckets = self.buckets.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if buckets.len() >= self.most && !buckets.contains_key(key) {
            let limit = self.limit;
            buckets.retain(|_, bucket| !bucket.is_full(&limit, now));
        }
        let bucket = buckets.entry(key.clone()).or_insert_with(|| self.limit.full(now));
        bucket.take(&self.limit, count, now)
    }

    pub fn len(&self) -> usize {
        self.buckets.lock().map(|buckets| buckets.len()).unwrap_or(0)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    struct HandClock {
        start: Instant,
        offset: Cell<Duration>,
    }

    impl HandClock {
        fn new() -> Self {
            HandClock { start: Instant::now(), offset: Cell::new(Duration::ZERO) }
        }
    }

    impl Clock for &HandClock {
        fn now(&self) -> Instant {
            self.start + self.offset.get()
        }
    }

    #[test]
    fn a_full_bucket_allows_as_many_as_it_holds() {
        let clock = HandClock::new();
        let limit = Limit::new(3, Duration::from_secs(3)).unwrap();
        let limiter = Limiter::with_clock(limit, &clock);
        for _ in 0..3 {
            assert!(limiter.check(&"key").is_allowed());
        }
        assert!(!limiter.check(&"key").is_allowed());
    }

    #[test]
    fn tokens_come_back_with_time() {
        let clock = HandClock::new();
        let limit = Limit::new(2, Duration::from_secs(2)).unwrap();
        let limiter = Limiter::with_clock(limit, &clock);
        assert!(limiter.check_many(&"key", 2).is_allowed());
        match limiter.check(&"key") {
            Decision::Denied { retry_after } => assert!(retry_after <= Duration::from_secs(1)),
            Decision::Allowed { .. } => panic!("nothing should be left"),
        }
        clock.offset.set(Duration::from_secs(1));
        assert!(limiter.check(&"key").is_allowed());
    }

    #[test]
    fn full_buckets_are_forgotten() {
        let clock = HandClock::new();
        let limit = Limit::new(1, Duration::from_secs(1)).unwrap();
        let limiter = Limiter::with_clock(limit, &clock).bounded(2);
        limiter.check(&1);
        limiter.check(&2);
        clock.offset.set(Duration::from_secs(5));
        limiter.check(&3);
        assert_eq!(limiter.len(), 1);
    }
}
