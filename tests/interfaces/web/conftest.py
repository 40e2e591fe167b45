"""A learner's browser without JavaScript, on a progress file of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from headwork.interfaces.web import desk as desks
from headwork.interfaces.web.app import make_app
from headwork.interfaces.web.guarding import TOKEN

ADDRESS = "http://127.0.0.1"


class Learner(TestClient):
    """A client that sends back the token of our forms, as their hidden field does."""

    def send_form(self, address: str, part: bool = False, **fields: object):
        token = self.cookies.get(TOKEN) or self.get("/keys").cookies[TOKEN]
        headers = {"Headwork-Part": "1"} if part else {}
        return self.post(address, data={"token": token, **fields}, headers=headers, follow_redirects=False)


@pytest.fixture(autouse=True)
def unsettled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of what tests leave behind is put aside for good."""
    monkeypatch.setattr(desks, "settle", lambda: None)


@pytest.fixture
def progress_file(tmp_path: Path) -> Path:
    return tmp_path / "progress.sqlite3"


@pytest.fixture
def learner(progress_file: Path) -> Iterator[Learner]:
    with Learner(make_app(progress_file), base_url=ADDRESS) as client:
        client.get("/keys")
        yield client
