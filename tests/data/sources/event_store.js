'use strict';

/**
 * An event store in memory: streams of events, snapshots, projections that catch up and subscribers.
 */

const { EventEmitter } = require('node:events');
const { randomUUID } = require('node:crypto');

class ConcurrencyError extends Error {
  constructor(stream, expected, actual) {
    super(`stream ${stream} is at version ${actual}, not ${expected}`);
    this.name = 'ConcurrencyError';
    this.expected = expected;
    this.actual = actual;
  }
}

class EventStore extends EventEmitter {
  #streams = new Map();
  #log = [];

  /** Append events to a stream if it still is at the version the caller has seen. */
  append(stream, events, expectedVersion = -1) {
    const current = this.#streams.get(stream) ?? [];
    if (expectedVersion >= 0 && current.length !== expectedVersion) {
      throw new ConcurrencyError(stream, expectedVersion, current.length);
    }
    const stored = events.map((event, index) => ({
      id: randomUUID(),
      stream,
      version: current.length + index + 1,
      position: this.#log.length + index,
      type: event.type,
      data: structuredClone(event.data ?? {}),
      at: event.at ?? Date.now(),
    }));
    this.#streams.set(stream, [...current, ...stored]);
    this.#log.push(...stored);
    for (const event of stored) {
      this.emit('event', event);
      this.emit(`event:${event.type}`, event);
    }
    return stored;
  }

  read(stream, fromVersion = 0) {
    const events = this.#streams.get(stream) ?? [];
    return events.slice(fromVersion);
  }

  *readAll(fromPosition = 0) {
    for (let position = fromPosition; position < this.#log.length; position += 1) {
      yield this.#log[position];
    }
  }

  get length() {
    return this.#log.length;
  }

  streams() {
    return [...this.#streams.keys()].sort();
  }
}

class Aggregate {
  static initial() {
    return {};
  }

  static apply(state, event) {
    return state;
  }

  constructor(store, id) {
    this.store = store;
    this.id = id;
    this.version = 0;
    this.state = this.constructor.initial();
    this.pending = [];
  }

  load(snapshot) {
    if (snapshot) {
      this.version = snapshot.version;
      this.state = structuredClone(snapshot.state);
    }
    for (const event of this.store.read(this.id, this.version)) {
      this.state = this.constructor.apply(this.state, event);
      this.version = event.version;
    }
    return this;
  }

  raise(type, data) {
    const event = { type, data };
    this.pending.push(event);
    this.state = this.constructor.apply(this.state, event);
  }

  save() {
    if (this.pending.length === 0) {
      return [];
    }
    const stored = this.store.append(this.id, this.pending, this.version);
    this.version += stored.length;
    this.pending = [];
    return stored;
  }

  snapshot() {
    return { version: this.version, state: structuredClone(this.state) };
  }
}

class Cart extends Aggregate {
  static initial() {
    return { lines: {}, checkedOut: false };
  }

  static apply(state, event) {
    switch (event.type) {
      case 'ItemAdded': {
        const { sku, count } = event.data;
        const lines = { ...state.lines, [sku]: (state.lines[sku] ?? 0) + count };
        return { ...state, lines };
      }
      case 'ItemRemoved': {
        const { [event.data.sku]: removed, ...lines } = state.lines;
        return { ...state, lines };
      }
      case 'CheckedOut':
        return { ...state, checkedOut: true };
      default:
        return state;
    }
  }

  add(sku, count = 1) {
    if (this.state.checkedOut) {
      throw new Error('the cart is checked out already');
    }
    if (!Number.isInteger(count) || count < 1) {
      throw new RangeError(`${count} is no number of items`);
    }
    this.raise('ItemAdded', { sku, count });
  }

  remove(sku) {
    if (!(sku in this.state.lines)) {
      throw new Error(`${sku} is not in the cart`);
    }
    this.raise('ItemRemoved', { sku });
  }

  checkOut() {
    if (Object.keys(this.state.lines).length === 0) {
      throw new Error('the cart is empty');
    }
    this.raise('CheckedOut', {});
  }
}

/** Keeps a view of all events up to date; `handlers` is one function for each type. */
class Projection {
  constructor(store, handlers, initial = {}) {
    this.store = store;
    this.handlers = handlers;
    this.view = initial;
    this.position = 0;
    this.listener = () => this.catchUp();
  }

  start() {
    this.catchUp();
    this.store.on('event', this.listener);
    return this;
  }

  stop() {
    this.store.off('event', this.listener);
  }

  catchUp() {
    for (const event of this.store.readAll(this.position)) {
      const handler = this.handlers[event.type];
      if (handler) {
        this.view = handler(this.view, event) ?? this.view;
      }
      this.position = event.position + 1;
    }
  }
}

function popularItems(store) {
  return new Projection(store, {
    ItemAdded: (view, { data }) => ({ ...view, [data.sku]: (view[data.sku] ?? 0) + data.count }),
  });
}

module.exports = { Aggregate, Cart, ConcurrencyError, EventStore, Projection, popularItems };
