"""The reference, made from conf/, the help of the commands and docstrings."""

import inspect
import os
import re
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout, suppress
from html import escape
from importlib import import_module
from io import StringIO
from typing import Any

from tagma import _PUBLIC, rules
from tagma.choices import CONF, choices, groups
from tagma.launch import cli

CONTRACTS = {
    "attacks": ["tagma.attacks.base"],
    "algorithms": ["tagma.strategies.algorithms.algorithm", "tagma.exchange"],
    "aggregation and clustering": [
        "tagma.strategies.aggregation.rule", "tagma.strategies.aggregation.side_information",
        "tagma.strategies.clustering.clustering",
    ],
    "tasks and solvers": ["tagma.tasks.task", "tagma.tasks.stack", "tagma.client.solvers.solution"],
}  # fmt: skip
"""The modules that plugins are written against."""
SETTING = re.compile(r"^( *)([\w.]+):(?: +(?!# )(.*?))?(?: +# (.*))?$")
PARENTS = re.compile(r"^defaults: \[([^\]]*)\]", re.M)
AS_THEY_ARE = ("preset", "bench")
"""Groups whose files set what belongs to others."""


def reference_pages() -> Iterator[tuple[str, str]]:
    """Every page: its place on the site, and its Markdown."""
    yield "reference/index.md", _index()
    yield "reference/python.md", _python()
    yield "reference/rules.md", _rules()
    yield "reference/contracts.md", _contracts()
    yield "reference/commands.md", _commands()
    yield "reference/settings.md", _top_level()
    for group in groups():
        yield f"reference/{group}.md", _group(group)


def _index() -> str:
    lines = [
        "# Reference\n",
        "Made from docstrings, the help of the commands and the files in `conf/`.\n",
        "- [From Python](python.md): what `import tagma` offers",
        "- [Rules](rules.md): what `tagma.rules` offers",
        "- [What plugins are written against](contracts.md)",
        "- [Commands](commands.md)",
        "- [Settings of the top level](settings.md)",
        *(f"- [`{group}`]({group}.md): {len(choices(group))} choices" for group in groups()),
    ]
    return "\n".join(lines)


def _python() -> str:
    parts = [
        f'::: {module}.{name}\n    options:\n      heading: "tagma.{name}"\n'
        for name, module in _PUBLIC.items()
    ]
    return "# From Python\n\nHow they are used: [From Python](../python.md).\n\n" + "\n".join(parts)


def _rules() -> str:
    parts = []
    for name in sorted(rules.__all__):
        rule = getattr(rules, name)
        about = inspect.getdoc(rule) or ""
        parts.append(f"## {name}\n\n```python\n{name}{_plain(rule)}\n```\n\n{about}\n")
    start = (
        "# Rules\n\nFunctions of models, for NumPy arrays, torch tensors, state_dicts and"
        " ArrayRecords; see [Aggregators](../aggregators.md#on-models-as-you-have-them).\n\n"
    )
    return start + "\n".join(parts)


def _plain(rule: Callable[..., Any]) -> inspect.Signature:
    """Its signature without types, which for models of any kind say little."""
    whole = inspect.signature(rule)
    bare = [one.replace(annotation=one.empty) for one in whole.parameters.values()]
    return whole.replace(parameters=bare, return_annotation=whole.empty)


def _contracts() -> str:
    parts = ["# What plugins are written against\n\nSee [Extending](../extending.md).\n"]
    for title, modules in CONTRACTS.items():
        parts.append(f"## For {title}\n")
        options = "    options:\n      heading_level: 3\n      show_root_full_path: true\n"
        parts += [f"::: {module}\n{options}" for module in modules]
    return "\n".join(parts)


def _commands() -> str:
    parts = [f"# Commands\n\n```text\n{cli._HELP}\n```\n"]
    for name, module in cli._COMMANDS.items():
        parts.append(f"## tagma {name}\n\n```text\n{_help(module)}```\n")
    return "\n".join(parts)


def _help(module: str) -> str:
    os.environ["COLUMNS"] = "100"
    text = StringIO()
    with redirect_stdout(text), suppress(SystemExit):
        import_module(module).main(["--help"])
    return text.getvalue()


def _top_level() -> str:
    text = (CONF / "config.yaml").read_text(encoding="utf-8").partition("\nhydra:")[0]
    chosen = re.findall(r"^  - (\w+): (\w+) +# (.*)$", text, re.M)
    rows = [f"| [`{key}`]({key}.md) | `{value}` | {_cell(about)} |" for key, value, about in chosen]
    start = "# Settings\n\n## Groups\n\n| group | default | what it decides |\n|---|---|---|\n"
    own = text.partition("hydra/hydra_logging")[2]
    return start + "\n".join(rows) + "\n\n## Top level\n\n" + _table(settings(own))


def _group(group: str) -> str:
    parts = [f"# {group}\n"]
    for name in choices(group):
        text = (CONF / group / f"{name}.yaml").read_text(encoding="utf-8")
        parts.append(f"## {group}={name}\n\n{about(text)}\n")
        if group in AS_THEY_ARE:
            parts.append(f"```yaml\n{text}```\n")
        else:
            parts.append(_table(every_setting(group, name), f"{group}."))
    return "\n".join(parts)


def about(text: str) -> str:
    """The comment with which a file of conf/ begins."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        if not line.startswith("# @"):
            lines.append(line.removeprefix("#").strip())
    return " ".join(lines)


def every_setting(group: str, name: str) -> dict[str, tuple[str, str]]:
    """The settings of a choice and of what it is made of: default and comment by key."""
    text = (CONF / group / f"{name}.yaml").read_text(encoding="utf-8")
    found: dict[str, tuple[str, str]] = {}
    for parents in PARENTS.findall(text):
        for parent in parents.split(","):
            if parent.strip() != "_self_":
                found |= every_setting(group, parent.strip())
    return found | settings(text)


def settings(text: str) -> dict[str, tuple[str, str]]:
    """The settings of a text in YAML, by key with dots: default and comment."""
    found: dict[str, tuple[str, str]] = {}
    above: list[tuple[int, str]] = []
    for line in text.splitlines():
        match = SETTING.match(line)
        if match is None or line.lstrip().startswith(("#", "- ")) or match[2] == "defaults":
            continue
        depth, key = len(match[1]), match[2]
        above = [(one, name) for one, name in above if one < depth]
        dotted = ".".join([*(name for _, name in above), key])
        above.append((depth, key))
        found[dotted] = (match[3] or "", match[4] or "")
    return found


def _table(found: dict[str, tuple[str, str]], prefix: str = "") -> str:
    rows = [
        f"| `{prefix}{key}` | {f'`{value}`' if value else ''} | {_cell(comment)} |"
        for key, (value, comment) in found.items()
        if not key.endswith("_target_") and (value or comment)
    ]
    if not rows:
        return "It has no settings.\n"
    return "| setting | default | meaning |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def _cell(text: str) -> str:
    return escape(text, quote=False).replace("|", "\\|")
