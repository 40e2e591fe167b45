"""Do we ever refuse honest rounding? `python bench/rounded_learners.py [--runs N] [--seed 0] [--record]`.

Each run draws a problem and a learner who works it with plain NumPy, a loop per head, writing some or all
results with 2 to 4 decimals and going on from what was written; constants may be rounded too, and the
exponentials are shifted by the maximum or not. Every answer must lie within the tolerance of its step.
Nothing here uses Headwork's pipeline, only its answers. --record writes bench/results/rounded_learners.json.
"""

import argparse
import json
import statistics
from collections import defaultdict
from pathlib import Path

import numpy as np

from headwork import Problem, trace
from headwork.diagnosis.rounding import error_bounds, half_unit
from headwork.diagnosis.shifting import SUMS, unshifted
from headwork.diagnosis.verdicts import FLOAT_NOISE

RESULT = Path(__file__).parent / "results" / "rounded_learners.json"
# fmt: off
STEPS = (
    "query", "key", "value", "query_rotated", "key_rotated", "scores", "scaled", "capped", "bias", "biased",
    "masked", "row_max", "exponentials", "row_sum", "weights", "logsumexp", "part_output", "part_logsumexp",
    "blended", "output",
)
# fmt: on


# ---------------------------------------------------------------- problems


def draw_problem(rng: np.random.Generator) -> dict:
    """A small problem as keyword arguments of Problem, with (H, T, D) arrays; every option now and then."""
    Tq, Tk, D, Dv = rng.integers(1, 5), rng.integers(1, 6), rng.choice([1, 2, 3, 4, 5, 8]), rng.integers(1, 4)
    H, Hkv = [(1, 1), (2, 2), (2, 1)][rng.choice(3, p=[0.7, 0.15, 0.15])]
    sometimes = lambda p=0.15: rng.random() < p  # noqa: E731
    if sometimes():
        return draw_from_the_middle(rng, H, Tq, Tk, Dv)
    if sometimes():
        E = rng.integers(1, 4)
        record = {
            "x": numbers(rng, max(Tq, Tk), E),
            "w_query": numbers(rng, E, D),
            "w_key": numbers(rng, E, D),
        }
        record |= {"w_value": numbers(rng, E, Dv), "b_query": numbers(rng, D)}
        Tq, Tk, H = len(record["x"]), len(record["x"]), 1
    else:
        record = {
            "query": numbers(rng, H, Tq, D),
            "key": numbers(rng, Hkv, Tk, D),
            "value": numbers(rng, Hkv, Tk, Dv),
        }
    if D % 2 == 0 and sometimes():
        record["rope"] = {"base": 100.0, "pairing": str(rng.choice(["half", "interleaved"]))}
    if sometimes():
        record["scale"] = float(rng.choice([1.0, 0.5, 0.3]))
    if sometimes():
        record["softcap"] = float(rng.choice([2.0, 5.0]))
    if sometimes():
        record["alibi"] = 0.5 ** rng.integers(1, 9)
    if sometimes():
        record["mask"] = np.where(rng.random((Tq, Tk)) < 0.2, -np.inf, np.round(rng.normal(size=(Tq, Tk)), 2))
    if sometimes(0.3):
        record["causal"] = True
    if sometimes():
        record["sink"] = float(rng.choice([0.0, 0.7, -1.0]))
    if Tk > 1 and sometimes():
        record["chunks"] = [1, int(Tk) - 1]
    if sometimes():
        record["w_output"] = numbers(rng, H * Dv, 2)
    return record


def draw_from_the_middle(rng: np.random.Generator, H: int, Tq: int, Tk: int, Dv: int) -> dict:
    """A problem that starts from scores, scaled or masked scores, of few or many decimals."""
    start = str(rng.choice(["scores", "scaled", "masked"]))
    scores = numbers(rng, H, Tq, Tk) if rng.random() < 0.5 else rng.normal(size=(H, Tq, Tk))
    record = {"given": {start: scores}, "value": numbers(rng, H, Tk, Dv)}
    if start == "scores":
        record["head_dim"] = int(rng.choice([2, 3, 4]))
    if start != "masked" and rng.random() < 0.5:
        record["mask"] = np.where(rng.random((Tq, Tk)) < 0.2, -np.inf, np.round(rng.normal(size=(Tq, Tk)), 4))
    return record


def numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Whole numbers, tenths or hundredths."""
    return np.round(rng.normal(scale=rng.choice([0.5, 1.0, 2.0]), size=shape), rng.choice([0, 1, 2]))


# ---------------------------------------------------------------- a learner


class Learner:
    """Works with `digits` decimals: `rounds` says which results are rounded before going on."""

    def __init__(self, rng: np.random.Generator, digits: int) -> None:
        self.digits = digits
        kind = rng.choice(["all", "some", "none"], p=[0.5, 0.45, 0.05])
        rounds = {"all": 1.0, "some": 0.5, "none": 0.0}[kind]
        self.rounds = {name for name in (*STEPS, "cos", "shares") if rng.random() < rounds}
        self.shifts = rng.random() < 0.5
        self.constant = rng.choice(["exact", "root", "factor"])
        self.half_up = rng.random() < 0.5
        self.answers = defaultdict(list)

    def round(self, x: np.ndarray) -> np.ndarray:
        x = np.asarray(x, float)
        if not self.half_up:
            return np.round(x, self.digits)
        with np.errstate(invalid="ignore"):
            return np.sign(x) * np.floor(np.abs(x) * 10.0**self.digits + 0.5) / 10.0**self.digits

    def write(self, name: str, x: np.ndarray) -> np.ndarray:
        """Keep the written answer; return what the work goes on from."""
        written = self.round(x)
        self.answers[name].append(written)
        return written if name in self.rounds else np.asarray(x, float)

    def factor(self, p: Problem) -> float:
        root = np.sqrt(p.D)
        is_short = root == self.round(root)
        if p.scale is not None or self.constant == "exact" or is_short:
            return p.scale if p.scale is not None else 1 / root
        rounded = 1 / self.round(root) if self.constant == "root" else self.round(1 / root)
        return rounded if 0 < rounded < np.inf else 1 / root

    def work(self, p: Problem) -> dict:
        query, key, value = self.inputs(p)
        of_head = [h * p.Hkv // p.H for h in range(p.H)]
        if p.given is not None:
            outputs = [self.from_scores(p, h, p.given[p.start][h], value[of_head[h]]) for h in range(p.H)]
        else:
            scores = [self.scores(p, query[h], key[of_head[h]]) for h in range(p.H)]
            outputs = [self.from_scores(p, h, scores[h], value[of_head[h]]) for h in range(p.H)]
        answers = {name: np.stack(parts) for name, parts in self.answers.items()}
        if p.w_output is None:
            return answers | {"output": answers["blended"]}
        joined = np.concatenate(outputs, axis=-1)
        return answers | {"output": self.round(joined @ p.w_output)}

    def inputs(self, p: Problem) -> tuple:
        if p.x is None:
            return p.query, p.key, p.value
        x = p.x[0]
        named = {"query": x @ p.w_query + p.b_query, "key": x @ p.w_key, "value": x @ p.w_value}
        return tuple(self.write(name, array)[None] for name, array in named.items())

    def turned(self, p: Problem, x: np.ndarray, places: np.ndarray) -> np.ndarray:
        d, out = p.rope.dim, x.copy()
        for i in range(d // 2):
            a, b = (2 * i, 2 * i + 1) if p.rope.pairing == "interleaved" else (i, i + d // 2)
            angle = places * p.rope.base ** (-2 * i / d)
            cos, sin = np.cos(angle), np.sin(angle)
            if "cos" in self.rounds:
                cos, sin = self.round(cos), self.round(sin)
            out[:, a], out[:, b] = x[:, a] * cos - x[:, b] * sin, x[:, a] * sin + x[:, b] * cos
        return out

    def scores(self, p: Problem, query: np.ndarray, key: np.ndarray) -> np.ndarray:
        if p.rope is not None:
            query = self.write("query_rotated", self.turned(p, query, np.arange(p.Tq) + p.Tk - p.Tq))
            key = self.write("key_rotated", self.turned(p, key, np.arange(p.Tk)))
        return query @ key.T

    def from_scores(self, p: Problem, h: int, s: np.ndarray, value: np.ndarray) -> np.ndarray:
        back = np.arange(p.Tq)[:, None] + p.Tk - p.Tq - np.arange(p.Tk)
        start = p.start if p.given is not None else "scores"
        if start == "scores":
            s = self.write("scores", s)
            s = s * self.factor(p)
        if start != "masked":
            s = self.write("scaled", s)
        if p.softcap is not None:
            s = self.write("capped", p.softcap * np.tanh(s / p.softcap))
        allowed = np.ones((p.Tq, p.Tk), bool)
        bias = np.zeros((p.Tq, p.Tk))
        if p.alibi is not None and p.alibi is not False:
            bias = bias - p.alibi[h] * np.abs(back)
        if p.mask is not None:
            allowed &= p.mask[0] > -np.inf
            bias = bias + np.where(p.mask[0] > -np.inf, p.mask[0], 0)
        if bias.any():
            s = self.write("biased", s + self.write("bias", bias))
        if p.causal:
            allowed &= back >= 0
        s = self.write("masked", np.where(allowed, s, -np.inf))
        return self.softmax_and_blend(p, h, s, value)

    def softmax_and_blend(self, p: Problem, h: int, s: np.ndarray, value: np.ndarray) -> np.ndarray:
        sink = -np.inf if p.sink is None else p.sink[h]
        weights, lse = self.softmax(s, sink, "")
        blended = self.blend(weights, value)
        if p.chunks is not None:
            parts = [self.softmax(part, -np.inf, "part") for part in (s[:, :1], s[:, 1:])]
            z = [
                self.write("part_output", self.blend(w, v))
                for (w, _), v in zip(parts, (value[:1], value[1:]), strict=True)
            ]
            with np.errstate(invalid="ignore"):
                shares = [np.nan_to_num(np.exp(part_lse - lse)) for _, part_lse in parts]
            if "shares" in self.rounds:
                shares = [self.round(share) for share in shares]
            merged = shares[0] * z[0] + shares[1] * z[1]
            blended = merged if self.shifts else blended
        return self.write("blended", blended)

    def blend(self, weights: np.ndarray, value: np.ndarray) -> np.ndarray:
        return weights @ value

    def softmax(self, s: np.ndarray, sink: float, prefix: str) -> tuple:
        """Weights and logsumexp of each row; the results of a part's own softmax are not asked."""
        top = np.maximum(s.max(axis=-1, keepdims=True), sink)
        top = self.keep(prefix, "row_max", top)
        m = np.where(np.isfinite(top) & self.shifts, top, 0)
        exps, last = np.exp(s - m), np.exp(sink - m)
        terms = (exps > 0).sum(axis=-1, keepdims=True) + (last > 0)
        # exponentials that rounding would all but wipe out are carried
        coarse = terms * half_unit(self.digits) * np.exp(2 * half_unit(self.digits)) > 0.2 * (
            exps.sum(axis=-1, keepdims=True) + last
        )
        kept = self.keep(prefix, "exponentials", exps)
        exps = np.where(coarse, exps, kept)
        last = np.where(coarse, last, self.round(last)) if "exponentials" in self.rounds else last
        total = exps.sum(axis=-1, keepdims=True) + last
        total = np.where(coarse | (terms < 2), total, self.keep(prefix, "row_sum", total))
        weights = self.keep(prefix, "weights", exps / np.where(total == 0, 1, total))
        with np.errstate(divide="ignore"):
            lse = m + np.log(total)
        name = f"{prefix}_logsumexp" if prefix else "logsumexp"
        return weights, self.write(name, lse)

    def keep(self, prefix: str, name: str, x: np.ndarray) -> np.ndarray:
        if not prefix:
            return self.write(name, x)
        return self.round(x) if name in self.rounds else x


