"""Settings that are none, as a user or a stranger's folder may say them: one line, or settings."""

from pathlib import Path

from hypothesis import strategies as st

from tagma.choices import choices, groups
from tagma.override import key_of
from tagma.run_settings import check_trust
from tagma.settings import GROUPS, Settings, compose, settings_from
from tests.mutations import EXAMPLES, tried

_KEYS = [*GROUPS, *Settings.model_fields, "preset", "hydra", "hydra.searchpath", "hydra.run.dir"]
_NAMES = [name for group in groups() for name in choices(group)]
_PARTS = ["_target_", "clients", "k", "pre", "fraction", "step", "data", "a", "", "0", "defaults"]
_VALUES = [
    "null", "true", "1", "-1", "1e400", "nan", "inf", "[1,2]", "{a: 1}", "{_target_: os.system}",
    "[", "]", "{", "'", '"', "'a", "${seed}", "${", "${oc.env:HOME}", "${a.b:c}", "${seed", "$",
    "???", "1,2", "range(3)", "choice(1,2)", "shuffle(range(1,9))", "int(1)", "int(x)", "str([1])",
    "sort(3,1)", "glob(*)", "interval(0,1)", "tag(a,1)", "json_str(1)", "a=b", "=", "\\", "\\'",
    "\n", "\t", " ", "\x00", "é", "🙂", "../..", "/etc/passwd", "@", "~", "+", ":", "#", "!!a b",
    "&a", "*a", "9" * 5000, "[" * 60, "{a:" * 60, "0x1", "1_0", "00", "1:2:3", ".5", "-", "--",
]  # fmt: skip
_key = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "+", "++", "~", "+~", " "]),
    st.sampled_from(_KEYS) | st.sampled_from(_NAMES) | st.text(max_size=4),
    st.sampled_from(["", ".", "/", "@", "@_global_", ":", "@a:b"]),
    st.sampled_from(_PARTS) | st.text(max_size=3),
)
_value = st.one_of(
    st.sampled_from(_VALUES), st.sampled_from(_NAMES), st.text(max_size=8),
    st.lists(st.sampled_from(_VALUES), min_size=2, max_size=4).map("".join),
)  # fmt: skip
_override = st.one_of(
    st.builds("{}={}".format, _key, _value), _key, _value, st.text(max_size=12),
    st.builds("{}={}".format, st.sampled_from(GROUPS), st.sampled_from(_NAMES)),
)  # fmt: skip
OVERRIDES = st.lists(_override, min_size=1, max_size=3)


@EXAMPLES
def test_any_settings_are_composed_or_refused_in_one_line(examples):
    tried(OVERRIDES, 60 * examples, compose)


@EXAMPLES
def test_any_settings_of_a_stranger_are_checked_or_refused_in_one_line(examples):
    def check(overrides):
        check_trust(Path("run"), overrides, trust=False)
        assert "hydra.searchpath" not in map(key_of, overrides)

    tried(OVERRIDES, 40 * examples, check)


@EXAMPLES
def test_any_text_of_an_app_is_composed_or_refused_in_one_line(examples):
    tried(st.text(max_size=20) | OVERRIDES.map(" ".join), 20 * examples, settings_from)
