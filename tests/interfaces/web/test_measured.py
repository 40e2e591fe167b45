"""What docs/browser.md says of speed is what bench/web.py recorded."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_page_quotes_what_was_recorded():
    record = json.loads((ROOT / "bench" / "results" / "web.json").read_text())
    page = (ROOT / "docs" / "browser.md").read_text(encoding="utf-8")
    load = record["load"]
    for run in (*record["check"].values(), load["checks"], load["explanations"], load["fresh numbers"]):
        assert f"| {run['p50 ms']:g} | {run['p99 ms']:g} |" in page
    assert f"the first page is there {record['start']['median s']:.1f} s after" in page
    assert f"{record['load']['learners']} learners" in page
    assert f"with {record['load']['workers']} workers" in page
    assert f"{record['load']['kept']:,} were in the file afterwards" in page
    assert f"{load['explanations overtaken']:,} explanations were given up" in page
    assert record["load"]["lost"] == record["load"]["failed"] == 0
