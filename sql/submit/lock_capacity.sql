-- One submitter at a time decides what still fits; the lock ends with the transaction that writes the intent.
SELECT pg_advisory_xact_lock(hashtextextended('rewrite_batch capacity', 0))
