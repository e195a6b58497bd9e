// Package lru is a cache with a bound on its size and a time to live of its entries.
package lru

import (
	"container/list"
	"errors"
	"sync"
	"time"
)

// ErrNotFound says that a key is not, or no longer, in the cache.
var ErrNotFound = errors.New("lru: key not found")

type entry[K comparable, V any] struct {
	key     K
	value   V
	expires time.Time
}

func (e *entry[K, V]) expired(now time.Time) bool {
	return !e.expires.IsZero() && now.After(e.expires)
}

// Stats counts what has happened to a cache.
type Stats struct {
	Hits      uint64
	Misses    uint64
	Evictions uint64
	Expired   uint64
}

// HitRate is the share of lookups that found something.
func (s Stats) HitRate() float64 {
	total := s.Hits + s.Misses
	if total == 0 {
		return 0
	}
	return float64(s.Hits) / float64(total)
}

// Cache keeps the entries used last. It is safe for many goroutines.
type Cache[K comparable, V any] struct {
	mu       sync.Mutex
	capacity int
	ttl      time.Duration
	order    *list.List
	items    map[K]*list.Element
	stats    Stats
	now      func() time.Time
	onEvict  func(K, V)
}

// Option changes how a cache behaves.
type Option[K comparable, V any] func(*Cache[K, V])

// WithTTL makes entries expire this long after they were set.
func WithTTL[K comparable, V any](ttl time.Duration) Option[K, V] {
	return func(c *Cache[K, V]) { c.ttl = ttl }
}

// WithEvict calls a function with each entry that has to go.
func WithEvict[K comparable, V any](onEvict func(K, V)) Option[K, V] {
	return func(c *Cache[K, V]) { c.onEvict = onEvict }
}

// New makes a cache of at most capacity entries.
func New[K comparable, V any](capacity int, options ...Option[K, V]) *Cache[K, V] {
	if capacity < 1 {
		panic("lru: capacity must be at least 1")
	}
	cache := &Cache[K, V]{
		capacity: capacity,
		order:    list.New(),
		items:    make(map[K]*list.Element, capacity),
		now:      time.Now,
	}
	for _, option := range options {
		option(cache)
	}
	return cache
}

// Get returns the value of a key and makes it the one used last.
func (c *Cache[K, V]) Get(key K) (V, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var zero V
	element, found := c.items[key]
	if !found {
		c.stats.Misses++
		return zero, ErrNotFound
	}
	item := element.Value.(*entry[K, V])
	if item.expired(c.now()) {
		c.remove(element)
		c.stats.Expired++
		c.stats.Misses++
		return zero, ErrNotFound
	}
	c.order.MoveToFront(element)
	c.stats.Hits++
	return item.value, nil
}

// Set stores a value, and lets go of the entry unused for longest where there is no room.
func (c *Cache[K, V]) Set(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var expires time.Time
	if c.ttl > 0 {
		expires = c.now().Add(c.ttl)
	}
	if element, found := c.items[key]; found {
		item := element.Value.(*entry[K, V])
		item.value = value
		item.expires = expires
		c.order.MoveToFront(element)
		return
	}
	if c.order.Len() >= c.capacity {
		c.evict()
	}
	c.items[key] = c.order.PushFront(&entry[K, V]{key: key, value: value, expires: expires})
}

// GetOrLoad returns the value of a key, loading and storing it where it is missing.
func (c *Cache[K, V]) GetOrLoad(key K, load func(K) (V, error)) (V, error) {
	if value, err := c.Get(key); err == nil {
		return value, nil
	}
	value, err := load(key)
	if err != nil {
		var zero V
		return zero, err
	}
	c.Set(key, value)
	return value, nil
}

// Delete forgets a key and says whether it was there.
func (c *Cache[K, V]) Delete(key K) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, found := c.items[key]
	if found {
		c.remove(element)
	}
	return found
}

// Purge forgets everything that has expired and returns how much that was.
func (c *Cache[K, V]) Purge() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	count := 0
	for element := c.order.Back(); element != nil; {
		previous := element.Prev()
		if element.Value.(*entry[K, V]).expired(now) {
			c.remove(element)
			count++
		}
		element = previous
	}
	c.stats.Expired += uint64(count)
	return count
}

// Keys lists the keys, the one used last first.
func (c *Cache[K, V]) Keys() []K {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys := make([]K, 0, c.order.Len())
	for element := c.order.Front(); element != nil; element = element.Next() {
		keys = append(keys, element.Value.(*entry[K, V]).key)
	}
	return keys
}

// Len is the number of entries.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.order.Len()
}

// Stats returns the counts so far.
func (c *Cache[K, V]) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

func (c *Cache[K, V]) evict() {
	oldest := c.order.Back()
	if oldest == nil {
		return
	}
	item := oldest.Value.(*entry[K, V])
	c.remove(oldest)
	c.stats.Evictions++
	if c.onEvict != nil {
		c.onEvict(item.key, item.value)
	}
}

func (c *Cache[K, V]) remove(element *list.Element) {
	c.order.Remove(element)
	delete(c.items, element.Value.(*entry[K, V]).key)
}
