-- What the ledger and the reports need of the tables. Money to the last digit: a rate has at most six decimals a million
-- tokens, so a price has at most twelve; a line costs less than a million, a batch may cost more.
SET LOCAL ROLE rewrite_owner;

ALTER TABLE provider_calls ALTER COLUMN cost_usd TYPE numeric(18, 12);

DROP TRIGGER token_reservations_amounts_immutable ON token_reservations;
ALTER TABLE token_reservations
ALTER COLUMN reserved_usd TYPE numeric(24, 12),
ALTER COLUMN settled_usd TYPE numeric(24, 12);
CREATE TRIGGER token_reservations_amounts_immutable
BEFORE UPDATE OF batch_id, model, reserved_tokens, reserved_usd, opened_at ON token_reservations
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- What the checks said of an answer stays with its item, kept or not: codes, never words. Null: it was never judged.
ALTER TABLE rewrite_batch_items
ADD COLUMN violations reason_code[],
ADD COLUMN lexicon_version version_code;

-- The export reads days. Rows come in the order of time, so a few pages of index are enough, and writers hardly notice.
CREATE INDEX rewrite_jobs_created ON rewrite_jobs USING brin (created_at) WITH (autosummarize = on);
CREATE INDEX rewrite_batch_items_day ON rewrite_batch_items USING brin ((coalesce(decided_at, created_at)))
WITH (autosummarize = on);
CREATE INDEX rewrite_outputs_created ON rewrite_outputs USING brin (created_at) WITH (autosummarize = on);
