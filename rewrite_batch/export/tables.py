"""The tables of an export, and of every report: which columns go along, of which type, and what they mean.

The only list there is. The statements in sql/export/ select these columns in this order, the Parquet files have them,
`--verify` holds the files to them, and the view dictionary is written from them. What is not named here stays behind.
"""

from dataclasses import dataclass

CODE = r"[A-Za-z0-9][A-Za-z0-9_.:/@+-]{0,99}"
LOCALE = r"[a-z]{2,3}"
# The rule of the database's own holds_no_words(): every string in the document is a code.
COUNTS = r"([^\"]|\"[A-Za-z0-9_.:/@+=-]*\")*"

MONEY = "DECIMAL(24,12)"  # of a batch; of a line see CALLS: eight bytes are faster to sum
CODES = "VARCHAR[]"


@dataclass(frozen=True)
class Column:
    name: str
    type: str
    says: str
    pattern: str | None = None  # of strings: every value matches, as a whole

    @property
    def csv_type(self) -> str:
        return "VARCHAR" if self.type == CODES else self.type

    @property
    def from_csv(self) -> str:
        """Lists travel as comma-separated codes."""
        if self.type != CODES:
            return self.name
        return f"CASE WHEN {self.name} = '' THEN [] ELSE string_split({self.name}, ',') END AS {self.name}"


@dataclass(frozen=True)
class Table:
    name: str
    source: str
    day_column: str
    says: str
    columns: tuple[Column, ...]
    moves: bool = (
        False  # whether a row's day may change: then all days are read in one look, so that none is read twice
    )


def _id(name: str, says: str) -> Column:
    return Column(name, "UUID", says)


def _count(name: str, says: str) -> Column:
    return Column(name, "BIGINT", says)


def _code(name: str, says: str) -> Column:
    return Column(name, "VARCHAR", says, CODE)


def _locale(name: str, says: str) -> Column:
    return Column(name, "VARCHAR", says, LOCALE)


def _usd(name: str, says: str) -> Column:
    return Column(name, MONEY, says)


def _time(name: str, says: str) -> Column:
    return Column(name, "TIMESTAMP", f"{says} (UTC)")


_SOURCE = _locale("source_locale", "language of the complaint")
_TARGET = _locale("target_locale", "language of the recipient")
_REQUEST = _id("rewrite_request_id", "the request")
_JOB = _id("job_id", "the job: one request for one recipient")
_BATCH = _id("batch_id", "our id of the batch")
_INDEX = Column("batch_item_index", "INTEGER", "the line in the batch's file, from 0")
_PROVIDER = _code("provider", "who ran it")
_PROMPT = _code("prompt_version", "the prompt")
_POLICY = _code("policy_version", "the policy of the request")
_LANE = _code("lane", "same_language or cross_language")
_ENVIRONMENT = _code("environment", "the installation: dev, stage, prod")

CALLS = Table(
    "calls",
    "provider_calls",
    "created_at",
    "The ledger: one row for each line that the provider billed, failed ones too.",
    (
        _BATCH,
        _INDEX,
        _JOB,
        _REQUEST,
        Column("attempt", "INTEGER", "which trip of the job, from 1"),
        _PROVIDER,
        _code("model", "the model that answered, a dated snapshot perhaps"),
        _SOURCE,
        _TARGET,
        _count("input_tokens", "all input, cached and written to the cache included"),
        _count("cached_tokens", "input read from the provider's cache"),
        _count("cache_write_tokens", "input written to the provider's cache"),
        _count("output_tokens", "all output, reasoning included"),
        _count("reasoning_tokens", "output that was reasoning"),
        _code("price_version", "the price book's version; null: no price was known"),
        Column("cost_usd", "DECIMAL(18,12)", "what it cost; null: no price was known, never zero"),
        _time("created_at", "when it was written into the ledger"),
    ),
)

EVENTS = Table(
    "events",
    "rewrite_job_events",
    "occurred_at",
    "The history: one row for each change of a job's state.",
    (
        _count("event_id", "rises"),
        _JOB,
        _REQUEST,
        _code("from_status", "null: the job was made"),
        _code("to_status", "the new state"),
        Column("attempt", "INTEGER", "trips so far"),
        _code("reason", "why it went back to the queue, failed or was canceled"),
        _id("run_id", "the run that did it"),
        _BATCH,
        _time("occurred_at", "when"),
    ),
)

VERDICTS = Table(
    "verdicts",
    "rewrite_outputs",
    "created_at",
    "What the checks said of each stored output. What was refused is in `items`.",
    (
        _REQUEST,
        _TARGET,
        _PROVIDER,
        _code("model", "the model it was routed to"),
        _PROMPT,
        _POLICY,
        _code("lexicon_version", "the word list; none: the language has no list"),
        Column("schema_valid", "BOOLEAN", "the answer had its shape"),
        Column("lexicon_pass", "BOOLEAN", "no hard code; null: no word list"),
        _code("tone_safety", "pass, warn or fail"),
        _code("intent_preserved", "pass, warn or fail"),
        Column("violations", CODES, "codes of the checks that fired", CODE),
        _code("judge_version", "the checks"),
        _code("dataset_version", "what the checks were measured on"),
        _time("created_at", "when the output was stored"),
    ),
)

