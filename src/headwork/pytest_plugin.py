"""What pytest loads by itself where Headwork is installed: a fixture, and nothing heavy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .testing import assert_attention as _assert_attention


@pytest.fixture(scope="session")
def assert_attention() -> Callable[..., Any]:
    """Fail, saying which mistake it is, unless a function is attention; see headwork.testing."""
    return _assert_attention
