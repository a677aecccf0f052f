-- Before and after, of these requests. The only statement that reads texts to show them: the demo's, which are fixtures.
SELECT r.rewrite_request_id, r.source_locale, r.target_locale, r.original_text, o.rewritten_text
FROM rewrite_requests AS r
INNER JOIN rewrite_outputs AS o ON r.rewrite_request_id = o.rewrite_request_id
WHERE r.source_locale = %(source_locale)s AND r.target_locale = %(target_locale)s
ORDER BY abs(length(r.original_text) - 90), r.rewrite_request_id
LIMIT 1
