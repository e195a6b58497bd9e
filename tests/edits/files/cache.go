// Package cache keeps values for a while.
package cache

import (
	"errors"
	"sync"
	"time"
)

const DefaultTTL = 5 * time.Minute

var ErrMissing = errors.New("cache: missing")

// Entry is one value with its end.
type Entry struct {
	Value   string
	Expires time.Time
}

// Cache is safe for concurrent use.
type Cache struct {
	mu      sync.Mutex
	entries map[string]Entry
	ttl     time.Duration
}

// New makes an empty cache.
func New(ttl time.Duration) *Cache {
	return &Cache{entries: map[string]Entry{}, ttl: ttl}
}

// Get returns a value.
func (c *Cache) Get(key string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, ok := c.entries[key]
	if !ok || expired(entry) {
		return "", ErrMissing
	}
	return entry.Value, nil
}

// Set stores a value.
func (c *Cache) Set(key, value string) {
	c.mu.Lock()
	c.entries[key] = Entry{value, time.Now().Add(c.ttl)}
	c.mu.Unlock()
}

// Stats counts hits.
type Stats struct {
	hits int
}

// Get returns the count.
func (s *Stats) Get() int {
	return s.hits
}

func expired(e Entry) bool {
	return time.Now().After(e.Expires)
}

func Purge(c *Cache, limit int) int {
	n := 0
	for key, entry := range c.entries {
		if expired(entry) && n < limit {
			delete(c.entries, key)
			n++
		}
	}
	return n
}
