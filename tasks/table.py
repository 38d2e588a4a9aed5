"""Classification or regression of a table: csv, parquet, npz, svmlight, or flwr-datasets.

Where it comes from is in `tagma.tasks.data.table_source`, who holds which rows in
`tagma.tasks.data.holdings`.
"""

from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Gt, Len

from tagma.errors import SettingError
from tagma.tasks.data.examples import Examples, classes_of
from tagma.tasks.data.hugging_face import as_arrow
from tagma.tasks.data.origin import Origin, Scaling
from tagma.tasks.data.splits import SplitBy
from tagma.tasks.data.spread import HeldOut
from tagma.tasks.data.table_source import Table, from_arrow, read_table
from tagma.tasks.models.model import Kind
from tagma.tasks.supervised import ModelMaker, Supervised

Count = Annotated[int, Ge(1)]


class TableTask(Supervised):
    """Rows of a table, spread over clients."""

    def __init__(
        self,
        *,
        data: str | None,
        kind: Kind,
        target: str | None,
        features: list[str] | None,
        classes: Annotated[list[str | int], Len(2)] | None,
        inputs: Count | None,
        scaling: Scaling,
        clients: Count | None,
        clusters: Count | None,
        clusters_by: Literal["column", "labels", "none"],
        cluster_column: str | None,
        split: SplitBy,
        client_column: str | None,
        alpha: Annotated[float, Gt(0)],
        samples: Count | tuple[Count, Count] | None,
        held_out: HeldOut,
        server_samples: Annotated[int, Ge(0)],
        dataset: dict[str, Any] | None,
        partitioner: dict[str, Any] | None,
        model: ModelMaker,
        seed: int,
    ) -> None:
        named = None if features is None else tuple(features)
        others = tuple(name for name in (client_column, cluster_column) if name is not None)
        columns = kind, target, named, others, inputs

        @lru_cache(maxsize=4)
        def read(path: str, known: tuple[str, ...] | None) -> Examples:
            return _examples(path, read_table(path), *columns, known)

        def of_partitions(parts: list[Any], known: tuple[str, ...] | None) -> Examples:
            return _examples("task.dataset", from_arrow(as_arrow(parts)), *columns, known)

        origin = Origin(
            data, read, of_partitions, seed, kind,
            dataset=dataset, partitioner=partitioner, classes=classes, scaling=scaling,
            features=named, target=target,
            inputs=(inputs,) if inputs is not None else None if named is None else (len(named),),
        )  # fmt: skip
        holding = {
            "clients": clients, "clusters": clusters, "clusters_by": clusters_by, "split": split,
            "alpha": alpha, "samples": samples, "held_out": held_out,
            "client_column": client_column, "cluster_column": cluster_column,
        }  # fmt: skip
        super().__init__(origin, holding, model, server_samples=server_samples)


def _examples(
    name: str,
    table: Table,
    kind: Kind,
    target: str | None,
    features: tuple[str, ...] | None,
    others: tuple[str, ...],
    width: int | None,
    known: tuple[str, ...] | None,
) -> Examples:
    """The rows of a table as examples; the other columns tell clients or clusters apart."""
    chosen = target or table.target
    if chosen is None:
        raise SettingError("task.target", None, f"name the column to predict: {table.names()}")
    if features is not None and chosen in features:
        raise SettingError("task.features", chosen, "is the target, and cannot predict itself")
    values = table.column(chosen, "task.target")
    inputs = table.features(features, (chosen, *others), width)
    if width not in (None, inputs.shape[1]):
        raise SettingError("task.inputs", width, f"{name} has {inputs.shape[1]} features")
    named = table.feature_names(features, (chosen, *others))
    names = None if named is None else tuple(named)
    columns = {other: values for other, values in table.columns.items() if other != chosen}
    if kind == "classification":
        targets, classes = classes_of(values, "task.target", chosen, known)
        return Examples(inputs, targets, classes, columns=columns, features=names, target=chosen)
    if values.dtype.kind != "f":
        said = f"holds text, such as {str(values[0])[:30]!r}; task.kind=regression needs numbers"
        raise SettingError("task.target", chosen, said)
    return Examples(
        inputs, values.astype(np.float64), columns=columns, features=names, target=chosen
    )
