"""A file at the provider's limit of lines: quick enough, in flat memory, and nobody else waits for it."""

import json
import threading
import time
from pathlib import Path

import pytest
from openai import OpenAI

from rewrite_batch.simulator.process import Simulator
from tests.simulator.household import line

LINES = 50_000
PADDING = "Be kind. " * 130


def peak_memory_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(row.split()[1] for row in status.splitlines() if row.startswith("VmHWM"))) / 1024


@pytest.mark.timeout(120)
def test_fifty_thousand_lines_in_flat_memory(simulator: Simulator, client: OpenAI, tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    with path.open("w") as file:
        template = json.dumps(line(0, custom_id="@@", body={"instructions": PADDING}))
        file.writelines(template.replace("@@", f"line_{number}") + "\n" for number in range(LINES))
    assert path.stat().st_size > 90_000_000
    before = peak_memory_mb(simulator.pid)
    with path.open("rb") as file:
        uploaded = client.files.create(file=("large.jsonl", file), purpose="batch")
    batch = client.batches.create(input_file_id=uploaded.id, endpoint="/v1/responses", completion_window="24h")
    waits = _waits_while(lambda: simulator.advance(100), simulator)
    ended = client.batches.retrieve(batch.id)
    assert ended.output_file_id is not None
    with client.files.with_streaming_response.content(ended.output_file_id) as answer:
        lines = sum(piece.count(b"\n") for piece in answer.iter_bytes(1 << 20))
    assert lines == LINES
    assert simulator.ledger_summary()["total"]["lines"] == LINES
    assert peak_memory_mb(simulator.pid) - before < 60
    assert len(waits) > 5
    assert max(waits) < 3


def _waits_while(work: object, simulator: Simulator) -> list[float]:
    """How long each question waited for its answer while the work went on."""
    assert callable(work)
    thread = threading.Thread(target=work)
    thread.start()
    waits: list[float] = []
    while thread.is_alive():
        began = time.monotonic()
        simulator.now()
        waits.append(time.monotonic() - began)
    thread.join()
    return waits
