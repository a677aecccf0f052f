-- The registry's row of the provider batch; an older status is no news, and a repeat changes nothing.
SELECT advance_provider_batch(%(provider_batch_id)s, %(registry_status)s, %(output_file_id)s, %(error_file_id)s)
