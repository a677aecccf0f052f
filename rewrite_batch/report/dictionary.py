"""The view dictionary, as Markdown: every view and column that reports and questions may use."""

from rewrite_batch.export.tables import TABLES

_PRICES = """## prices

The price book: a row for each version and model; batch rates, USD per million tokens.

| column | type | meaning |
|---|---|---|
| version | VARCHAR | matches `calls.price_version` |
| provider | VARCHAR | whose prices |
| effective_from | DATE | its first day |
| model | VARCHAR | the family: dated snapshots cost the same |
| long_above_tokens | BIGINT | calls with more input than this pay the long_ rates; null: there are none |
| input, cached_input, cache_write, output | DECIMAL(18,6) | the usual rates |
| long_input, long_cached_input, long_cache_write, long_output | DECIMAL(18,6) | the rates of long prompts |
"""
_HEAD = """# Views

What `rewrite-batch report` and `rewrite-batch sql` ask. Times are UTC without a zone. `getvariable('since')` and
`getvariable('until')` are the period. Text is in none of them. Written by `rewrite-batch sql --views`.

"""


def dictionary() -> str:
    parts = [_HEAD]
    for table in TABLES:
        parts += [f"## {table.name}\n\n{table.says}\n\n"]
        parts += ["| column | type | meaning |\n|---|---|---|\n"]
        parts += [f"| {column.name} | {column.type} | {column.says} |\n" for column in table.columns]
        parts += [f"| day | DATE | the UTC day of {table.day_column}; cheap: files of other days are not read |\n\n"]
    return "".join(parts) + _PRICES
