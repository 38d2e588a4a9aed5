"""Classification of images: MNIST's files, your own pictures, or scikit-learn's digits.

Where they come from is in `tagma.tasks.data.image_files`, who holds which in
`tagma.tasks.data.holdings`, and how planted clusters see them in `tagma.tasks.data.views`.
"""

from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Len

from tagma.tasks.data.examples import Examples
from tagma.tasks.data.hugging_face import as_images
from tagma.tasks.data.image_files import labelled, read_images
from tagma.tasks.data.origin import Origin
from tagma.tasks.data.spread import HeldOut
from tagma.tasks.supervised import ModelMaker, Supervised

Count = Annotated[int, Ge(1)]


class Images(Supervised):
    """Labelled images, spread over clients."""

    def __init__(
        self,
        *,
        data: str | None,
        classes: Annotated[list[str | int], Len(2)] | None,
        inputs: tuple[Count, Count, Count] | None,
        clients: Count | None,
        clusters: Count | None,
        clusters_by: Literal["rotation", "labels", "inversion", "none"],
        split: Literal["iid", "drawn", "dirichlet"],
        alpha: Annotated[float, Gt(0)],
        samples: Count | tuple[Count, Count] | None,
        held_out: HeldOut,
        server_samples: Annotated[int, Ge(0)],
        dataset: dict[str, Any] | None,
        partitioner: dict[str, Any] | None,
        model: ModelMaker,
        seed: int,
    ) -> None:
        origin = Origin(
            data, read_images, _of_partitions, seed,
            dataset=dataset, partitioner=partitioner, classes=classes, inputs=inputs,
        )  # fmt: skip
        holding = {
            "clients": clients, "clusters": clusters, "clusters_by": clusters_by, "split": split,
            "alpha": alpha, "samples": samples, "held_out": held_out,
        }  # fmt: skip
        super().__init__(origin, holding, model, server_samples=server_samples)


def _of_partitions(parts: list[Any], classes: tuple[str, ...] | None) -> Examples:
    return labelled("task.dataset", {"train": as_images(parts)}, classes)
