"""Commands as processes: output, exit codes, signals, and nothing that leaks."""

import json
import os
import pty
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from pydantic import SecretStr

from rewrite_batch.contracts.schemas import schema_text
from rewrite_batch.contracts.shapes import SHAPES
from rewrite_batch.embedded import private_directory
from rewrite_batch.samples import generate
from tests.commands.conftest import Run, environment
from tests.items import item_document

CANARY = "zanahoria-canary-7731"


def test_help_names_every_command_and_where_to_start(run: Run) -> None:
    shown = run("--help")
    assert shown.returncode == 0
    for word in ("demo", "doctor", "migrate", "enqueue", "generate", "schema", "simulate", "Start with"):
        assert word in shown.stdout


@pytest.mark.parametrize("command", ["migrate", "enqueue"])
def test_an_unset_database_is_a_configuration_error(run: Run, tmp_path: Path, command: str) -> None:
    (tmp_path / "lines").write_text("")
    arguments = [command, str(tmp_path / "lines")] if command == "enqueue" else [command]
    done = run(*arguments)
    assert done.returncode == 2
    assert "DATABASE_URL is not set" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unreachable_database_is_a_passing_condition(run: Run) -> None:
    done = run("migrate", DATABASE_URL=f"postgresql://u:{CANARY}@127.0.0.1:1/x")
    assert done.returncode == 75
    assert "cannot be reached" in done.stderr
    assert CANARY not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "url",
    [
        f"nonsense {CANARY}",
        f"mysql://u:{CANARY}@127.0.0.1/x",
        f"postgresql://u:{CANARY}@127.0.0.1:port/x",
        f"postgresql://u:{CANARY}@127.0.0.1:1/x?sslmode={CANARY}",
    ],
)
def test_a_url_that_is_none_is_a_configuration_error(run: Run, url: str) -> None:
    done = run("migrate", DATABASE_URL=url)
    assert (done.returncode, "should read postgresql://" in done.stderr) == (2, True), done.stderr
    assert CANARY not in done.stdout + done.stderr


def test_migrate_and_check_tell_by_their_exit_codes(run: Run, empty_database: SecretStr) -> None:
    settings = {"DATABASE_URL": empty_database.get_secret_value()}
    pending = run("migrate", "--check", **settings)
    assert pending.returncode == 75
    assert "rewrite-batch migrate" in pending.stderr
    first = run("migrate", **settings)
    assert first.returncode == 0
    assert json.loads(first.stdout)["applied"][0] == "0001_create_roles"
    assert all("run_id" in json.loads(line) for line in first.stderr.splitlines())
    assert run("migrate", "--check", **settings).returncode == 0
    assert json.loads(run("migrate", **settings).stdout) == {"applied": [], "pending": 0}

    with psycopg.connect(settings["DATABASE_URL"], autocommit=True) as connection:
        connection.execute("INSERT INTO schema_migrations (version, name, sha256) VALUES (9999, 'later', 'x')")
    newer = run("migrate", "--check", **settings)
    assert newer.returncode == 2
    assert "deploy the newer release" in newer.stderr


