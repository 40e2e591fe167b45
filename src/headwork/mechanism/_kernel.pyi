"""The compiled kernel of kernel/; absent where it could not be built."""

from typing import Any

def attention(
    query: Any,
    key: Any,
    value: Any,
    *,
    mask: Any = None,
    causal: bool | str = False,
    offset: Any = None,
    scale: float | None = None,
    softcap: float | None = None,
    window: tuple[int | None, int | None] | None = None,
    alibi: Any = None,
    sink: Any = None,
    lengths: Any = None,
    layout: str = "BHTD",
    threads: int | None = None,
    out: Any = None,
    return_logsumexp: bool = False,
) -> Any: ...
def attention_vjp(
    query: Any,
    key: Any,
    value: Any,
    cotangent: Any,
    *,
    mask: Any = None,
    causal: bool | str = False,
    offset: Any = None,
    scale: float | None = None,
    softcap: float | None = None,
    window: tuple[int | None, int | None] | None = None,
    alibi: Any = None,
    sink: Any = None,
    lengths: Any = None,
    layout: str = "BHTD",
    threads: int | None = None,
    output: Any = None,
    logsumexp: Any = None,
) -> tuple[Any, Any, Any]: ...
def run(query: Any, key: Any, value: Any, **options: Any) -> Any: ...
def run_vjp(query: Any, key: Any, value: Any, cotangent: Any, **options: Any) -> tuple[Any, Any, Any]: ...
def engine_name() -> str: ...
def set_default_threads(count: int) -> None: ...
