"""Hydra finds what packages offer beside the files of conf/: this makes it look there.

Both classes are registered with Hydra when this module is imported.
"""

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.object_type import ObjectType
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigLoadError, ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import OmegaConf

from tagma.choices import offered
from tagma.entry_points import DECLARED

_SCHEME = "tagma-offers"


class OfferedChoices(ConfigSource):
    """Choices that packages offer; which there are is known without importing them."""

    @staticmethod
    def scheme() -> str:
        """What the source is called in Hydra's search path."""
        return _SCHEME

    def load_config(self, config_path: str) -> ConfigResult:
        """The settings of a choice; now its package is imported."""
        group, _, name = config_path.removesuffix(".yaml").partition("/")
        if (offer := offered(group).get(name)) is None:
            raise ConfigLoadError(f"{config_path}: no package offers it")
        text = offer.configuration()
        return ConfigResult(
            provider=self.provider,
            path=f"{self.scheme()}://{offer.package}",
            config=OmegaConf.create(text),
            header=self._get_header_dict(text),
        )

    def is_group(self, config_path: str) -> bool:
        """Whether packages may offer something for it."""
        return config_path in ("", *DECLARED)

    def is_config(self, config_path: str) -> bool:
        """Whether a package offers it."""
        group, _, name = config_path.removesuffix(".yaml").partition("/")
        return group in DECLARED and name in offered(group)

    def available(self) -> bool:
        """Always."""
        return True

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        """The names in a group."""
        if config_path == "":
            return [] if results_filter is ObjectType.CONFIG else sorted(DECLARED)
        if results_filter is ObjectType.GROUP or config_path not in DECLARED:
            return []
        return sorted(offered(config_path))


class OfferedSearchPath(SearchPathPlugin):
    """Puts them behind conf/, so that a name of ours is ours."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Hydra asks when it makes its search path."""
        search_path.append(provider="packages", path=f"{_SCHEME}://")


for _plugin in (OfferedChoices, OfferedSearchPath):
    Plugins.instance().register(_plugin)
