-- Reads which migrations this database has, and what their files held.
SELECT version, sha256
FROM public.schema_migrations
ORDER BY version
