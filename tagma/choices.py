"""The choices of every group: ours in conf/, those of packages, and the user's own.

Packages offer them as entry points (`entry_points.py`); the user's own are where `hydra.searchpath`
says. Of two by one name, that which comes first here is taken.
"""

from collections.abc import Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException

from tagma import conf
from tagma.entry_points import Offer, offers
from tagma.errors import TagmaError
from tagma.override import key_of

CONF = Path(conf.__file__).parent
SEARCHPATH = "hydra.searchpath"


def groups() -> list[str]:
    """The groups that there are to choose from."""
    return sorted(place.name for place in CONF.iterdir() if place.is_dir() and _is_group(place))


def choices(group: str, overrides: Sequence[str] = ()) -> list[str]:
    """The names that a group offers; files whose name begins with _ are parts of others."""
    found = {
        file.name.removesuffix(".yaml")
        for folder in folders(overrides)
        if (folder / group).is_dir()
        for file in (folder / group).iterdir()
        if file.name.endswith(".yaml") and not file.name.startswith("_")
    }
    return sorted(found | offered(group).keys())


def offered(group: str) -> dict[str, Offer]:
    """What packages offer for a group, by name: what is as it should be, and not ours already."""
    first: dict[str, Offer] = {}
    for offer in offers(group):
        if _refused(offer) is None:
            first.setdefault(offer.name, offer)
    return first


def not_offered(group: str) -> list[str]:
    """A line for everything that packages offer and nobody can choose."""
    first = offered(group)
    return [
        f"{offer.package} offers {offer.name!r:.100} for {group}; it cannot be chosen: {why}"
        for offer in offers(group)
        if (why := _refused(offer) or _other(offer, first[offer.name])) is not None
    ]


def _refused(offer: Offer) -> str | None:
    ours = (CONF / offer.group / f"{offer.name}.yaml").is_file
    return offer.fault or ("Tagma has a choice of this name" if ours() else None)


def _other(offer: Offer, first: Offer) -> str | None:
    return None if offer == first else f"{first.package} has one by this name, too"


def text_of(group: str, name: str, overrides: Sequence[str] = ()) -> str:
    """What the file of a choice says; that of a package's is made from its signature."""
    if (offer := offered(group).get(name)) is not None:
        return offer.configuration()
    return file_of(group, name, overrides).read_text(encoding="utf-8")


def file_of(group: str, name: str, overrides: Sequence[str] = ()) -> Traversable:
    """The file of a choice; of two by one name, the one that Hydra takes."""
    places = [folder / group / f"{name}.yaml" for folder in folders(overrides)]
    return next((file for file in places if file.is_file()), places[0])


def folders(overrides: Sequence[str] = ()) -> list[Traversable]:
    """Where choices are looked for, in Hydra's order: conf/, then the user's own places."""
    texts = [text for text in overrides if key_of(text) == SEARCHPATH]
    return [CONF, *(_folder(place, text) for text in texts for place in _places(text))]


def _places(text: str) -> list[str]:
    try:
        value = OverridesParser.create().parse_override(text).value()
    except HydraException:
        value = None
    if not isinstance(value, list) or not all(isinstance(place, str) for place in value):
        raise TagmaError(f"{text}: must be a list, as in '{SEARCHPATH}=[file://FOLDER]'")
    return [str(place) for place in value]


def _folder(place: str, text: str) -> Traversable:
    scheme, separator, rest = place.rpartition("://")
    try:
        folder = files(rest.replace("/", ".")) if scheme == "pkg" else Path(rest)
        if (not separator or scheme in ("file", "pkg")) and folder.is_dir():
            return folder
    except (ImportError, ValueError, TypeError):
        pass
    raise TagmaError(f"{text}: {place} is not a folder")


def _is_group(place: Path) -> bool:
    return place.name != "hydra" and any(place.glob("[!_]*.yaml"))
