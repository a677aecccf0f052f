-- Reads which language pairs a batch has. Moves nothing.
SELECT DISTINCT source_locale, target_locale
FROM rewrite_batch_items
WHERE batch_id = %(batch_id)s
ORDER BY source_locale, target_locale
