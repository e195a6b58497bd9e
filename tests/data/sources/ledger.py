"""A small double-entry ledger: accounts, postings and balances kept in integer cents."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date


class LedgerError(ValueError):
    """A transaction that does not balance, or names an account that is closed."""


@dataclass(frozen=True)
class Posting:
    account: str
    cents: int

    def negated(self) -> Posting:
        return Posting(self.account, -self.cents)


@dataclass(frozen=True)
class Transaction:
    day: date
    text: str
    postings: tuple[Posting, ...]

    def total(self) -> int:
        return sum(posting.cents for posting in self.postings)

    def touches(self, account: str) -> bool:
        return any(posting.account == account for posting in self.postings)


@dataclass
class Account:
    name: str
    opened: date
    closed: date | None = None
    tags: set[str] = field(default_factory=set)

    def is_open(self, day: date) -> bool:
        if day < self.opened:
            return False
        return self.closed is None or day <= self.closed


class Ledger:
    """All accounts and transactions of one book, in the order of their days."""

    def __init__(self) -> None:
        self._accounts: dict[str, Account] = {}
        self._transactions: list[Transaction] = []

    def open_account(self, name: str, day: date, *tags: str) -> Account:
        if name in self._accounts:
            raise LedgerError(f"account {name!r} exists already")
        account = Account(name, day, tags=set(tags))
        self._accounts[name] = account
        return account

    def close_account(self, name: str, day: date) -> None:
        account = self._account(name)
        if self.balance(name, day) != 0:
            raise LedgerError(f"account {name!r} still has a balance")
        account.closed = day

    def record(self, transaction: Transaction) -> None:
        if transaction.total() != 0:
            raise LedgerError(f"{transaction.text!r} does not balance: {transaction.total()} cents over")
        for posting in transaction.postings:
            if not self._account(posting.account).is_open(transaction.day):
                raise LedgerError(f"account {posting.account!r} is closed on {transaction.day}")
        index = len(self._transactions)
        while index > 0 and self._transactions[index - 1].day > transaction.day:
            index -= 1
        self._transactions.insert(index, transaction)

    def reverse(self, transaction: Transaction, day: date) -> Transaction:
        """Record the opposite of a transaction and return it."""
        postings = tuple(posting.negated() for posting in transaction.postings)
        opposite = Transaction(day, f"reversal of {transaction.text}", postings)
        self.record(opposite)
        return opposite

    def balance(self, name: str, day: date | None = None) -> int:
        self._account(name)
        total = 0
        for transaction in self._transactions:
            if day is not None and transaction.day > day:
                break
            for posting in transaction.postings:
                if posting.account == name:
                    total += posting.cents
        return total

    def balances(self) -> dict[str, int]:
        totals: dict[str, int] = defaultdict(int)
        for transaction in self._transactions:
            for posting in transaction.postings:
                totals[posting.account] += posting.cents
        return {name: totals[name] for name in sorted(self._accounts)}

    def statement(self, name: str) -> Iterator[tuple[Transaction, int]]:
        """Each transaction of an account with the balance after it."""
        running = 0
        for transaction in self._transactions:
            if not transaction.touches(name):
                continue
            running += sum(p.cents for p in transaction.postings if p.account == name)
            yield transaction, running

    def by_tag(self, tag: str) -> int:
        return sum(self.balance(name) for name, account in self._accounts.items() if tag in account.tags)

    def _account(self, name: str) -> Account:
        try:
            return self._accounts[name]
        except KeyError:
            raise LedgerError(f"there is no account {name!r}") from None


def parse_amount(text: str) -> int:
    """Cents of an amount such as -12.5 or 1,204.00."""
    cleaned = text.strip().replace(",", "")
    sign = -1 if cleaned.startswith("-") else 1
    whole, _, rest = cleaned.lstrip("+-").partition(".")
    if not whole.isdigit() or (rest and not rest.isdigit()) or len(rest) > 2:
        raise LedgerError(f"{text!r} is no amount")
    return sign * (int(whole) * 100 + int(rest.ljust(2, "0") or 0))


def format_amount(cents: int) -> str:
    sign = "-" if cents < 0 else ""
    whole, rest = divmod(abs(cents), 100)
    return f"{sign}{whole:,}.{rest:02d}"


def read_csv(text: str) -> Iterable[Transaction]:
    """Rows of day, text, account, amount; neighbouring rows of one day and text are one transaction."""
    pending: list[Posting] = []
    key: tuple[str, str] | None = None
    for row in csv.reader(io.StringIO(text)):
        if not row or row[0].startswith("#"):
            continue
        day, words, account, amount = (cell.strip() for cell in row)
        if key is not None and key != (day, words):
            yield Transaction(date.fromisoformat(key[0]), key[1], tuple(pending))
            pending = []
        key = (day, words)
        pending.append(Posting(account, parse_amount(amount)))
    if key is not None:
        yield Transaction(date.fromisoformat(key[0]), key[1], tuple(pending))


def report(ledger: Ledger, width: int = 40) -> str:
    lines = []
    for name, cents in ledger.balances().items():
        amount = format_amount(cents)
        lines.append(name.ljust(width - len(amount)) + amount)
    return "\n".join(lines)
