"""From Hydra overrides to checked settings, the same in every process of a run.

Server and clients receive the overrides only and compose conf/ themselves, so a run is described by
one short string. Hydra keeps its state in a process-wide singleton: composition is guarded by a
lock and cached.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le
from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import BaseModel, ConfigDict

from tagma import offered_choices  # noqa: F401 (Hydra shall know them)
from tagma.choices import CONF, choices
from tagma.errors import SettingError, TagmaError
from tagma.kept import kept
from tagma.override import key_of, with_new_settings
from tagma.override_hints import hint
from tagma.plugins import TARGET, checked, unknown

GROUPS = (
    "task", "model", "solver", "strategy", "clustering", "aggregation", "optimiser", "training",
    "attack", "engine", "tracking",
)  # fmt: skip
RENAMED = {
    "task.machines": "task.clients",
    "task.hidden": "model.hidden",
    "attack.machines": "attack.clients",
    "clustering.assumed_fraction": "clustering.fraction",
    "quarantine": "strategy.quarantine",
    "readmission": "strategy.readmission",
    "reply_check": "strategy.reply_check",
    "spectral_filter": "strategy.spectral_filter",
}
"""Keys of earlier versions, and what they are called now."""
_TRAINED = {"solver": ".sgd.sgd", "optimiser": ".AverageModels"}
"""What the targets of these groups end in, where clients train models."""
_HYDRAS = ("hydra.searchpath",)
_LOCK = Lock()
_ADOPTED: "dict[tuple[str, ...], Settings]" = {}


class Sampling(BaseModel):
    """Who takes part in a round."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    fraction: Annotated[float, Gt(0), Le(1)]


class Personalise(BaseModel):
    """What a client makes of the models that it is served."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    steps: Annotated[int, Ge(0)]
    choose: bool


class Settings(BaseModel):
    """The composed configuration: top-level values as attributes, groups as mappings.

    Compared and hashed by identity: parts that are built once per run are cached by it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    rounds: Annotated[int, Ge(0)]
    seed: Annotated[int, Ge(0)]
    evaluate: bool
    evaluate_every: Annotated[int, Ge(0)] | None
    oracle: bool
    start_timeout: Annotated[float, Gt(0)]
    round_timeout: Annotated[float, Gt(0)]
    quorum: Annotated[float, Ge(0), Le(1)]
    quorum_timeout: Annotated[float, Ge(0)]
    min_replies: Annotated[int, Ge(1)]
    sampling: "Sampling"
    absence: Mapping[str, Any]
    personalise: "Personalise"
    usual: Mapping[str, Any]
    device: Literal["cpu", "cuda", "auto"]
    live: bool
    pause: Annotated[float, Ge(0), Le(86_400)]
    checkpoint_every: Annotated[int, Ge(0)]
    resume: bool
    output: str | None
    groups: Mapping[str, Mapping[str, Any]]
    overrides: tuple[str, ...]

    def choice(self, group: str) -> Mapping[str, Any]:
        """The settings of one group, for example `choice("task")`."""
        return self.groups[group]

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


def compose(overrides: Sequence[str]) -> Settings:
    """Compose and check, once per process; every mistake is a one-line `TagmaError`.

    Of Hydra's own settings only `hydra.searchpath` says what is composed; others are left out.
    """
    key = _ours(overrides)
    return _ADOPTED.get(key) or _compose(key)


def composed(overrides: Sequence[str]) -> DictConfig:
    """The same before anything in it is resolved or checked."""
    return _composed(_ours(overrides))


def _ours(overrides: Sequence[str]) -> tuple[str, ...]:
    return tuple(text for text in overrides if key_of(text) in _HYDRAS or not _is_hydras(text))


def _is_hydras(text: str) -> bool:
    return key_of(text).partition(".")[0].partition("/")[0] == "hydra"


def compose_seeds(overrides: Sequence[str], seeds: Sequence[int]) -> list[Settings]:
    """The settings for every seed, at the price of composing once."""
    config = _composed(tuple(overrides))
    found = []
    for seed in seeds:
        config.seed = seed
        found.append(from_config(config, (*overrides, f"seed={seed}")))
    return found


def adopt(settings: Settings) -> None:
    """Let this process use settings that another one has composed, until it adopts others."""
    _ADOPTED.clear()
    _ADOPTED[settings.overrides] = settings


@kept(maxsize=256)
def _compose(overrides: tuple[str, ...]) -> Settings:
    return from_config(_composed(overrides), overrides)


def _composed(overrides: tuple[str, ...]) -> DictConfig:
    for text in overrides:
        if (new := RENAMED.get(key_of(text))) is not None:
            raise TagmaError(f"{text}: is called {new} now")
    with _LOCK, _own_hydra(), _not_too_deep():
        try:
            return hydra_compose("config", with_new_settings(_with_fitting_preset(overrides)))
        except (HydraException, ValueError, OSError) as error:  # for a key that is empty or long
            raise explain(error, overrides) from None


