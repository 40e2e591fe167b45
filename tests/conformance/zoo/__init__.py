"""A zoo of attention functions: right ones as people write them, wrong ones that people reported, hostile ones.

Each file here is a program of its own, as a user would hand it to `headwork check FILE.py:NAME`.
"""

from . import calling, entries, reference

RIGHT_FILES = ("right_numpy.py", "right_torch.py", "right_jax.py", "right_onnx.py")
WRONG_FILES = ("wrong_numpy.py", "wrong_torch.py", "wrong_onnx.py")

__all__ = ["RIGHT_FILES", "WRONG_FILES", "calling", "entries", "reference"]
