"""The page about other implementations is what the recorded run says, and a made-up run is rendered rightly."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).resolve().parents[2] / "bench" / "peers_check.py"
_spec = importlib.util.spec_from_file_location("bench_peers_check", PATH)
peers_check = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = peers_check  # its records are dataclasses, which look themselves up
_spec.loader.exec_module(peers_check)


def feature(title, verdict, sentence):
    return {"title": title, "verdict": verdict, "sentence": sentence}


MADE = {
    "peers": [
        {
            "name": "some_attention",
            "title": "some.attention",
            "package": "some",
            "version": "1.2.3",
            "date": "2026-02-03",
            "check": {
                "verdict": "convention",
                "sentence": "some_attention is right by conventions of its own.",
                "interface": {
                    "layouts": {"query": "BTHD"},
                    "conventions": {"mask": "drop", "causal": "upper_left", "empty rows": "nan"},
                    "found": [{"said": "query, key and value are (B, T, H, D)", "how": "tried"}],
                },
                "features": [
                    feature("Causal", "convention", "Right | by its own convention."),
                    feature("A window", "not supported", "It has no parameter for a window."),
                ],
                "robustness": [{"id": "prints", "said": "it prints: hello"}],
            },
        }
    ],
}


def test_a_run_is_rendered_with_its_date_versions_conventions_and_faults():
    page = peers_check.page(MADE)
    assert (
        "| [some.attention](#some_attention) | 1.2.3 | 2026-02-03 | BTHD | is hidden | upper left | NaN | – | convention |\n"
    ) in page
    assert "some 1.2.3. some_attention is right by conventions of its own." in page
    assert "- query, key and value are (B, T, H, D) (tried)" in page
    assert "| Causal | convention | Right \\| by its own convention. |" in page
    assert "A window." in page
    assert "- prints: it prints: hello" in page


def test_one_that_is_checked_anew_takes_its_old_place(tmp_path, monkeypatch):
    monkeypatch.setattr(peers_check, "RESULT", tmp_path / "peers.json")
    first, second, *_ = (peer.name for peer in peers_check.PEERS)
    assert peers_check.with_recorded([{"name": second}]) == [{"name": second}]
    peers_check.RESULT.write_text(
        json.dumps({"peers": [{"name": first, "at": 1}, {"name": second, "at": 1}]})
    )
    fresh = peers_check.with_recorded([{"name": first, "at": 2}])
    assert fresh == [{"name": first, "at": 2}, {"name": second, "at": 1}]


def test_the_page_is_what_the_recorded_run_says():
    report = json.loads(peers_check.RESULT.read_text(encoding="utf-8"))
    assert [peer["name"] for peer in report["peers"]] == [peer.name for peer in peers_check.PEERS]
    assert peers_check.PAGE.read_text(encoding="utf-8") == peers_check.page(report)


@pytest.mark.parametrize("peer", peers_check.PEERS, ids=lambda peer: peer.name)
def test_the_record_says_which_version_was_run(peer):
    report = json.loads(peers_check.RESULT.read_text(encoding="utf-8"))
    (found,) = (each for each in report["peers"] if each["name"] == peer.name)
    assert found["package"] == peer.package
    assert found["version"]
