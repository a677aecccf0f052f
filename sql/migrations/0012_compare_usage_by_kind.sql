-- The provider's own sum of the input that it read from its cache: lines that say too much of one kind and too little of
-- another must not cancel out. From now on usage_difference is the sum of the differences of each kind, without sign.
SET LOCAL ROLE rewrite_owner;

ALTER TABLE rewrite_batches ADD COLUMN provider_cached_tokens bigint;
