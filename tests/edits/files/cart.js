import fs from 'fs';
import { EventEmitter } from 'events';

const TAX_RATE = 0.19;
let debug = false;

// Rounds to cents.
function round(amount) {
  return Math.round(amount * 100) / 100;
}

const formatPrice = (amount, currency = 'EUR') => {
  return round(amount) + ' ' + currency;
};

export class Cart extends EventEmitter {
  constructor(user) {
    super();
    this.user = user;
    this.items = [];
  }

  addItem(item, quantity) {
    this.items.push({ item, quantity });
    this.emit('change');
  }

  removeItem(id) {
    this.items = this.items.filter((entry) => entry.item.id !== id);
    this.emit('change');
  }

  get total() {
    let sum = 0;
    for (const entry of this.items) {
      sum += entry.item.price * entry.quantity;
    }
    return round(sum * (1 + TAX_RATE));
  }
}

export class WishList {
  constructor(user) {
    this.user = user;
    this.items = [];
  }

  addItem(item) {
    this.items.push(item);
  }
}

export function loadCart(path, callback) {
  fs.readFile(path, (error, data) => {
    if (error) return callback(error);
    const cart = new Cart('nobody');
    for (const each of JSON.parse(data)) cart.addItem(each.item, each.quantity);
    callback(null, cart);
  });
}

export async function main() {
  loadCart('cart.json', (error, cart) => {
    console.log(formatPrice(cart.total));
  });
}
