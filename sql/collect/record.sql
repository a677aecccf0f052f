-- What the provider says of a batch that is under our lease: submitted -> finished when it has ended. What is known
-- already stays: file ids and the time of the end are written once, so a repeat changes nothing.
UPDATE rewrite_batches
SET
    state = CASE WHEN %(ended)s THEN 'finished' ELSE state END,
    finished_at = CASE WHEN %(ended)s THEN coalesce(finished_at, now()) ELSE finished_at END,
    provider_status = %(provider_status)s,
    output_file_id = coalesce(output_file_id, %(output_file_id)s),
    error_file_id = coalesce(error_file_id, %(error_file_id)s),
    provider_input_tokens = coalesce(%(input_tokens)s, provider_input_tokens),
    provider_cached_tokens = coalesce(%(cached_tokens)s, provider_cached_tokens),
    provider_output_tokens = coalesce(%(output_tokens)s, provider_output_tokens),
    lease_expires_at = now() + make_interval(secs => %(lease_s)s),
    updated_at = now()
WHERE
    batch_id = %(batch_id)s
    AND lease_token = %(lease_token)s
    AND lease_expires_at > now()
    AND state IN ('submitted', 'finished')
RETURNING extract(EPOCH FROM now() - finished_at)::float8
