"""The learners of bench/rounded_learners.py, for tests: people who round what they write, and go on."""

import importlib.util
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench" / "rounded_learners.py"

_spec = importlib.util.spec_from_file_location("bench_rounded_learners", BENCH)
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)

Learner, compare, draw_problem = _module.Learner, _module.compare, _module.draw_problem
