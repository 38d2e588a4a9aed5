"""A page names its own style and script by their digests, and allows nothing else."""

import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from tagma.report import write_bench_report, write_run_report
from tests.report.report_folders import bench_folder, folder


@pytest.mark.parametrize("kind", ["run", "bench"])
def test_a_page_may_use_its_own_style_and_script_and_load_nothing(
    tmp_path: Path, kind: str
) -> None:
    path = tmp_path / kind
    made = (
        write_run_report(folder(path)) if kind == "run" else write_bench_report(bench_folder(path))
    )
    page = made.read_text(encoding="utf-8")
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    allowed = dict(part.split(" ", 1) for part in policy.split("; "))
    for tag in ("style", "script"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.S)
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert allowed.pop(f"{tag}-src") == f"'sha256-{digest}'"
        assert f"<{tag}" not in page.partition("http-equiv")[0], "the policy comes first"
        page = page.replace(text, "")
    assert allowed == dict.fromkeys(("default-src", "base-uri", "form-action"), "'none'")
    assert not re.search(r"<[^>]+ (style|on\w+)=", page), "which the policy would not let work"
