"""Export: text-free Parquet out of PostgreSQL, one file a table and UTC day.

In: any PostgreSQL of ours, a replica too, read as `rewrite_analyst`: the database refuses what could hold words. Out: a
directory with `TABLE/day=YYYY-MM-DD/rows.parquet` and `manifest.json`. Only days that changed are written again, each
to a temporary file that is renamed when it is whole, so a run may die anywhere and the next one goes on. Memory does
not depend on the number of rows.
"""