ITEMS = Table(
    "items",
    "rewrite_batch_items",
    "decided_at, or created_at while undecided",
    "One row for each trip of a job: the line it was in a batch, and what became of it.",
    (
        _BATCH,
        _INDEX,
        _JOB,
        _REQUEST,
        _SOURCE,
        _TARGET,
        Column("attempt", "INTEGER", "which trip of the job, from 1"),
        Column("input_chars", "INTEGER", "characters sent"),
        _count("estimated_input_tokens", "before it was sent"),
        _count("estimated_output_tokens", "before it was sent"),
        _code("outcome", "kept, transient, permanent, quota, returned, dropped or abandoned; null while undecided"),
        _code("reason", "which line of the table of outcomes"),
        Column("violations", CODES, "codes of the checks that fired; null: the answer was never judged", CODE),
        _code("lexicon_version", "the word list; none: the language has no list; null: never judged"),
        Column("provider_status_code", "INTEGER", "HTTP status of the line"),
        _time("created_at", "when the batch was planned"),
        _time("decided_at", "when the outcome was written"),
    ),
    moves=True,
)

BATCHES = Table(
    "batches",
    "rewrite_batches",
    "planned_at",
    "One row for each batch, with its reservation.",
    (
        _BATCH,
        _id("run_id", "the run that planned it"),
        _ENVIRONMENT,
        _code("state", "planned, uploaded, create_sent, submitted, finished, settled or abandoned"),
        _PROVIDER,
        _code("model", "the model it was routed to"),
        _code("prompt_version", "null in a packed batch"),
        _code("policy_version", "null in a packed batch"),
        _code("execution_mode", "null in a packed batch"),
        _code("lane", "null in a packed batch"),
        _locale("source_locale", "null in a packed batch"),
        _locale("target_locale", "null in a packed batch"),
        Column("item_count", "INTEGER", "lines in its file"),
        _count("estimated_input_tokens", "before it was sent"),
        _count("estimated_output_tokens", "before it was sent"),
        _count("input_bytes", "size of its file"),
        _code("provider_batch_id", "the provider's id"),
        _code("provider_status", "what the provider said last"),
        _code("reservation_state", "open, settled or released"),
        _count("reserved_tokens", "tokens set aside when it was planned"),
        _usd("reserved_usd", "money set aside; null: no price was known"),
        _count("settled_tokens", "tokens of its ledger rows"),
        _usd("settled_usd", "money of its ledger rows; null: no price was known"),
        _time("planned_at", "the intent was written"),
        _time("uploaded_at", "its file was at the provider"),
        _time("create_sent_at", "its create was about to be sent"),
        _time("submitted_at", "its jobs were registered"),
        _time("finished_at", "the provider was done"),
        _time("settled_at", "its results were in and its reservation closed"),
        _time("abandoned_at", "it was given up"),
        _time("files_deleted_at", "its files were gone from the provider"),
    ),
)

JOBS = Table(
    "jobs",
    "rewrite_jobs",
    "created_at",
    "One row for each execution unit: a request for one recipient.",
    (
        _JOB,
        _REQUEST,
        _code("surface", "where the complaint was written"),
        _code("rewrite_strength", "light_touch or full_reframe"),
        _SOURCE,
        _TARGET,
        _LANE,
        _PROVIDER,
        _code("model", "the model it is routed to"),
        _PROMPT,
        _POLICY,
        _code("execution_mode", "batch or async"),
        _code("status", "queued, processing, batch_submitted, completed, failed or canceled"),
        Column("attempt_count", "INTEGER", "trips to the provider so far"),
        Column("max_attempts", "INTEGER", "trips allowed"),
        Column("claim_count", "INTEGER", "claims so far"),
        _code("last_error", "the last reason it went back, failed or was canceled"),
        _code("provider_batch_id", "the first provider batch that carried it"),
        _BATCH,
        _time("created_at", "when it was queued"),
        _time("not_before_at", "it waits until then"),
        _time("submitted_at", "when it last went out"),
        _time("finished_at", "when it reached a final state"),
    ),
)

RUNS = Table(
    "runs",
    "worker_runs",
    "started_at",
    "One row for each run of a command that moves something.",
    (
        _id("run_id", "the run"),
        _code("command", "submit, collect, …"),
        _code("worker", "the machine"),
        _ENVIRONMENT,
        _code("version", "of this program"),
        Column("exit_code", "INTEGER", "null while it runs, and for ever if it was killed"),
        Column("counts", "VARCHAR", "what it did, as JSON", COUNTS),
        _time("started_at", "when it began"),
        _time("finished_at", "when it ended"),
    ),
)

ALERTS = Table(
    "alerts",
    "rewrite_alerts",
    "created_at",
    "One row for each thing that a person must see.",
    (
        _count("alert_id", "rises"),
        _code("kind", "what happened"),
        _id("run_id", "the run that saw it"),
        _BATCH,
        _INDEX,
        _JOB,
        Column("codes", CODES, "what it is about", CODE),
        _time("created_at", "when it was raised"),
        _time("acknowledged_at", "when somebody took it"),
    ),
)

# What refers comes before what it refers to: a row in an export finds its batch and its job there too.
TABLES = (CALLS, EVENTS, VERDICTS, ITEMS, BATCHES, JOBS, RUNS, ALERTS)
BY_NAME = {table.name: table for table in TABLES}
