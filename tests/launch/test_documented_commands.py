"""Every `tagma run` and `tagma compare` of the documentation: a shell can read it, as can we."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from tagma.launch.command_line import run_arguments
from tagma.settings import compose
from tests.command import tagma
from tests.conftest import SMALL

ROOT = Path(__file__).parents[2]
COMMAND = r"tagma (?:run|compare)\b[^\n`]*"


def documented() -> list[str]:
    found = set()
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        text = page.read_text().replace("\\\n", " ")
        blocks = re.findall(r"^```(?:sh|bash|console)?\n(.*?)^```", text, re.S | re.M)
        lines = [line for block in blocks for line in block.splitlines()]
        found |= {line[line.index("tagma") :] for line in lines if re.match(rf"\S*{COMMAND}", line)}
        found |= {code for code in re.findall(r"`([^`\n]+)`", text) if re.match(COMMAND, code)}
    return sorted(found)


@pytest.mark.parametrize("command", documented())
def test_a_documented_command_is_one(command):
    shell = ["bash", "-n", "-c", command]
    assert subprocess.run(shell, capture_output=True, text=True, check=False).stderr == ""
    words = run_arguments(shlex.split(command, comments=True)[2:])
    if not any(text == "-sc" or "hydra.searchpath" in text for text in words):
        compose([first_of(text) for text in words if "=" in text and "hydra." not in text])


def first_of(text: str) -> str:
    """Of the values for several runs, the first."""
    override = OverridesParser.create().parse_override(text)
    if override.is_sweep_override():
        return f"{override.key_or_group}={next(override.sweep_string_iterator())}"
    return text


def test_own_choices_work_as_documented(tmp_path):
    attacks, extending = (
        (ROOT / f"docs/{page}.md").read_text() for page in ("attacks", "extending")
    )
    code = re.findall(r"```python\n(.*?)```", attacks.partition("ten lines")[2], re.S)[0]
    (tmp_path / "mine.py").write_text(code)
    place, text = re.findall(r"`(myconf/\S+)`,\n+```yaml\n(.*?)```", extending, re.S)[0]
    (tmp_path / place).parent.mkdir(parents=True)
    (tmp_path / place).write_text(text)
    (command,) = re.findall(r"`tagma (run [^`]*attack=crowd)`", extending)
    words = shlex.split(command.replace("$PWD", str(tmp_path)))
    done = tagma(*words, *SMALL, "oracle=false", "hydra.run.dir=out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    metrics = json.loads((tmp_path / "out/metrics.json").read_text())
    assert sum(cluster["byzantine"] for cluster in metrics["clusters"]) == 6
