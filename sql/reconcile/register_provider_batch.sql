-- The registry's row of the provider batch; a repeat changes nothing.
SELECT register_provider_batch(%(provider_batch_id)s, %(endpoint)s, %(input_file_id)s, %(job_count)s)
