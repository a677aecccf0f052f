-- Reads whether the server writes words into its own log: rows of statements that fail, and the parameters of those
-- that it logs for being slow, sampled or all. Both are details, which `terse` leaves out, but not in CSV or JSON.
-- Moves nothing.
WITH said AS (
    SELECT
        bool_or(name = 'log_error_verbosity' AND setting <> 'terse') AS wordy,
        bool_or(name = 'log_destination' AND setting ~ 'csvlog|jsonlog') AS structured,
        bool_or(name = 'log_parameter_max_length_on_error' AND setting <> '0') AS parameters_of_errors,
        bool_or(name = 'log_parameter_max_length' AND setting <> '0') AS parameters,
        bool_or(
            CASE name
                WHEN 'log_statement' THEN setting = 'all'
                WHEN 'log_min_duration_statement' THEN setting <> '-1'
                WHEN 'log_min_duration_sample' THEN setting <> '-1'
                WHEN 'log_transaction_sample_rate' THEN setting::float8 > 0
                ELSE false
            END
        ) AS statements
    FROM pg_settings
)

SELECT
    structured AS details_in_any_case,
    wordy AS details,
    (wordy OR structured) AND ((parameters AND statements) OR parameters_of_errors) AS details_hold_parameters
FROM said
