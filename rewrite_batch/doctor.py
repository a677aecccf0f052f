"""`rewrite-batch doctor`: settings come in, one line a check goes out — ok, or what to do.

Every check runs, whatever the others say. None changes anything, but that the spool directory is made.
"""

import os
import shutil
import ssl
import stat
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from rewrite_batch.db import Connection, connect, database_url, plain_errors
from rewrite_batch.errors import ConfigurationError, RewriteBatchError, TryAgain
from rewrite_batch.migrate import check_migrations
from rewrite_batch.provider.client import check_reachable
from rewrite_batch.queries import query
from rewrite_batch.settings import Settings, load_settings, variable_of

OLDEST, NEWEST = 15, 18
MAX_SKEW_S = 5.0
MIN_FREE_BYTES = 1_000_000_000
# In the order of sql/doctor/server_log.sql.
SERVER_LOG_ADVICE = (
    "in CSV and JSON the server logs the rows of failed statements, whatever else is set: set log_destination = stderr",
    "the server logs the rows of failed statements: set log_error_verbosity = terse for this database",
    "it logs the parameters of statements too: set log_parameter_max_length and log_parameter_max_length_on_error = 0",
)
ROLES = ("rewrite_owner", "rewrite_orchestrator", "rewrite_worker", "rewrite_analyst")

State = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class Finding:
    check: str
    state: State
    says: str
    exit_code: int = 0


@dataclass
class Examination:
    findings: list[Finding] = field(default_factory=list[Finding])

    def run(self, check: str, look: Callable[[], tuple[State, str] | str]) -> None:
        """A check answers what it saw, or raises one of our errors, whose message is advice."""
        try:
            with plain_errors():
                seen = look()
        except RewriteBatchError as error:
            self.findings.append(Finding(check, "fail", str(error), error.exit_code))
            return
        state, says = ("ok", seen) if isinstance(seen, str) else seen
        self.findings.append(Finding(check, state, says))

    @property
    def exit_code(self) -> int:
        """A passing condition counts only when nothing has to be changed by a person."""
        codes = {finding.exit_code for finding in self.findings}
        return next((code for code in (70, ConfigurationError.exit_code, TryAgain.exit_code) if code in codes), 0)


def examine(environ: Mapping[str, str]) -> Examination:
    examination = Examination()
    settings = Settings()

    def read_settings() -> str:
        nonlocal settings
        settings = load_settings(environ)
        given = [variable_of(name) for name in sorted(settings.model_fields_set)]
        return f"set: {', '.join(given)}" if given else "nothing is set: every setting has its default"

    examination.run("settings", read_settings)
    with ExitStack() as held:
        connected: list[Connection] = []

        def reach_database() -> tuple[State, str] | str:
            url = held.enter_context(database_url(settings))
            connected.append(held.enter_context(connect(url, purpose="doctor")))
            return version_of(connected[0].info.server_version)

        examination.run("database", reach_database)
        for check, look in (
            ("migrations", _migrations),
            ("role", _role),
            ("clock", _clock),
            ("server log", _server_log),
        ):
            if connected:
                examination.run(check, lambda look=look: look(connected[0]))
            else:
                examination.findings.append(Finding(check, "warn", "not checked: there is no database"))
    examination.run("certificates", lambda: _certificates(environ))
    examination.run("spool", lambda: _spool(settings.spool_dir))
    examination.run("provider", lambda: _provider(settings))
    return examination


def version_of(number: int) -> tuple[State, str] | str:
    """`number` as libpq gives it: 150017 is 15.17."""
    major, says = number // 10_000, f"PostgreSQL {number // 10_000}.{number % 10_000}"
    if major < OLDEST:
        raise ConfigurationError(f"{says} is too old: {OLDEST} or newer is needed")
    return says if major <= NEWEST else ("warn", f"{says} is newer than what this release was tested with ({NEWEST})")


def _migrations(connection: Connection) -> str:
    check_migrations(connection)
    return "up to date"


def _role(connection: Connection) -> tuple[State, str] | str:
    user, superuser, *has = connection.execute(query("doctor/roles")).fetchone() or ("", False)
    roles = [role for role, is_member in zip(ROLES, has, strict=False) if is_member]
    if superuser:
        return (
            "warn",
            f"{user} is a superuser: fine to try things out; in production use a login with rewrite_worker",
        )
    if not roles:
        raise ConfigurationError(
            f"{user} has none of the roles: GRANT rewrite_worker TO {user} (submit, collect), "
            "rewrite_orchestrator (enqueue), rewrite_analyst (report) or rewrite_owner (migrate)"
        )
    return f"{user} has {', '.join(roles)}"


def _clock(connection: Connection) -> tuple[State, str] | str:
    before = datetime.now(UTC)
    row = connection.execute("SELECT clock_timestamp()").fetchone()
    after = datetime.now(UTC)
    assert row is not None
    return skew_of((row[0] - (before + (after - before) / 2)).total_seconds())


def skew_of(skew: float) -> tuple[State, str] | str:
    says = f"this machine and the database differ by {abs(skew):.3f} s"
    return says if abs(skew) <= MAX_SKEW_S else ("warn", f"{says}: set up time synchronisation on both")


def _server_log(connection: Connection) -> tuple[State, str] | str:
    """Some rows hold words, and so does the parameter of `enqueue_rewrites`, which a server logs when it was slow."""
    found = connection.execute(query("doctor/server_log")).fetchone()
    assert found is not None
    advice = [line for line, is_needed in zip(SERVER_LOG_ADVICE, found, strict=True) if is_needed]
    return ("warn", "; ".join(advice)) if advice else "errors are logged without their rows"


def _certificates(environ: Mapping[str, str]) -> str:
    """TLS uses the trust store of the operating system, which slim images lack."""
    paths = ssl.get_default_verify_paths()
    file = environ.get("SSL_CERT_FILE") or paths.cafile or paths.openssl_cafile
    folder = environ.get("SSL_CERT_DIR") or paths.capath or paths.openssl_capath
    if Path(file).is_file() and Path(file).stat().st_size > 0:
        return f"CA certificates in {file}"
    if Path(folder).is_dir() and any(Path(folder).iterdir()):
        return f"CA certificates in {folder}"
    raise ConfigurationError("no CA certificates: install the package ca-certificates, or set SSL_CERT_FILE")


def _spool(directory: Path) -> tuple[State, str] | str:
    """The verdicts of the spool's writer, which follows no link."""
    if directory.is_symlink():
        raise ConfigurationError(f"{directory} is a link: set REWRITE_BATCH_SPOOL_DIR to the directory itself")
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            found, free = os.fstat(opened), shutil.disk_usage(opened).free
        finally:
            os.close(opened)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise ConfigurationError(f"cannot use {directory} ({reason}): set REWRITE_BATCH_SPOOL_DIR") from None
    if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise ConfigurationError(
            f"{directory} must belong to this user and be closed to others: chmod 700, or set REWRITE_BATCH_SPOOL_DIR"
        )
    if not os.access(directory, os.W_OK | os.X_OK):
        raise ConfigurationError(f"{directory} cannot be written: chmod 700, or set REWRITE_BATCH_SPOOL_DIR")
    says = f"{directory}, private, {free // 1_000_000_000} GB free"
    return says if free >= MIN_FREE_BYTES else ("warn", f"{says}: a batch may need 1 GB")


def _provider(settings: Settings) -> str:
    check_reachable(settings)
    return f"{settings.provider_base_url or 'the provider'} answers and takes the key"
