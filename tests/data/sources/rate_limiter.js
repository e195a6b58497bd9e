'use strict';

// Limits of calls per key: token buckets, sliding windows and a middleware that answers 429.

class TokenBucket {
  constructor({ capacity, refillPerSecond, now = Date.now }) {
    if (!(capacity > 0) || !(refillPerSecond > 0)) {
      throw new RangeError('capacity and refillPerSecond must be above 0');
    }
    this.capacity = capacity;
    this.refillPerSecond = refillPerSecond;
    this.now = now;
    this.tokens = capacity;
    this.updated = now();
  }

  refill() {
    const now = this.now();
    const elapsed = Math.max(0, now - this.updated) / 1000;
    this.tokens = Math.min(this.capacity, this.tokens + elapsed * this.refillPerSecond);
    this.updated = now;
  }

  take(count = 1) {
    this.refill();
    if (this.tokens < count) {
      return { allowed: false, retryAfterMs: Math.ceil(((count - this.tokens) / this.refillPerSecond) * 1000) };
    }
    this.tokens -= count;
    return { allowed: true, remaining: Math.floor(this.tokens) };
  }

  get isFull() {
    this.refill();
    return this.tokens >= this.capacity;
  }
}

class SlidingWindow {
  constructor({ limit, windowMs, now = Date.now }) {
    this.limit = limit;
    this.windowMs = windowMs;
    this.now = now;
    this.stamps = [];
  }

  take() {
    const now = this.now();
    while (this.stamps.length > 0 && this.stamps[0] <= now - this.windowMs) {
      this.stamps.shift();
    }
    if (this.stamps.length >= this.limit) {
      return { allowed: false, retryAfterMs: this.stamps[0] + this.windowMs - now };
    }
    this.stamps.push(now);
    return { allowed: true, remaining: this.limit - this.stamps.length };
  }

  get isFull() {
    return this.stamps.length === 0;
  }
}

class RateLimiter {
  constructor(makeLimit, { maxKeys = 10_000 } = {}) {
    this.makeLimit = makeLimit;
    this.maxKeys = maxKeys;
    this.limits = new Map();
    this.rejected = 0;
  }

  check(key) {
    let limit = this.limits.get(key);
    if (limit === undefined) {
      if (this.limits.size >= this.maxKeys) {
        this.sweep();
      }
      limit = this.makeLimit(key);
    } else {
      this.limits.delete(key); // put back at the end, so that the oldest key comes first
    }
    this.limits.set(key, limit);
    const verdict = limit.take();
    if (!verdict.allowed) {
      this.rejected += 1;
    }
    return verdict;
  }

  sweep() {
    for (const [key, limit] of this.limits) {
      if (limit.isFull || this.limits.size >= this.maxKeys) {
        this.limits.delete(key);
      }
      if (this.limits.size < this.maxKeys / 2) {
        break;
      }
    }
  }

  get size() {
    return this.limits.size;
  }
}

function clientKey(request) {
  const forwarded = request.headers['x-forwarded-for'];
  if (typeof forwarded === 'string' && forwarded.length > 0) {
    return forwarded.split(',')[0].trim();
  }
  return request.socket?.remoteAddress ?? 'unknown';
}

function middleware(limiter, { keyOf = clientKey, skip = () => false } = {}) {
  return function rateLimit(request, response, next) {
    if (skip(request)) {
      next();
      return;
    }
    const verdict = limiter.check(keyOf(request));
    if (verdict.allowed) {
      response.setHeader('X-RateLimit-Remaining', String(verdict.remaining));
      next();
      return;
    }
    response.statusCode = 429;
    response.setHeader('Retry-After', String(Math.ceil(verdict.retryAfterMs / 1000)));
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ error: 'too many requests', retryAfterMs: verdict.retryAfterMs }));
  };
}

async function withRetries(operation, { attempts = 3, sleep = (ms) => new Promise((done) => setTimeout(done, ms)) } = {}) {
  let lastError;
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    try {
      return await operation(attempt);
    } catch (error) {
      lastError = error;
      if (error.retryAfterMs === undefined || attempt === attempts) {
        break;
      }
      await sleep(error.retryAfterMs);
    }
  }
  throw lastError;
}

module.exports = { RateLimiter, SlidingWindow, TokenBucket, clientKey, middleware, withRetries };
