"""Documentation is added: code and other comments stay, in every language."""

from __future__ import annotations

import pytest

from lacli.edits.checks.checks import faults
from lacli.edits.find.reading import intent_of
from lacli.edits.mend.mend import mended
from lacli.edits.tree.outline import outline

FILES = {
    "javascript": (
        """\
class Queue {
	peek() {
		if (!this.head) {
			return;
		}

		// between
		const x = this.head;
		return x.value;

		// TODO: later
		// return this.head?.value;
	}

	clear() {
		this.head = null;
	}
}
""",
        "\tpeek() {",
        "\t/** Returns the first value. */\n\tpeek() {",
    ),
    "python": (
        """\
def peek(self):
    if not self.head:
        return None

    # between
    x = self.head
    return x.value

    # TODO: later
    # return self.head.value


def clear(self):
    self.head = None
""",
        "def peek(self):\n",
        'def peek(self):\n    """Return the first value."""\n',
    ),
    "go": (
        """\
package queue

func peek(q *Queue) int {
	if q.head == nil {
		return 0
	}

	// between
	x := q.head
	return x.value

	// TODO: later
	// return q.head.value
}

func clear(q *Queue) {
	q.head = nil
}
""",
        "func peek",
        "// peek returns the first value.\nfunc peek",
    ),
    "rust": (
        """\
fn peek(q: &Queue) -> u8 {
    if q.empty() {
        return 0;
    }

    // between
    let x = q.head();
    return x.value;

    // TODO: later
    // return q.head().value;
}

fn clear(q: &mut Queue) {
    q.reset();
}
""",
        "fn peek",
        "/// Returns the first value.\nfn peek",
    ),
    "c": (
        """\
int peek(struct queue *q)
{
    if (!q->head)
        return 0;

    /* between */
    int x = q->head;
    return x;

    /* TODO: later */
    /* return q->head->value; */
}

void clear(struct queue *q)
{
    q->head = 0;
}
""",
        "int peek",
        "/* Returns the first value. */\nint peek",
    ),
}
RETURNS = ("return this.head?", "return self.head.", "return q.head().", "return q.head.", "return q->head->")
ASK = "Add a doc comment to peek that says it returns the first value"


def edited(language: str) -> tuple[str, str]:
    before, old, new = FILES[language]
    return before, before.replace(old, new)


def result(before: str, after: str, language: str, instruction: str = ASK) -> tuple[str, list[str]]:
    intent = intent_of(instruction, before, outline(before, language))
    spans = [(0, before.count("\n"))]
    text, _ = mended(before, after, language, intent, spans)
    return text, [each.text for each in faults(before, text, language, intent, spans)]


@pytest.mark.parametrize("language", FILES)
def test_what_is_asked_is_no_fault(language: str) -> None:
    before, after = edited(language)
    assert result(before, after, language) == (after, [])


@pytest.mark.parametrize("language", FILES)
@pytest.mark.parametrize("lost", [("between",), ("TODO", *RETURNS), ("TODO",)])
def test_a_comment_anywhere_in_the_body_comes_back(language: str, lost: tuple[str, ...]) -> None:
    before, after = edited(language)
    kept = [line for line in after.split("\n") if not any(word in line for word in lost)]
    assert result(before, "\n".join(kept), language) == (after, [])


@pytest.mark.parametrize("language", FILES)
def test_code_is_as_it_was(language: str) -> None:
    before, after = edited(language)
    spoilt = after.replace("x.value", "x.first").replace("return x;", "return x + 1;")
    assert spoilt != after
    assert result(before, spoilt, language) == (after, [])


@pytest.mark.parametrize(
    "instruction",
    [
        "Add a docstring to peek and make it return 0",
        "Add a method docs to Queue",
        "Comment out the first line of peek",
        "Let peek return the first value, and document it",
    ],
)
def test_other_instructions_may_change_code(instruction: str) -> None:
    before, after = edited("python")
    changed = after.replace("x.value", "x.first")
    assert "only documentation" not in " ".join(result(before, changed, "python", instruction)[1])
