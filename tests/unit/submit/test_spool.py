"""The spool: private files, counted and hashed as they are written, swept only when nobody holds them."""

import hashlib
import os
import resource
import stat
import subprocess
import sys
import time
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewrite_batch.errors import ConfigurationError, SpoolFailed
from rewrite_batch.submit.spool import SpoolWriter, sweep, verified

BATCH = UUID("0190b1c2-3d4e-7f50-8a9b-0c1d2e3f4a5b")
LATER = time.time() + 10_000


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "spool"


def leftover(spool: Path, name: str = f"{BATCH}.jsonl") -> Path:
    spool.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = spool / name
    file.write_bytes(b"{}\n")
    return file


def test_a_spool_file_is_private_and_named_by_its_batch_alone(spool: Path) -> None:
    with SpoolWriter(spool, BATCH) as writer:
        assert writer.path == spool / f"{BATCH}.jsonl"
        assert stat.S_IMODE(writer.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(spool.stat().st_mode) == 0o700
    assert list(spool.iterdir()) == []


@given(lines=st.lists(st.binary(max_size=40_000), max_size=8))
def test_what_is_counted_and_hashed_is_what_is_on_disk(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    with SpoolWriter(tmp_path_factory.getbasetemp() / "counted", BATCH) as writer:
        for line in lines:
            writer.append(line)
        written = b"".join(lines)
        writer.close()
        assert writer.path.read_bytes() == written
        assert (writer.bytes, writer.lines) == (len(written), len(lines))
        assert writer.sha256() == hashlib.sha256(written).hexdigest()
        with verified(writer.path, size=writer.bytes, crc32=writer.crc32) as source:
            source.seek(0)
            assert source.read() == written


@pytest.mark.parametrize("harm", [b"x", b"12\n", b"1\n3\n", b""])
def test_a_file_that_is_not_what_was_written_is_not_handed_out(spool: Path, harm: bytes) -> None:
    with SpoolWriter(spool, BATCH) as writer:
        writer.append(b"1\n2\n")
        writer.close()
        writer.path.write_bytes(harm)
        with pytest.raises(SpoolFailed), verified(writer.path, size=writer.bytes, crc32=writer.crc32):
            raise AssertionError
        writer.path.unlink()
        with pytest.raises(SpoolFailed), verified(writer.path, size=writer.bytes, crc32=writer.crc32):
            raise AssertionError


def test_a_finished_file_takes_no_more(spool: Path) -> None:
    with SpoolWriter(spool, BATCH) as writer:
        writer.append(b"1\n")
        writer.close()
        writer.close()
        with pytest.raises(ValueError, match="finished"):
            writer.append(b"2\n")
        assert writer.path.read_bytes() == b"1\n"


def test_removing_twice_is_harmless(spool: Path) -> None:
    writer = SpoolWriter(spool, BATCH)
    writer.remove()
    writer.remove()
    assert not writer.path.exists()


def test_the_file_goes_however_the_block_ends(spool: Path) -> None:
    with pytest.raises(RuntimeError), SpoolWriter(spool, BATCH) as writer:
        writer.append(b"half a li")
        raise RuntimeError
    assert list(spool.iterdir()) == []


def test_an_existing_file_is_never_written_over(spool: Path) -> None:
    file = leftover(spool)
    with pytest.raises(FileExistsError):
        SpoolWriter(spool, BATCH)
    assert file.read_bytes() == b"{}\n"


def test_a_link_in_the_way_is_not_followed(spool: Path, tmp_path: Path) -> None:
    spool.mkdir(mode=0o700, parents=True)
    (spool / f"{BATCH}.jsonl").symlink_to(tmp_path / "target")
    with pytest.raises(FileExistsError):
        SpoolWriter(spool, BATCH)
    assert not (tmp_path / "target").exists()


@pytest.mark.parametrize("mode", [0o750, 0o705, 0o777])
def test_a_directory_that_others_can_open_is_refused(spool: Path, mode: int) -> None:
    spool.mkdir(parents=True)
    spool.chmod(mode)
    with pytest.raises(ConfigurationError, match="open to others"):
        SpoolWriter(spool, BATCH)
    with pytest.raises(ConfigurationError, match="open to others"):
        sweep(spool, 0, LATER)


def test_a_directory_of_somebody_else_is_refused(spool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool.mkdir(mode=0o700, parents=True)
    monkeypatch.setattr(os, "getuid", lambda: os.geteuid() + 1)
    with pytest.raises(ConfigurationError):
        SpoolWriter(spool, BATCH)


def test_a_file_or_a_link_in_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for name in ("file", "link"):
        with pytest.raises(ConfigurationError, match="directory of our own"):
            SpoolWriter(tmp_path / name, BATCH)


def test_sweep_takes_what_a_dead_process_left(spool: Path) -> None:
    die = f"""
import os
from pathlib import Path
from uuid import UUID
from rewrite_batch.submit.spool import SpoolWriter
SpoolWriter(Path({str(spool)!r}), UUID({str(BATCH)!r})).append(b"x" * 100_000)
os._exit(9)
"""
    assert subprocess.run([sys.executable, "-c", die], check=False).returncode == 9
    assert len(list(spool.iterdir())) == 1
    assert sweep(spool, 60, LATER) == 1
    assert list(spool.iterdir()) == []


def test_sweep_leaves_a_file_that_is_held_even_after_its_last_line(spool: Path) -> None:
    with SpoolWriter(spool, BATCH) as writer:
        writer.append(b"1\n")
        assert sweep(spool, 0, LATER) == 0
        writer.close()
        assert sweep(spool, 0, LATER) == 0
        assert writer.path.exists()


def test_sweep_leaves_what_is_young(spool: Path) -> None:
    file = leftover(spool)
    assert sweep(spool, 3_600, file.stat().st_mtime + 3_599) == 0
    assert sweep(spool, 3_600, file.stat().st_mtime + 3_600) == 1


@pytest.mark.parametrize("name", ["notes.txt", f"{BATCH}.jsonl.bak", f"x{BATCH}.jsonl", f"{BATCH.hex}.jsonl"])
def test_sweep_leaves_what_is_not_named_like_ours(spool: Path, name: str) -> None:
    file = leftover(spool, name)
    assert sweep(spool, 0, LATER) == 0
    assert file.exists()


def test_sweep_passes_over_links_pipes_and_directories_of_our_name(spool: Path, tmp_path: Path) -> None:
    spool.mkdir(mode=0o700, parents=True)
    (tmp_path / "target").touch()
    names = [spool / f"{UUID(int=number)}.jsonl" for number in range(3)]
    names[0].symlink_to(tmp_path / "target")
    os.mkfifo(names[1])
    names[2].mkdir()
    assert sweep(spool, 0, LATER) == 0
    assert sorted(spool.iterdir()) == sorted(names)
    assert (tmp_path / "target").exists()


def test_sweep_of_a_directory_that_is_not_there_makes_none(spool: Path) -> None:
    assert sweep(spool, 0, LATER) == 0
    assert not spool.exists()


def test_a_file_at_the_limit_is_written_in_flat_memory(spool: Path) -> None:
    line = b"x" * 9_499 + b"\n"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with SpoolWriter(spool, BATCH) as writer:
        for _ in range(20_000):
            writer.append(line)
        writer.close()
        assert writer.path.stat().st_size == writer.bytes == 190_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000
