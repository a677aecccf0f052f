-- From here to the end of the transaction the database itself refuses every column that could hold words, and prints
-- dates in one way. Changes nothing that stays.
SELECT
    set_config('role', 'rewrite_analyst', true),
    set_config('timezone', 'UTC', true),
    set_config('datestyle', 'ISO, YMD', true)
