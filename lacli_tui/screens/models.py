"""Choose another model; the chat stays. Shows what is here, how large it is, whether it fits. Loads no model.

`ModelsScreen(current)` -> a name, or the path of a folder or .gguf file that was typed; None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual.widget import Widget
from textual.widgets import Static

from lacli.chat.fuzzy import Lines
from lacli.configuration.remotes import Remote, named
from lacli.shared.wording import size
from lacli_tui.background import BackgroundResult, error_line
from lacli_tui.glyphs import to_terminal
from lacli_tui.screens.picker import Picker
from lacli_tui.widgets.choices import Choice

if TYPE_CHECKING:
    from lacli.models.registry.fit import Fit
    from lacli.models.registry.machine import Machine
    from lacli.models.spec import ModelSpec


_BYTES_OF_A_WEIGHT = 2
"""As most are stored on the hub."""


@dataclass(frozen=True, slots=True)
class Model:
    """What is known of one."""

    name: str
    title: str
    size: str
    """Of the weights: parameters, or bytes."""
    is_here: bool
    download: int = 0
    """Bytes to fetch; 0 if it is here, or unknown."""
    is_estimate: bool = False
    """Whether that is estimated from the number of parameters."""
    arrived: int = 0
    """How much of it is here from an interrupted fetch."""
    comes_from: str = ""
    licence: str = ""
    completes: bool = False
    fit: Fit | None = None
    """None until measured."""
    remote: str = ""
    """Where it is, if it is a remote."""
    problem: str = ""


Remotes = Callable[[], Mapping[str, Remote]]


def known_models(tell: Callable[[list[Model]], None], remotes: Remotes = dict) -> list[Model]:
    """All models of the registry, and the remotes; reported as soon as they are known, returned with their measured
    needs."""
    from lacli.models.registry.machine import this_machine
    from lacli.models.registry.registry import load_registry

    specs = list(load_registry().models.values())
    models = [_model(spec) for spec in specs]
    others = [_remote(each) for each in remotes().values()]
    tell(models + others)
    machine = this_machine()
    return [_measured(spec, model, machine) for spec, model in zip(specs, models, strict=True)] + others


def remote_of(name: str, remotes: Remotes) -> Model:
    """What is known of one remote. Raises LacliError if there is none of this name."""
    return _remote(named(name, remotes()))


def model_of(name: str | None) -> Model:
    """All that is known of one model. Raises LacliError if there is no such model."""
    from lacli.models.registry.machine import this_machine
    from lacli.models.registry.registry import load_registry

    spec = load_registry().resolve(name)
    return _measured(spec, _model(spec), this_machine())


def to_fetch(model: Model) -> str:
    """The question to ask before a model is fetched; empty if it is here."""
    if model.is_here or not model.comes_from:
        return ""
    about_ = "about " if model.is_estimate else ""
    amount = f"{about_}{size(model.download)} are fetched" if model.download else "it is fetched"
    lines = [f"{model.name} is not on this computer: {amount} from {model.comes_from}, and prepared once."]
    if model.arrived:
        lines.append(f"{size(model.arrived)} have arrived before.")
    if model.fit is not None:
        fit = model.fit
        measured = "" if fit.measured else "about "
        rest = "" if fit.fits else ": it does not fit"
        lines.append(f"It takes {measured}{size(fit.needed)} of memory; {size(fit.free)} are free{rest}.")
    return "\n".join(lines)


def _measured(spec: ModelSpec, model: Model, machine: Machine) -> Model:
    from lacli.models.registry.fit import fit

    try:
        return replace(model, fit=fit(spec, machine=machine))
    except Exception as error:  # one that cannot be measured is shown with the reason
        return replace(model, problem=str(error))


def _model(spec: ModelSpec) -> Model:
    from lacli.models.registry.inventory import presence

    count = spec.parameters
    name = f"{count / 1e9:.1f}B" if count >= 1e9 else f"{count / 1e6:.0f}M" if count else ""
    source = spec.sources[0] if spec.sources else None
    here = presence(spec)
    is_here = here.ready
    bytes_ = 0 if is_here or source is None else source.download
    whole = _BYTES_OF_A_WEIGHT * count if not is_here and source is not None else 0
    comes_from = "" if source is None else f"the hub, {source.repo}" if source.place == "hub" else "the package index"
    return Model(
        name=spec.alias,
        title=spec.title,
        size=name,
        is_here=is_here,
        download=bytes_ or whole,
        is_estimate=not bytes_,
        arrived=here.arrived,
        comes_from=comes_from,
        licence=spec.licence,
        completes=spec.fim is not None,
    )


def _remote(remote: Remote) -> Model:
    model = f"{remote.model}, " if remote.model else ""
    return Model(
        name=remote.title,
        title=f"{model}at {remote.host}",
        size="",
        is_here=True,
        remote=remote.host,
    )


class ModelsScreen(Picker):
    TITLE = "Models"
    PLACEHOLDER = "a name, or the path of a folder or .gguf file"
    DEFAULT_CSS = """
    ModelsScreen > #frame > #about { height: auto; min-height: 3; color: $text-muted; margin: 1 0 0 0; }
    ModelsScreen.-low > #frame > #about { margin: 0; min-height: 2; max-height: 3; }
    """

    def __init__(
        self,
        current: str = "",
        models: Callable[[Callable[[list[Model]], None]], list[Model]] = known_models,
        marked: str = "",
    ) -> None:
        """`marked` is marked at first, or else the current one."""
        super().__init__()
        self._first = marked or current
        self._current = current
        self._models = models
        self._known: list[Model] = []

    def body(self) -> Iterable[Widget]:
        yield from super().body()
        yield Static(id="about", markup=False)

    def on_mount(self) -> None:
        self.background.run("models", lambda: self._models(lambda found: self.background.report("models", found)))

    def on_background_result(self, result: BackgroundResult) -> None:
        if result.error is not None:
            self.show_notice(error_line(result.error))
            self.choices.show([], "the models cannot be listed")
            return
        self._known = list(result.value)  # type: ignore[call-overload]  # what `known_models` returns
        self.search(self.query_text)

    def search(self, query: str) -> None:
        if not self._known:
            return
        marked = self.choices.current
        by_name = {model.name: model for model in self._known}
        fits, _ = Lines(list(by_name)).search(query)
        found = [_choice(by_name[each.text], each.marks, self._current) for each in fits]
        path = query.strip()
        if path.startswith((".", "/", "~")) or path.lower().endswith(".gguf"):
            found.insert(0, Choice(path, path, (("a path", "dim"),), keeps_end=True))
        key = self._first if marked is None else "" if query else marked.key
        self.choices.show(found, "no model fits; a path begins with . / or ~", key)

    def marked(self, choice: Choice | None) -> None:
        model = next((each for each in self._known if choice and each.name == choice.key), None)
        self.query_one("#about", Static).update("" if model is None else to_terminal(about(model)))


def _choice(model: Model, marks: tuple[int, ...], current: str) -> Choice:
    if model.remote:
        mine = ("in use" if model.name == current else "", "$accent")
        return Choice(model.name, model.name, (("a remote", "$text-warning"), mine), marks=marks)
    if model.fit is None:
        fits = ("…" if not model.problem else "?", "dim")
    else:
        fits = ("fits", "$success") if model.fit.fits else ("too large", "$error")
    fetch = f"fetch {'≈ ' if model.is_estimate else ''}{size(model.download)}" if model.download else "to fetch"
    here = ("here", "$success") if model.is_here else (fetch, "dim")
    mine = ("in use" if model.name == current else "", "$accent")
    return Choice(model.name, model.name, (fits, here, (model.size, "dim"), mine), marks=marks)


def about(model: Model) -> str:
    """What a model is and needs, in two lines; if it is not here, what fetching it takes in a third."""
    if model.remote:
        return f"{model.title}\nwhat is asked is sent to {model.remote}"
    parts = [model.title, model.licence, "completes code" if model.completes else ""]
    first = " · ".join(filter(None, parts))
    if model.download:
        about_ = "about " if model.is_estimate else ""
        first += f"\nnot here: {about_}{size(model.download)} are fetched from {model.comes_from}"
    if model.problem:
        return f"{first}\n{model.problem}"
    fit = model.fit
    if fit is None:
        return f"{first}\nlooking how much memory is free …"
    about_ = "" if fit.measured else "about "
    need = f"{fit.quant} on {fit.device}: needs {about_}{size(fit.needed)}, {size(fit.free)} of {size(fit.total)} free"
    if not fit.fits and fit.most_context:
        need += f"; fits with a context of {fit.most_context:,}"
    return f"{first}\n{need}"
