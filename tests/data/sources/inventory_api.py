"""A stock-keeping service: models, a repository in SQLite and handlers that answer JSON."""

import json
import sqlite3
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from http import HTTPStatus
from urllib.parse import parse_qs

SCHEMA = """
CREATE TABLE IF NOT EXISTS items (
    id INTEGER PRIMARY KEY,
    sku TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    quantity INTEGER NOT NULL DEFAULT 0 CHECK (quantity >= 0),
    price_cents INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS movements (
    id INTEGER PRIMARY KEY,
    item_id INTEGER NOT NULL REFERENCES items (id),
    change INTEGER NOT NULL,
    reason TEXT NOT NULL,
    at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
);
"""


class NotFound(Exception):
    pass


class Conflict(Exception):
    pass


@dataclass
class Item:
    id: int
    sku: str
    name: str
    quantity: int
    price_cents: int

    @property
    def value_cents(self):
        return self.quantity * self.price_cents

    def to_json(self):
        return {**asdict(self), "value_cents": self.value_cents}


class Repository:
    def __init__(self, path=":memory:"):
        self.connection = sqlite3.connect(path)
        self.connection.row_factory = sqlite3.Row
        self.connection.executescript(SCHEMA)

    @contextmanager
    def transaction(self):
        try:
            yield self.connection
        except BaseException:
            self.connection.rollback()
            raise
        else:
            self.connection.commit()

    def add(self, sku, name, price_cents, quantity=0):
        with self.transaction() as connection:
            try:
                cursor = connection.execute(
                    "INSERT INTO items (sku, name, quantity, price_cents) VALUES (?, ?, ?, ?)",
                    (sku, name, quantity, price_cents),
                )
            except sqlite3.IntegrityError as error:
                raise Conflict(f"an item {sku} exists already") from error
        return self.get(cursor.lastrowid)

    def get(self, item_id):
        row = self.connection.execute("SELECT * FROM items WHERE id = ?", (item_id,)).fetchone()
        if row is None:
            raise NotFound(f"there is no item {item_id}")
        return Item(**dict(row))

    def find(self, text="", low=None, limit=50, offset=0):
        query = "SELECT * FROM items WHERE (name LIKE ? OR sku LIKE ?)"
        arguments = [f"%{text}%", f"%{text}%"]
        if low is not None:
            query += " AND quantity <= ?"
            arguments.append(low)
        query += " ORDER BY name LIMIT ? OFFSET ?"
        rows = self.connection.execute(query, [*arguments, limit, offset])
        return [Item(**dict(row)) for row in rows]

    def move(self, item_id, change, reason):
        item = self.get(item_id)
        if item.quantity + change < 0:
            raise Conflict(f"only {item.quantity} of {item.sku} are left")
        with self.transaction() as connection:
            connection.execute("UPDATE items SET quantity = quantity + ? WHERE id = ?", (change, item_id))
            connection.execute(
                "INSERT INTO movements (item_id, change, reason) VALUES (?, ?, ?)", (item_id, change, reason)
            )
        return self.get(item_id)

    def movements(self, item_id):
        rows = self.connection.execute(
            "SELECT change, reason, at FROM movements WHERE item_id = ? ORDER BY id", (item_id,)
        )
        return [dict(row) for row in rows]

    def total_value(self):
        row = self.connection.execute("SELECT COALESCE(SUM(quantity * price_cents), 0) FROM items").fetchone()
        return row[0]


class Response:
    def __init__(self, status, body):
        self.status = HTTPStatus(status)
        self.body = body

    def encode(self):
        return json.dumps(self.body, ensure_ascii=False).encode()


class Application:
    """A WSGI application over a repository."""

    def __init__(self, repository):
        self.repository = repository
        self.routes = {
            ("GET", "items"): self.list_items,
            ("POST", "items"): self.create_item,
            ("GET", "item"): self.show_item,
            ("POST", "move"): self.move_item,
            ("GET", "value"): self.show_value,
        }

    def __call__(self, environ, start_response):
        response = self.handle(environ)
        headers = [("Content-Type", "application/json; charset=utf-8")]
        start_response(f"{response.status.value} {response.status.phrase}", headers)
        return [response.encode()]

    def handle(self, environ):
        name = environ.get("PATH_INFO", "/").strip("/")
        handler = self.routes.get((environ["REQUEST_METHOD"], name))
        if handler is None:
            return Response(404, {"error": f"no route {name!r}"})
        try:
            return handler(self.query(environ), self.body(environ))
        except NotFound as error:
            return Response(404, {"error": str(error)})
        except Conflict as error:
            return Response(409, {"error": str(error)})
        except (KeyError, ValueError) as error:
            return Response(400, {"error": f"bad request: {error}"})

    @staticmethod
    def query(environ):
        return {name: values[-1] for name, values in parse_qs(environ.get("QUERY_STRING", "")).items()}

    @staticmethod
    def body(environ):
        size = int(environ.get("CONTENT_LENGTH") or 0)
        return json.loads(environ["wsgi.input"].read(size)) if size else {}

    def list_items(self, query, body):
        low = int(query["low"]) if "low" in query else None
        items = self.repository.find(query.get("q", ""), low)
        return Response(200, [item.to_json() for item in items])

    def create_item(self, query, body):
        item = self.repository.add(body["sku"], body["name"], int(body["price_cents"]), int(body.get("quantity", 0)))
        return Response(201, item.to_json())

    def show_item(self, query, body):
        item = self.repository.get(int(query["id"]))
        return Response(200, {**item.to_json(), "movements": self.repository.movements(item.id)})

    def move_item(self, query, body):
        item = self.repository.move(int(body["id"]), int(body["change"]), body.get("reason", ""))
        return Response(200, item.to_json())

    def show_value(self, query, body):
        return Response(200, {"total_cents": self.repository.total_value()})
