"""Actors of a Ray cluster that work on partitions."""

from __future__ import annotations

from ragtriage.core.errors import MissingExtraError
from ragtriage.scale.orders import Orders
from ragtriage.scale.pool import Pool


def ray_pool(orders: Orders, count: int | None, most: int, store: str | None, part: str) -> Pool:
    """Start actors."""
    raise MissingExtraError("--on ray", "ray")