# ---------------------------------------------------------------- the comparison


def compare(rng: np.random.Generator) -> tuple[dict, dict]:
    """One run: for each step the largest |answer − truth| / tolerance, and the tolerance in half units."""
    record, digits = draw_problem(rng), int(rng.integers(2, 5))
    p = Problem(**record)
    learner = Learner(rng, digits)
    answers = learner.work(p)
    work = trace(p)
    fields = dict(work.fields)
    errors = error_bounds(p, fields, digits)
    if not learner.shifts:
        plain = unshifted(p)
        found = trace(plain).fields
        bounds = error_bounds(plain, found, digits)
        fields |= {name: found[name] for name in SUMS}
        errors |= {name: bounds[name] for name in SUMS}
    used, widths = {}, {}
    for name, answer in answers.items():
        truth, tolerance = fields[name], np.maximum(errors[name], half_unit(digits))
        tolerance = tolerance + FLOAT_NOISE * np.where(np.isfinite(truth), np.abs(truth), 0)
        if name.startswith("part_"):  # answered head by head, part by part; held part by part, head by head
            answer = answer.reshape(p.H, 2, *answer.shape[1:]).swapaxes(0, 1)
        if name == "bias":  # held as small as it was given
            truth = np.broadcast_to(truth, answer.shape)
        answer = answer.reshape(truth.shape)
        with np.errstate(invalid="ignore"):
            off = np.where(answer == truth, 0, np.abs(answer - truth)) / np.broadcast_to(
                tolerance, truth.shape
            )
        used[name] = float(np.max(off))
        widths[name] = float(np.median(np.broadcast_to(tolerance, truth.shape))) / half_unit(digits)
    return used, widths


def main() -> None:
    """Run, print the table, and write it down when asked."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", action="store_true", help=f"write bench/results/{RESULT.name}")
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    used, widths, refused = defaultdict(list), defaultdict(list), defaultdict(int)
    for _ in range(asked.runs):
        ratios, half_units = compare(rng)
        for name, ratio in ratios.items():
            used[name].append(ratio)
            widths[name].append(half_units[name])
            refused[name] += not ratio <= 1 + 1e-9
    rows = [
        {
            "step": name,
            "answers": len(used[name]),
            "refused": refused[name],
            "most of the tolerance used": round(max(used[name]), 4),
            "median tolerance, half units": round(statistics.median(widths[name]), 2),
        }
        for name in STEPS
        if name in used
    ]
    for row in rows:
        print(*row.values(), sep="\t")
    if asked.record:
        RESULT.parent.mkdir(exist_ok=True)
        report = {"runs": asked.runs, "seed": asked.seed, "refused": sum(refused.values()), "rows": rows}
        RESULT.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
