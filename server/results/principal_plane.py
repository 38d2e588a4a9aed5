"""A plane on which the clients' vectors are drawn."""

from collections.abc import Iterator

import numpy as np

from tagma.arrays import Array

_BLOCK = 2**20
"""So many entries are worked on at a time: no second copy of all vectors is made."""
_ROUNDING = 1e-6
_FEW = 100
"""So many vectors are compared with each other."""
_BASIS, _PASSES, _ENOUGH = 16, 8, 1000
"""Directions of the subspace iteration, how often it reads the vectors, and how many of them."""


def principal_plane(vectors: Array) -> tuple[Array, Array]:
    """An origin (d,) and two orthogonal directions (2, d) that show the structure of most vectors.

    The principal components after centring at the coordinate-wise median and shrinking long rows to
    the median length, so that a few far-away Byzantine clients do not choose the plane. They are
    found by subspace iteration from a fixed start (Halko, Martinsson and Tropp, 2011), which is
    exact for at most 16 entries; of at most 100 vectors, which may be very long, from their
    products. Of more than 1000 vectors, so many are drawn. Cost O(16 m d) for each of 8 passes.
    """
    source = np.random.default_rng(0)
    if len(vectors) > _ENOUGH:
        vectors = vectors[np.sort(source.choice(len(vectors), _ENOUGH, replace=False))]
    origin = _median(vectors)
    with np.errstate(over="ignore"):
        blocks = [_lengths(vectors[rows] - origin) for rows in _row_blocks(vectors)]
    lengths = np.concatenate(blocks)
    typical = np.median(lengths)
    if not 0 < typical < np.inf:
        return origin, _no_plane(vectors)
    shrunk = 1 / np.maximum(lengths, typical)
    if len(vectors) <= _FEW:
        return origin, _upright(_plane_of_few(vectors, origin, shrunk))
    columns = min(_BASIS, *vectors.shape)
    basis = source.normal(size=(vectors.shape[1], columns))
    basis = np.linalg.qr(basis)[0]
    for _ in range(_PASSES):
        before, product = basis, np.zeros_like(basis)
        for rows in _row_blocks(vectors):
            with np.errstate(over="ignore", invalid="ignore"):
                block = (vectors[rows] - origin) * shrunk[rows, None].astype(vectors.dtype)
            block[~np.isfinite(block).all(axis=1)] = 0  # beyond any length
            product += block.T @ (block @ before.astype(block.dtype))
        basis = np.linalg.qr(product)[0]
    strongest = np.linalg.eigh(before.T @ product)[1][:, :-3:-1]
    plane = _no_plane(vectors)
    plane[: strongest.shape[1]] = (before @ strongest).T
    return origin, _upright(plane)


def _no_plane(vectors: Array) -> Array:
    """Two directions of length 0, as precise as the vectors: these may be very long."""
    return np.zeros((2, vectors.shape[1]), np.result_type(vectors.dtype, np.float32))


def _upright(plane: Array) -> Array:
    """The same with the largest entry of each direction positive."""
    for row in plane:
        if -row.min() > row.max():
            row *= -1
    return plane


def _plane_of_few(vectors: Array, origin: Array, shrunk: Array) -> Array:
    """The two directions from the products of the vectors, which have but two as long as these."""
    m, d = vectors.shape
    step = max(1, _BLOCK // m)

    def blocks() -> Iterator[tuple[slice, Array]]:
        for columns in (slice(at, at + step) for at in range(0, d, step)):
            with np.errstate(over="ignore", invalid="ignore"):
                block = (vectors[:, columns] - origin[columns]) * shrunk[:, None]
            yield columns, np.where(np.isfinite(shrunk * block.max(axis=1))[:, None], block, 0)

    products = np.zeros((m, m))
    for _, block in blocks():
        products += block @ block.T
    strongest = np.linalg.eigh(products)[1][:, :-3:-1]
    plane = _no_plane(vectors)
    for columns, block in blocks():
        plane[: strongest.shape[1], columns] = strongest.T @ block
    squares = np.einsum("ij,ij->i", plane, plane, dtype=np.float64)
    lengths = np.sqrt(squares).tolist()
    for row, length in zip(plane, lengths, strict=True):
        if length > _ROUNDING * lengths[0]:
            row /= length
        else:  # the second direction of vectors on a line is rounding
            row[:] = 0
    return plane


def places_on(plane: Array, origin: Array, vectors: Array) -> Array:
    """Where the vectors are on a plane, shape (m, 2)."""
    with np.errstate(over="ignore", invalid="ignore"):
        blocks = [(vectors[rows] - origin) @ plane.T for rows in _row_blocks(vectors)]
    return np.concatenate(blocks)


def _row_blocks(vectors: Array) -> Iterator[slice]:
    """The rows, `_BLOCK` entries at a time."""
    step = max(1, _BLOCK // max(1, vectors.shape[1]))
    return (slice(start, start + step) for start in range(0, len(vectors), step))


def _median(vectors: Array) -> Array:
    """The coordinate-wise median, block by block."""
    step = max(1, _BLOCK // len(vectors))
    starts = range(0, vectors.shape[1], step)
    return np.concatenate([np.median(vectors[:, at : at + step], axis=0) for at in starts])


def _lengths(rows: Array) -> Array:
    """The Euclidean lengths in double precision, also of rows whose squares overflow."""
    most = np.clip(np.abs(rows).max(axis=1, keepdims=True), 1e-30, np.finfo(rows.dtype).max)
    lengths: Array = most[:, 0] * np.linalg.norm(rows / most, axis=1).astype(np.float64)
    return lengths
