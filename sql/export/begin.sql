-- Reads only, as one look, and as the role that cannot read words whoever asks; works on a replica too.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY
