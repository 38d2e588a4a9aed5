"""Any data set and partitioner of flwr-datasets, by their `_target_` and arguments.

    task.dataset._target_=flwr_datasets.FederatedDataset
    task.dataset.dataset=csv task.dataset.data_files=mine.csv
    task.partitioner._target_=flwr_datasets.partitioner.IidPartitioner
    task.partitioner.num_partitions=10

The extra `tagma[datasets]` brings it. Local files and data sets that were downloaded before work
without a network. Its partitions become the clients: the column `partition` of what is read here.
"""

import os
from collections.abc import Mapping
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tagma.errors import SettingError
from tagma.kept import kept
from tagma.plugins import TARGET, locate
from tagma.tasks.progress_log import log

PARTITION = "partition"
_SPLIT = "train"
_OFFLINE = "HF_HUB_OFFLINE"


@kept(maxsize=2)
def partitions(dataset: str, partitioner: str) -> list[Any]:
    """The partitions, by two groups of settings as JSON texts."""
    import json

    return _load(json.loads(dataset), json.loads(partitioner))


def _load(dataset: Mapping[str, Any], partitioner: Mapping[str, Any]) -> list[Any]:
    try:
        import flwr_datasets  # noqa: F401
    except ImportError:
        raise SettingError(
            "task.dataset",
            dataset.get(TARGET),
            "needs the extra: pip install 'tagma[datasets]'",
        ) from None
    cut = _made("task.partitioner", partitioner)
    try:
        with _quietly():
            found = _made("task.dataset", dataset, partitioners={_SPLIT: cut})
            first = found.load_partition(0)
            log.info("reading %d partitions", cut.num_partitions)
            return [first, *(found.load_partition(n) for n in range(1, cut.num_partitions))]
    except SettingError:
        raise
    except Exception as error:  # whatever a data set or partitioner thinks of its settings
        reason = " ".join(str(error).split())[:300]
        raise SettingError(
            "task.dataset", dataset.get(TARGET), f"cannot be read: {reason}"
        ) from None


def _made(key: str, chosen: Mapping[str, Any], **given: Any) -> Any:
    made = locate(str(chosen.get(TARGET, "")), f"{key}.{TARGET}")
    values = {name: value for name, value in chosen.items() if name != TARGET}
    try:
        return made(**values, **given)
    except Exception as error:
        reason = " ".join(str(error).split())[:300]
        raise SettingError(key, chosen[TARGET], f"cannot be made: {reason}") from None


@contextmanager
def _quietly() -> Any:
    """Without progress bars; and offline, unless the environment says otherwise."""
    os.environ.setdefault(_OFFLINE, "0")
    with redirect_stderr(StringIO()):
        yield


def rows_of_partitions(parts: list[Any]) -> NDArray[Any]:
    """The partition of every example."""
    return np.repeat(np.arange(len(parts)), [len(part) for part in parts])


def as_arrow(parts: list[Any]) -> pa.Table:
    """All partitions as one table."""
    tables = [part.with_format("arrow")[:] for part in parts]
    return pa.concat_tables(tables).replace_schema_metadata(None)


def as_images(parts: list[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """All images, of one size, and their labels."""
    features = parts[0].features
    images = [name for name, each in features.items() if type(each).__name__ == "Image"]
    labels = [name for name, each in features.items() if type(each).__name__ == "ClassLabel"]
    if len(images) != 1 or len(labels) != 1:
        known = ", ".join(features)
        raise ValueError(f"needs one column of images and one of classes, has {known}")
    pixels = [np.asarray(row[images[0]]) for part in parts for row in part]
    if len({each.shape for each in pixels}) > 1:
        raise ValueError("its images have different sizes")
    names = np.array(features[labels[0]].names)
    numbers = np.concatenate([np.asarray(part[labels[0]][:], dtype=np.int64) for part in parts])
    return np.array(pixels), names[numbers]
