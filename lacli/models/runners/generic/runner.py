"""The generic runner: any stock transformers decoder through its public interfaces, and how such a model is loaded.

The only caller of a transformers forward. It hands the model our cache (`cache`), a four-dimensional additive
mask per kind of layer, positions, and the rows whose logits are wanted; it replaces no code of the model, only its
linear layers by row-exact ones. Rotary embeddings that depend on the length are `rope`'s.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import CacheLayerMixin, DynamicCache

from lacli.errors import LacliError, ModelUnavailable, OutOfMemory
from lacli.kernels.library import library
from lacli.models.base import Quant, Rows, Scores, nothing_to_prefill
from lacli.models.prepare.positions import most_positions
from lacli.models.runners.blame import is_own_bug
from lacli.models.runners.generic.cache import BranchPast, Past, RecurrentPast, StatePast
from lacli.models.runners.generic.load import load_model
from lacli.models.runners.generic.mask import LayerMasks
from lacli.models.runners.generic.rope import RopeSwitch
from lacli.models.runners.quant import PackedLinear
from lacli.models.runners.scores import scores_of

if TYPE_CHECKING:
    from lacli.models.prepare.prepare import PreparedModel

PREFILL_CHUNK = 64
"""Rows of a prefill forward: the most for which the linears are tested to be exact by row."""

_PLAIN = "this model cannot check guesses side by side, so it is decoded one token at a time"
_UNBOUNDED = 1 << 20  # context of models that name none (recurrent ones)


def load_generic(
    prepared: PreparedModel, *, quant: Quant, device: str = "cpu", context: int | None = None, spread: bool = False
) -> GenericRunner:
    """Load any decoder that transformers knows; raises LacliError subclasses.

    float32 on a CPU, bfloat16 on CUDA. int8 on CUDA is bitsandbytes'. A model that reaches into the weights of its own
    layers cannot have them quantised or replaced; it is loaded as it is, with a note. spread: over all cards.
    """
    model, notes = load_model(prepared, quant, device, spread=spread)
    try:
        return GenericRunner(model, context, notes)
    except (ModelUnavailable, OutOfMemory):
        raise
    except LacliError:
        if not prepared.float_files:
            raise
        model, notes = load_model(prepared, "none", device, touch_layers=False, spread=spread)
        if quant != "none":
            notes = (*notes, f"the layers of this model cannot be quantised to {quant}, so it runs as it is")
        return GenericRunner(model, context, notes)


class GenericRunner:
    """Implements `base.Runner` over a stock causal model.

    The ids given are the truth; what the model remembers of them is a `Past` that is brought up to date when needed.
    So a model whose state cannot go back, or whose keys become void at some length, needs no special case in the
    engine: it costs time, never text.
    """

    def __init__(self, model: PreTrainedModel, context_size: int | None = None, notes: Sequence[str] = ()) -> None:
        self._model = model.eval().requires_grad_(False)
        self._config = model.config.get_text_config(decoder=True)
        parameters = inspect.signature(model.forward).parameters
        # transformers < 5.24 swallows `cache=` without a word, later ones deprecate the older name.
        self._cache_name = next((name for name in ("cache", "state") if name in parameters), "past_key_values")
        if self._cache_name not in parameters or self._config.is_encoder_decoder:
            raise ModelUnavailable(
                f"{type(model).__name__} is no decoder with a cache that lacli can drive",
                "choose a decoder-only language model",
            )
        self._logits_to_keep = "logits_to_keep" in parameters
        self._takes_positions = "position_ids" in parameters
        self._rope = RopeSwitch(model, self._config)
        self._masks = LayerMasks.of(self._config)
        self.context_size = context_size or most_positions(self._config.to_dict()) or _UNBOUNDED
        self.vocab_size = int(self._config.vocab_size)
        packed = any(isinstance(module, PackedLinear) for module in model.modules())
        kernels = library() if packed else None
        self.kernel = kernels.isa if kernels is not None else "torch"
        self._token_ids: list[int] = []
        self._pasts: list[Past] = []
        self._ran: list[tuple[Past, dict[int, int]]] = []  # pasts of the last forward: row -> its row there
        self._rows = Rows((), (), ())
        with _translated():
            self.can_branch = self._try_branching()
        self.notes = tuple(notes) if self.can_branch else (*notes, _PLAIN)
        """What the user should know of this model, a line each."""
        self._reset()

    @property
    def length(self) -> int:
        """Token positions in the KV cache."""
        return len(self._token_ids)

    @torch.no_grad()
    def prefill(self, token_ids: Sequence[int], on_chunk: Callable[[int], bool] | None = None) -> Scores | None:
        """See `base.Runner.prefill`."""
        if not token_ids:
            raise nothing_to_prefill()
        start = self.length
        sequence = [*self._token_ids, *token_ids]
        past = self._pasts[self._rope.regime(len(sequence))]
        span = self._rope.prompt_span(len(sequence))
        past.settle()
        if past.whole_prompt or past.span != span or (span and not self._rope.rebuilds):
            past.truncate(0)
        past.span = span
        logits = None
        with _translated():
            while past.filled < len(sequence):
                logits = self._extend(past, sequence)
                self._token_ids += sequence[self.length : past.filled]
                if on_chunk is not None and not on_chunk(max(past.filled - start, 0)):
                    return None
        assert logits is not None
        return scores_of(logits)

    @torch.no_grad()
    def forward(self, rows: Rows) -> Scores:
        """See `base.Runner.forward`."""
        count = len(rows.token_ids)
        if count > 1 and not self.can_branch:
            raise LacliError("this model cannot check several guesses at once", "use --no-lookahead")
        self._rows, self._ran = rows, []
        regimes = [self._rope.regime(self.length + depth + 1) for depth in rows.depths()]
        found: dict[int, Tensor] = {}
        with _translated():
            for regime in sorted(set(regimes)):
                # Rows of a later kind stand on ancestors of the same kind, so those are run once more with them.
                chosen = [row for row in range(count) if regimes[row] <= regime]
                wanted = [row for row in rows.wanted if regimes[row] == regime]
                places = {row: place for place, row in enumerate(chosen)}
                past = self._up_to_date(regime)
                parents = [places.get(rows.parents[row], -1) for row in chosen]
                ids = [rows.token_ids[row] for row in chosen]
                logits = self._run(past, ids, parents, [places[row] for row in wanted] or [0])
                found.update(zip(wanted, logits, strict=False))
                self._ran.append((past, places))
        return scores_of(torch.stack([found[row] for row in rows.wanted]))

    @torch.no_grad()
    def keep(self, path: Sequence[int]) -> None:
        """See `base.Runner.keep`."""
        for past, places in self._ran:
            past.keep([places[row] for row in path if row in places])
        self._ran = []
        self._token_ids += [self._rows.token_ids[row] for row in path]

    def truncate(self, length: int) -> None:
        """See `base.Runner.truncate`."""
        self._ran = []
        del self._token_ids[length:]
        for past in self._pasts:
            past.truncate(length)

    @property
    def cache_bytes(self) -> int:
        """Bytes of the KV cache."""
        return sum(past.nbytes for past in self._pasts)

    def _reset(self) -> None:
        self._token_ids, self._ran = [], []
        count = 2 if self._rope.rebuilds else 1
        self._pasts = [self._new_past() for _ in range(count)]

    def _new_past(self) -> Past:
        if self.can_branch:
            return BranchPast()
        return StatePast(self._config) if self._cache_name == "state" else RecurrentPast(self._config)

    def _up_to_date(self, regime: int) -> Past:
        """The past for rows of this regime, with the tokens it lacks filled in."""
        past = self._pasts[regime]
        past.settle()
        if regime and past.span == 0:
            past.truncate(0)
            past.span = self._rope.long_span  # whatever the kept length: a guess may be the first beyond the switch
        while past.filled < self.length:
            self._extend(past, self._token_ids)
        return past

    def _extend(self, past: Past, sequence: Sequence[int]) -> Tensor:
        """Add the next chunk of `sequence`; return the logits of its last row, [1, vocab]."""
        end = len(sequence) if past.whole_prompt else min(len(sequence), past.filled + PREFILL_CHUNK)
        chunk = sequence[past.filled : end]
        self._rope.span = past.span
        logits = self._call(past, chunk, range(-1, len(chunk) - 1), [len(chunk) - 1])
        past.keep(range(len(chunk)))
        return logits

    def _run(self, past: Past, token_ids: Sequence[int], parents: Sequence[int], wanted: Sequence[int]) -> Tensor:
        """One forward over a tree: each row rotated for its own length, unless the whole past is of one kind."""
        self._rope.span = past.span if self._rope.rebuilds else 0
        return self._call(past, token_ids, parents, wanted)

    def _call(self, past: Past, token_ids: Sequence[int], parents: Sequence[int], wanted: Sequence[int]) -> Tensor:
        """The model's forward; logits [wanted, vocab] in float32, or float64 where the model computes in that."""
        cache = past.begin()
        start = past.filled
        device = self._model.device
        inputs: dict[str, Any] = {
            "input_ids": torch.tensor([token_ids], device=device),
            self._cache_name: cache,
            "use_cache": True,
        }
        if not past.whole_prompt:
            assert self._masks is not None
            rows = Rows(tuple(token_ids), tuple(parents), ())
            positions = [start + depth for depth in rows.depths()]
            inputs["attention_mask"] = self._masks.build(start, positions, parents, self._model.dtype, device)
            if self._takes_positions:
                inputs["position_ids"] = torch.tensor([positions], device=device)
        if self._logits_to_keep:
            inputs["logits_to_keep"] = torch.tensor(wanted, device=device)
        output = self._model(**inputs)
        past.check(len(token_ids), output)
        logits = output.logits[0]
        if not self._logits_to_keep:
            logits = logits[list(wanted)]
        return logits if logits.dtype == torch.float64 else logits.to(torch.float32)

    @torch.no_grad()
    def _try_branching(self) -> bool:
        """Ask the model once whether guessed siblings leave a row alone, and whether it can be decoded by steps."""
        token_ids = [(7 * index + 3) % self.vocab_size for index in range(6)]
        junk = (token_ids[-1] + 1) % self.vocab_size
        whole = self._model(input_ids=torch.tensor([token_ids], device=self._model.device), use_cache=False).logits[
            0, -1
        ]
        self.vocab_size = whole.shape[-1]
        for branches in (True, False):
            if branches and (self._masks is None or not _attends_only(self._model, self._config)):
                continue
            self.can_branch = branches
            self._reset()
            tree = Rows((token_ids[3], junk, token_ids[4], junk, token_ids[5]), (-1, 0, 0, 1, 2), (0, 4))
            steps = [tree] if branches else [Rows((token_id,), (-1,), (0,)) for token_id in token_ids[3:]]
            try:
                self.prefill(token_ids[:3])
                for step in steps:
                    last = self.forward(step).logits[-1]
                    self.keep([0])
            except torch.OutOfMemoryError:
                raise
            except (RuntimeError, ValueError, TypeError, KeyError, IndexError, AttributeError, LacliError) as error:
                if is_own_bug(error):
                    raise
                continue
            if _same(last, whole):
                return branches
        raise ModelUnavailable(
            f"{type(self._model).__name__} gives other logits step by step than at once, so lacli cannot drive it",
            "choose another model",
        )


def _attends_only(model: PreTrainedModel, config: Any) -> bool:
    """False where some layer carries a state from row to row instead of keys."""
    layers = DynamicCache(config=config).layers
    return not model._is_stateful and all(isinstance(layer, CacheLayerMixin) for layer in layers)


def _same(logits: Tensor, expected: Tensor) -> bool:
    """Equal up to the rounding of the dtype; a wrong mask or position moves far more."""
    tolerance = 1e-3 if expected.dtype in (torch.float32, torch.float64) else 5e-2
    expected = expected.to(logits.dtype)
    return bool((logits - expected).norm() <= tolerance * expected.norm())


@contextmanager
def _translated() -> Iterator[None]:
    """Errors of the model's forward as errors of ours; bugs of our own stay what they are."""
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise OutOfMemory(
            "the device ran out of memory in a forward pass", "use a smaller model or context, or --quant int4"
        ) from error
    except (RuntimeError, AttributeError, TypeError) as error:
        if is_own_bug(error):
            raise
        first_line = str(error).strip().split("\n")[0]
        raise LacliError(
            f"the model's forward pass failed: {first_line}", "try --quant none, or another model"
        ) from error
