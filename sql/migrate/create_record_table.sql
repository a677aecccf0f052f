-- Makes the table that records migrations, before the first of them; later it is there and nothing happens.
CREATE TABLE IF NOT EXISTS public.schema_migrations (
    version int PRIMARY KEY,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
)
