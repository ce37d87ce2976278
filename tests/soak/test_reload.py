"""Policy files are edited again and again, well and badly, while reviews arrive: every verdict is one of a whole set."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from tests import builders
from tests.controlplane.client import wait_for
from tests.e2e.installation import Installation
from tests.policies.breaking import BREAKS, numbered
from tests.policies.test_files import mount
from tests.soak.calling import Caller
from tests.soak.scene import Scene

ROOT = Path(__file__).resolve().parents[2]
STAMPING = ROOT / "policies" / "gang" / "labelled-jobs" / "policy.yaml"
REFUSED = "policies not reloaded"
EDITS, GOOD, HURRY, CALLERS = 100, 0.6, 0.3, 2
SEEN_SECONDS = 30.0


def write_mounted(folder: Path, texts: dict[str, str], version: str) -> None:
    """Write as kubelet does for a ConfigMap: all files at once, by a symlink."""
    mount(folder, texts, version)


def write_in_place(folder: Path, texts: dict[str, str], version: str) -> None:
    """Write as a shell's ``>`` does: one file that is empty first and grows."""
    text = "---\n".join(texts.values())
    with (folder / "policy.yaml").open("w") as out:
        for start in range(0, len(text), 200):
            out.write(text[start : start + 200])
            out.flush()


class Reader:
    """Callers that remember which edits they saw, and the first answer that cannot be."""

    def __init__(self, installed: Installation) -> None:
        self._installed = installed
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, name=f"caller {index}") for index in range(CALLERS)]
        self.calls, self.latest, self.problem = 0, 0, ""
        self.written: set[int] = set()
        """Numbers of good edits, noted before they are written."""

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(60)

    def _run(self) -> None:
        body = json.dumps(builders.review(builders.job().build())).encode()
        before = 0
        try:
            with Caller(self._installed) as caller:
                while not self._stop.is_set():
                    before = self._judge(*caller.post("/validate/fail", body), before=before)
        except Exception as error:  # noqa: BLE001 - told by the test
            self.problem = self.problem or repr(error)

    def _judge(self, status: int, answer: bytes, *, before: int) -> int:
        """Return the edit by which a review was judged."""
        assert status == 200, answer
        warnings = json.loads(answer)["response"]["warnings"]
        numbers = [int(text.rpartition(" ")[2]) for text in warnings]
        with self._lock:
            self.calls += 1
            assert len(numbers) == 2, warnings
            assert numbers[0] == numbers[1], f"a mixed set: {warnings}"
            assert numbers[0] in self.written, f"never written whole: {warnings}"
            assert numbers[0] >= before, f"back from edit {before}: {warnings}"
            self.latest = max(self.latest, numbers[0])
        return numbers[0]


@pytest.mark.parametrize("write", [write_mounted, write_in_place], ids=["as a ConfigMap", "in place"])
def test_policies_are_edited_under_reviews(scene: Scene, control_plane, tmp_path, write):
    policies = tmp_path / "policies"
    (policies / "edited").mkdir(parents=True)
    (policies / "stamping.yaml").write_text(STAMPING.read_text())
    installed = Installation(control_plane, policies, tmp_path)
    reader, good, broken = Reader(installed), 0, 0
    try:
        for number in range(scene.often(EDITS) + 1):
            texts = {f"{name}.yaml": numbered(name, number) for name in ("one", "two")}
            is_good = number in {0, scene.often(EDITS)} or scene.random.random() < GOOD
            if is_good:
                reader.written.add(number)
            else:
                name = scene.random.choice(list(texts))
                texts[name] = BREAKS[scene.random.choice(list(BREAKS))](texts[name])
            refused = installed.webhook.text().count(REFUSED) if installed.webhook else 0
            write(policies / "edited", texts, str(number))
            good, broken = good + is_good, broken + (not is_good)
            if number == 0:
                webhook = installed.start_webhook()
                reader.start()
            elif is_good and scene.random.random() > HURRY:
                wait_for(
                    lambda number=number: reader.problem or reader.latest == number, seconds=SEEN_SECONDS, what=f"edit {number}"
                )
            elif not is_good and scene.random.random() > HURRY:
                wait_for(
                    lambda refused=refused: reader.problem or installed.webhook.text().count(REFUSED) > refused,
                    seconds=SEEN_SECONDS,
                    what=f"broken edit {number} is told",
                )
            assert not reader.problem, reader.problem
            assert webhook.alive
        wait_for(lambda: reader.problem or reader.latest == number, seconds=SEEN_SECONDS, what="the last edit is in force")
        assert not reader.problem, reader.problem
        assert webhook.text().count(REFUSED) > 0
    finally:
        reader.stop()
        installed.close()
        print(installed.logs())
    scene.done(
        f"{good} good and {broken} broken edits under {reader.calls:,} reviews",
        "no mixed set, none from a broken edit, never back to an older one",
    )
