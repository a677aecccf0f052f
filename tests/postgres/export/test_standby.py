"""Export and reports from a real streaming standby, which takes no write at all: no temporary table, no lock that
would write, no row."""

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr

from rewrite_batch import db
from rewrite_batch.db import Connection
from rewrite_batch.embedded import private_directory, running_postgres
from rewrite_batch.export.run import export
from rewrite_batch.export.tables import TABLES
from rewrite_batch.export.verify import verify
from rewrite_batch.migrate import migrate
from rewrite_batch.postmaster import Postmaster
from tests.commands.conftest import Run, run
from tests.conftest import new_database
from tests.ledger import BEGIN, Past, fill, write
from tests.postgres.export.test_export import rows_of, written

__all__ = ["run"]

LOGIN = "standby_analyst"


@dataclass
class Pair:
    """A primary, as an administrator, and its standby, as one who may do nothing but read what is not text."""

    primary: Connection
    standby: Connection
    primary_url: SecretStr
    standby_url: SecretStr

    def catch_up(self) -> None:
        """Until what is committed on the primary can be read on the standby."""
        target = self.primary.execute("SELECT pg_current_wal_flush_lsn()").fetchone()
        while self.standby.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", target).fetchone() != (True,):
            assert self.primary.execute("SELECT count(*) FROM pg_stat_replication").fetchone() == (1,)


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with (
        private_directory("primary") as there,
        running_postgres(there / "postgres") as server,
        new_database(server) as name,
        psycopg.connect(make_conninfo(server, dbname=name), autocommit=True, prepare_threshold=None) as primary,
        db.connect(SecretStr(make_conninfo(server, dbname=name)), purpose="tests") as owner,
        private_directory("standby") as here,
    ):
        migrate(owner)
        fill(primary)
        primary.execute(f"CREATE ROLE {LOGIN} LOGIN IN ROLE rewrite_analyst".encode())
        follower = copied(primary, server, here)
        try:
            follower.ensure_running()
            standby_server = follower.url()
            url = make_conninfo(standby_server, dbname=name, user=LOGIN)
            with psycopg.connect(url, autocommit=True, prepare_threshold=None) as standby:
                pair = Pair(primary, standby, SecretStr(make_conninfo(server, dbname=name)), SecretStr(url))
                pair.catch_up()
                yield pair
        finally:
            follower.stop()


def copied(primary: Connection, server: str, directory: Path) -> Postmaster:
    """A base backup that follows the primary. Its settings are the primary's: with fewer connections than that, a
    standby refuses to start."""
    told = dict(primary.execute("SELECT name, setting FROM pg_config").fetchall())
    binaries = Path(told["BINDIR"])
    if not (binaries / "pg_basebackup").exists():
        pytest.skip("this PostgreSQL comes without pg_basebackup")
    row = primary.execute("SHOW data_directory").fetchone()
    assert row is not None
    owner = Path(row[0]).stat().st_uid
    account = pwd.getpwuid(owner) if owner != os.geteuid() else None
    data = directory / "data"
    data.mkdir(mode=0o700)
    if account:
        shutil.chown(data, account.pw_uid, account.pw_gid)
    sockets = parse_qs(urlsplit(server).query)["host"][0]
    backup = ["-h", sockets, "-U", "postgres", "-D", str(data), "-R", "-X", "stream", "-c", "fast", "--no-sync"]
    done = subprocess.run(
        [binaries / "pg_basebackup", *backup],
        cwd="/",
        user=account.pw_uid if account else None,
        group=account.pw_gid if account else None,
        extra_groups=[] if account else None,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Postmaster(directory, binaries, account, shared=False)


def test_the_standby_takes_no_write(pair: Pair) -> None:
    """Or the other tests would prove nothing."""
    assert pair.standby.execute("SELECT pg_is_in_recovery()").fetchone() == (True,)
    for statement in (b"CREATE TEMPORARY TABLE x (n int)", b"INSERT INTO rewrite_alerts (kind) VALUES ('x')"):
        with pytest.raises(psycopg.Error):
            pair.standby.execute(statement)


def test_a_standby_exports_what_its_primary_exports_and_later_only_what_changed(
    pair: Pair, run: Run, tmp_path: Path
) -> None:
    settings = {"DATABASE_URL": pair.standby_url.get_secret_value()}
    there, here = tmp_path / "primary", tmp_path / "standby"
    export(pair.primary, there)
    done = run("export", str(here), "--verify", **settings)
    assert done.returncode == 0, done.stderr
    for table in TABLES:
        assert len(rows_of(here, table.name)) > 5, table.name
        assert rows_of(here, table.name) == rows_of(there, table.name), table.name

    past = Past(7)
    past.add("rewrite_alerts", kind="late", created_at=BEGIN + timedelta(hours=3))
    write(pair.primary, past)
    pair.catch_up()
    with db.connect(pair.standby_url, purpose="tests") as standby:
        assert written(export(standby, here)) == {"alerts": 1}
        assert written(export(standby, here)) == {}
    assert "late" in {row[1] for row in rows_of(here, "alerts")}
    assert verify(here).problems == []


def test_an_export_that_was_cut_off_on_the_standby_goes_on_there(pair: Pair, tmp_path: Path) -> None:
    class Cut(Exception):
        pass

    seen: list[str] = []

    def cut(table: str, _day: object) -> None:
        seen.append(table)
        if len(seen) == 9:
            raise Cut

    with db.connect(pair.standby_url, purpose="tests") as standby:
        with pytest.raises(Cut):
            export(standby, tmp_path, progress=cut)
        again: list[str] = []
        export(standby, tmp_path, progress=lambda table, _day: again.append(table))
        days = len(list(tmp_path.rglob("*.parquet")))
    assert len(again) < days
    assert verify(tmp_path).problems == []


@pytest.mark.parametrize("name", ["cost-by-language-pair", "reliability", "quality", "spending"])
def test_a_report_straight_from_the_standby_is_the_primary_s(pair: Pair, run: Run, name: str) -> None:
    asked = ["report", name, "--since", "2026-10-01", "--until", "2026-12-01", "--format", "csv"]
    answers = [run(*asked, DATABASE_URL=url.get_secret_value()) for url in (pair.primary_url, pair.standby_url)]
    assert [answer.returncode for answer in answers] == [0, 0], answers[1].stderr
    assert answers[0].stdout == answers[1].stdout
    assert len(answers[1].stdout.splitlines()) > 1


def test_status_of_money_can_be_read_on_the_standby(pair: Pair, run: Run) -> None:
    done = run("budget", "--json", DATABASE_URL=pair.standby_url.get_secret_value())
    assert done.returncode == 0, done.stderr