def test_enqueue_loads_the_good_lines_and_its_exit_code_tells_of_the_bad(
    run: Run, migrated: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "requests.jsonl"
    lines = [
        json.dumps(item_document(text=CANARY)),
        f"broken {CANARY}",
        json.dumps(item_document(intent=CANARY)),
    ]
    file.write_text("\n".join(lines))

    done = run("enqueue", str(file), **migrated)

    assert done.returncode == 65
    result = json.loads(done.stdout)
    assert (result["lines"], result["enqueued"], result["refused"]) == (3, 1, 2)
    assert [(r["line"], r["field"]) for r in result["refusals"]] == [
        (2, "line"),
        (3, "rewrite_request.intent"),
    ]
    assert "refused: line 2: line: is not a JSON object in UTF-8" in done.stderr
    assert CANARY not in done.stdout + done.stderr


def test_enqueue_reads_stdin_and_a_repeat_changes_nothing(run: Run, migrated: dict[str, str]) -> None:
    lines = "".join(item.to_json() + "\n" for item in generate(30, seed=9))
    first, second = run("enqueue", "-", stdin=lines, **migrated), run("enqueue", "-", stdin=lines, **migrated)
    assert (first.returncode, json.loads(first.stdout)["enqueued"]) == (0, 30)
    assert (second.returncode, json.loads(second.stdout)["exists"]) == (0, 30)


def test_enqueue_check_needs_no_settings(run: Run) -> None:
    done = run("enqueue", "--check", "-", stdin=json.dumps(item_document()))
    assert (done.returncode, json.loads(done.stdout)["enqueued"]) == (0, 1)


def test_a_file_that_is_not_there_is_said_so(run: Run, migrated: dict[str, str]) -> None:
    done = run("enqueue", "/nowhere/at-all.jsonl", **migrated)
    assert done.returncode == 2
    assert "cannot read /nowhere/at-all.jsonl: No such file" in done.stderr


def test_generate_gives_lines_that_enqueue_takes(run: Run) -> None:
    made = run("generate", "--count", "25", "--seed", "4")
    assert made.stdout == run("generate", "--count", "25", "--seed", "4").stdout
    assert json.loads(run("enqueue", "--check", "-", stdin=made.stdout).stdout)["enqueued"] == 25


def test_a_reader_that_stops_early_is_no_error() -> None:
    command = f"{sys.executable} -m rewrite_batch generate --count 20000 | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_schema_prints_the_schema(run: Run, name: str) -> None:
    assert run("schema", name).stdout == schema_text(name)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_enqueue_and_a_rerun_goes_on(
    database: SecretStr, migrated: dict[str, str], run: Run, number: signal.Signals, code: int
) -> None:
    """The pipe stays open, so the program waits for lines: the signal meets it alive, half-way."""
    lines = [item.to_json() + "\n" for item in generate(700, seed=2)]
    process = subprocess.Popen(
        [sys.executable, "-m", "rewrite_batch", "enqueue", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(**migrated),
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write("".join(lines))
    process.stdin.flush()
    with psycopg.connect(database.get_secret_value(), autocommit=True) as connection:
        while connection.execute("SELECT count(*) FROM rewrite_jobs").fetchone() == (0,):
            assert process.poll() is None
        process.send_signal(number)
        _, said = process.communicate()
        assert process.returncode == code
        assert f"stopped by {number.name}" in said
        assert "Traceback" not in said
    again = json.loads(run("enqueue", "-", stdin="".join(lines), **migrated).stdout)
    assert again["exists"] >= 500
    assert again["exists"] + again["enqueued"] == 700


def lines_in(file: Path, count: int) -> Path:
    with file.open("w") as out:
        for item in generate(count, seed=9):
            out.write(item.to_json() + "\n")
    return file


def on_a_terminal(*arguments: str, **settings: str) -> str:
    """What a person sees."""
    ours, theirs = pty.openpty()
    try:
        done = subprocess.Popen(
            [sys.executable, "-m", "rewrite_batch", *arguments],
            env=environment(**settings, TERM="xterm", COLUMNS="120"), stdout=theirs, stderr=theirs,
        )  # fmt: skip
    finally:
        os.close(theirs)
    seen = b""
    with suppress(OSError), done:  # when the last writer is gone, reading a terminal is an error
        while piece := os.read(ours, 65_536):
            seen += piece
    os.close(ours)
    assert done.returncode == 0, seen
    return seen.decode()


def test_enqueue_shows_a_bar_on_a_terminal_and_nothing_of_it_in_a_pipe(
    run: Run, migrated: dict[str, str], tmp_path: Path
) -> None:
    file = lines_in(tmp_path / "lines", 1_200)
    seen = on_a_terminal("enqueue", str(file), **migrated)
    size = file.stat().st_size / 1_000_000
    assert "enqueue" in seen
    assert f"{size:.1f} MB" in seen, "the bar says how much there is"
    assert "━" in seen

    piped = run("enqueue", str(file), **migrated)
    assert piped.returncode == 0
    assert "━" not in piped.stdout + piped.stderr
    assert json.loads(piped.stdout)["exists"] == 1_200


def test_enqueue_takes_no_more_memory_for_more_lines(tmp_path: Path, migrated: dict[str, str]) -> None:
    code = (
        "import sys; from pathlib import Path; from rewrite_batch.cli import main\n"
        "try: main()\n"
        "finally: print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0], file=sys.stderr)"
    )

    def peak_kb(count: int) -> int:
        file = lines_in(tmp_path / f"lines{count}", count)
        done = subprocess.run(
            [sys.executable, "-c", code, "enqueue", str(file)],
            env=environment(**migrated), capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert json.loads(done.stdout)["lines"] == count
        return int(done.stderr.split()[-1])

    few, many = peak_kb(2_000), peak_kb(12_000)
    assert (tmp_path / "lines12000").stat().st_size > 25_000_000
    assert many < few + 10_000, "kB"


@pytest.mark.parametrize(
    ("loading", "number", "code"),
    [
        # Before anybody listens, the signal itself ends the process, which a shell calls 130 and 143.
        ("typing", signal.SIGINT, -signal.SIGINT),
        ("typing", signal.SIGTERM, -signal.SIGTERM),
        ("typer", signal.SIGINT, 130),
        ("typer", signal.SIGTERM, 143),
    ],
)
def test_a_signal_while_the_program_is_loaded_ends_quietly(
    loading: str, number: signal.Signals, code: int, tmp_path: Path
) -> None:
    (tmp_path / f"{loading}.py").write_text("import time; print('loading', flush=True); time.sleep(300)")
    with subprocess.Popen(
        [sys.executable, "-m", "rewrite_batch", "--help"],
        env={**environment(), "PYTHONPATH": str(tmp_path)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "loading\n"
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (code, "")


def test_a_defect_shows_its_place_and_not_its_message() -> None:
    """As if any line of ours raised."""
    code = (
        "import rewrite_batch.cli as c, rewrite_batch.contracts.schemas as s\n"
        f"def broken(*a, **k): raise RuntimeError({CANARY!r})\n"
        "s.schema_text = broken\n"
        "import sys; sys.argv = ['rewrite-batch', 'schema', 'RewriteAnswerV1']\n"
        "c.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 70
    assert "RuntimeError at" in done.stderr
    assert CANARY not in done.stdout + done.stderr


def test_embedded_keeps_its_data_between_commands_and_stops_after_the_last(run: Run) -> None:
    with private_directory("test") as directory:
        settings = {"DATABASE_URL": f"embedded:{directory / 'pg'}"}
        assert run("migrate", **settings).returncode == 0
        assert run("migrate", "--check", **settings).returncode == 0
        assert json.loads(run("enqueue", "-", stdin=json.dumps(item_document()), **settings).stdout)["enqueued"] == 1
        assert not (directory / "pg" / "data" / "postmaster.pid").exists()
        assert (directory / "pg").stat().st_mode & 0o066 == 0
