-- How often each code fired in the period, by the recipient's language. DuckDB; reads only.
WITH judged AS (
    SELECT target_locale, violations
    FROM items
    WHERE violations IS NOT NULL AND day >= getvariable('since') AND day < getvariable('until')
),

answers AS (SELECT target_locale, count(*) AS judged FROM judged GROUP BY ALL),

fired AS (
    SELECT target_locale, code, count(*) AS answers
    FROM (SELECT target_locale, unnest(list_distinct(violations)) AS code FROM judged) AS codes
    GROUP BY ALL
)

SELECT
    target_locale,
    code,
    CASE WHEN suffix(code, '_warn') THEN 'warn' ELSE 'hard' END AS level,
    answers,
    judged,
    round(answers / judged, 6) AS rate
FROM fired
INNER JOIN answers USING (target_locale)
ORDER BY target_locale, answers DESC, code
