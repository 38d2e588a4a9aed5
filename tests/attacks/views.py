"""Views for tests, made by hand."""

import numpy as np

from tagma.attacks.base import FederationView, LocalView
from tagma.rng import stream


def local_view(model=(0.0, 0.0), past=(), work="gradient", models=None):
    return LocalView(
        client=2,
        round=1 if work == "local_model" else 2,
        work=work,
        model=np.array(model, dtype=float),
        models=[np.array(one, dtype=float) for one in ([model] if models is None else models)],
        past=[np.array(update, dtype=float) for update in past],
        random=stream(0, "test"),
    )


def federation_view(
    honest,
    own,
    *,
    honest_models=None,
    own_models=None,
    honest_groups=None,
    own_groups=None,
    rehearse=lambda forged: 0.0,
    honest_claims=None,
    claims=None,
    as_claimed=None,
    work=None,
):
    """The first round, which all begin with a model of zeros, unless models are given."""
    honest, own = np.array(honest, dtype=float), np.array(own, dtype=float)
    first = honest_models is None
    received = np.zeros_like(np.vstack([honest, own]))
    if not first:
        received = np.vstack([honest_models, own_models]).astype(float)
    models, rows = np.unique(received, axis=0, return_inverse=True)
    return FederationView(
        round=1 if first else 2,
        work=work or ("local_model" if first else "gradient"),
        honest=honest,
        own=own,
        models=models,
        honest_rows=rows[: len(honest)],
        own_rows=rows[len(honest) :],
        honest_groups=np.zeros(len(honest), int) if honest_groups is None else honest_groups,
        own_groups=np.zeros(len(own), int) if own_groups is None else own_groups,
        clients=np.arange(len(honest), len(honest) + len(own)),
        random=stream(0, "test"),
        rehearse=rehearse,
        honest_claims=honest if honest_claims is None else np.array(honest_claims, float),
        claims=own if claims is None else np.array(claims, float),
        as_claimed=lambda: own if as_claimed is None else np.array(as_claimed, float),
    )
