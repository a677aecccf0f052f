"""Report: questions on money, reliability and quality, answered by DuckDB over text-free tables.

In: an export (`--from DIR`), or PostgreSQL, from which the same tables are pulled into a private directory first. Out:
rows, in five formats, or a page. The statements are in sql/report/, one a report; nothing here writes to the database.
"""
