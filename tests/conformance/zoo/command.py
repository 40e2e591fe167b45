"""A command that reads one .npz and writes another, as a program in C or CUDA would be wrapped.

    headwork check --command "python command.py {input} {output}"
    headwork check --command "python command.py {input} {output} --wrong"     forgets to scale
    headwork check --command "python command.py {input} {output} --crash"     ends with exit status 3

query (…, Tq, D), key (…, Tk, D), value (…, Tk, Dv), and mask where it is given: True = may attend.
"""

import sys

import numpy as np


def main(source, target, *flags):
    if "--crash" in flags:
        sys.exit(3)
    given = np.load(source)
    query, key, value = given["query"], given["key"], given["value"]
    scores = query @ key.swapaxes(-1, -2)
    if "--wrong" not in flags:
        scores = scores / np.sqrt(query.shape[-1], dtype=query.dtype)
    if "mask" in given:
        scores = np.where(given["mask"], scores, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    np.savez(target, output=e / e.sum(-1, keepdims=True) @ value)


if __name__ == "__main__":
    main(*sys.argv[1:])