def with_fitting_preset(overrides: Sequence[str]) -> Sequence[str]:
    """The same with the preset that fits the task, where the chosen one names another for it."""
    with _LOCK, _own_hydra():
        try:
            return _with_fitting_preset(overrides)
        except (HydraException, ValueError, OSError):  # which say more where all is composed
            return overrides


def _with_fitting_preset(overrides: Sequence[str]) -> Sequence[str]:
    """The same with the preset that the chosen one names for clients that train models, if they do.

    They do if round 1 is stochastic descent from the initial model and updates are trained models.
    """
    if all(key_of(text) != "preset" for text in overrides):
        return overrides
    config = hydra_compose("config", with_new_settings([t for t in overrides if _chooses(t)]))
    instead = OmegaConf.select(config, "usual.trained")
    if instead is None or not all(
        str(OmegaConf.select(config, f"{group}.{TARGET}")).endswith(end)
        for group, end in _TRAINED.items()
    ):
        return overrides
    return [*(text for text in overrides if key_of(text) != "preset"), f"preset={instead}"]


def _chooses(override: str) -> bool:
    key = key_of(override)
    return key in (*GROUPS, *_HYDRAS, "preset", "usual.trained") or key.endswith(f".{TARGET}")


@contextmanager
def _not_too_deep() -> Iterator[None]:
    try:
        yield
    except RecursionError:
        raise TagmaError("the settings are nested too deeply") from None


@contextmanager
def _own_hydra() -> Iterator[None]:
    """Hydra on conf/, also when this process is inside `hydra.main` already."""
    outer = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(CONF), version_base="1.3"):
            yield
    finally:
        if outer is not None:
            GlobalHydra.instance().initialize(outer)


def from_config(config: DictConfig, overrides: Sequence[str]) -> Settings:
    """Check a configuration that Hydra has composed."""
    with _not_too_deep():
        return _from_config(config, overrides)


def _from_config(config: DictConfig, overrides: Sequence[str]) -> Settings:
    try:
        plain: dict[str, Any] = OmegaConf.to_container(config, resolve=True)  # type: ignore[assignment]
    except OmegaConfBaseException as error:
        raise TagmaError(_first_line(error)) from None
    groups = {key: plain.pop(key, None) for key in GROUPS}
    for group, value in groups.items():
        if not isinstance(value, dict):
            raise SettingError(
                group, value, f"must be one of {', '.join(choices(group, overrides))}"
            )
        # What has no default is missing until somebody gives it.
        groups[group] = {k: v for k, v in value.items() if v != "???" or k == TARGET}
    return checked(Settings, "", plain, groups=groups, overrides=tuple(overrides))


@kept(maxsize=32)
def settings_from(text: str) -> Settings:
    """The settings of a Flower run, from its run configuration's `overrides`."""
    return compose(split_overrides(text))


def join_overrides(overrides: Sequence[str]) -> str:
    """The overrides as the one string that a Flower run configuration carries."""
    return shlex.join(overrides)


def split_overrides(text: str) -> list[str]:
    """The inverse of `join_overrides`."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise TagmaError(f"overrides={text!r}: cannot be split ({error})") from None


def explain(error: Exception, overrides: Sequence[str]) -> TagmaError:
    """Hydra's error as one line that names the override, and what would be allowed."""
    if (about := hint(overrides, error)) is not None:
        return TagmaError(about)
    for text in overrides:
        key = key_of(text)
        if f"'{key}'" in _first_line(error):
            return TagmaError(f"{text}: {unknown(key, _known_keys(overrides, key))}")
    return TagmaError(_first_line(error))


def explain_outside(error: HydraException, overrides: Sequence[str]) -> TagmaError:
    """The same for an error that arose outside of `compose`."""
    with _LOCK, _own_hydra():
        return explain(error, overrides)


def is_setting(key: str) -> bool:
    """Whether a key looks like one of the configuration: a group, a value, or a part of a group."""
    top = key.partition(".")[0]
    if top != key:
        return top in GROUPS
    return key in GROUPS or key == "preset" or key in Settings.model_fields


def _known_keys(overrides: Sequence[str], wrong: str) -> list[str]:
    """The keys beside a wrong one, under the choices of the other overrides."""
    group = wrong.rpartition(".")[0]
    keys = {text: text.partition("=")[0] for text in overrides}
    chosen = [
        text
        for text, key in keys.items()
        if key in _HYDRAS or (key.isidentifier() and choices(key, overrides))
    ]
    try:
        config = hydra_compose("config", chosen)
    except HydraException:
        return []
    node = OmegaConf.select(config, group) if group else config
    if not OmegaConf.is_dict(node):
        return sorted(str(key) for key in config)
    known = [f"{group}.{key!s}" if group else str(key) for key in node if key != "_target_"]
    return known if group else [*known, "preset"]


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
