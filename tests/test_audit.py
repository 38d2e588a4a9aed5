"""`.ci/audit`: what it says of the report of its tool, which is a stand-in here."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FINE = {"name": "scipy", "version": "1.13", "vulns": []}
BAD = {"id": "PYSEC-1", "fix_versions": ["2.1"]}
UNKNOWN = {"name": "numpy", "skip_reason": "not found"}
SKIPPED = "audit: SKIPPED: advisories cannot be had here\n"


@pytest.mark.parametrize(
    ("packages", "code", "said"),
    [
        ([FINE, UNKNOWN], 0, "audit: 1 of 2 packages, 0 known vulnerabilities\n"),
        (
            [FINE | {"vulns": [BAD]}], 1,
            "audit: scipy 1.13: PYSEC-1, mended in 2.1\n"
            "audit: 1 of 1 packages, 1 known vulnerabilities\n",
        ),
        ([UNKNOWN, UNKNOWN], 0, SKIPPED),
        ([], 0, SKIPPED),
        (None, 0, SKIPPED),
    ],
)  # fmt: skip
def test_the_audit_fails_by_vulnerabilities_and_not_by_lack_of_advisories(
    packages, code, said, tmp_path
):
    (tmp_path / "bin").mkdir()
    (tmp_path / ".installed").touch()
    tool = tmp_path / "bin/pip-audit"
    report = json.dumps({"dependencies": packages})
    last = "sys.exit(1)" if packages is None else (
        f"open(sys.argv[sys.argv.index('--output') + 1], 'w').write({report!r})"
    )  # fmt: skip
    tool.write_text(f"#!{sys.executable}\nimport sys\n{last}\n")
    tool.chmod(0o755)
    done = subprocess.run(
        [ROOT / ".ci/audit"], env=os.environ | {"TOOLS": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (code, said)
