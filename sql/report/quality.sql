-- How often each code fired among the answers that were judged in the period, by pair, prompt and word list; beside it
-- the rate of the version before (the prompt and word list that came into use for this language just before this one: a
-- word list is of one language), over all its time.
-- `any` is an answer with at least one code. DuckDB; reads only.
WITH judged AS (
    SELECT
        coalesce(j.prompt_version, 'erased') AS prompt_version,
        i.lexicon_version,
        i.source_locale,
        i.target_locale,
        i.violations,
        i.decided_at
    FROM items AS i
    LEFT JOIN jobs AS j ON i.job_id = j.job_id
    WHERE i.violations IS NOT NULL AND i.decided_at < getvariable('until')
),

versions AS (
    SELECT
        target_locale,
        prompt_version,
        lexicon_version,
        lag(prompt_version) OVER first_seen AS previous_prompt_version,
        lag(lexicon_version) OVER first_seen AS previous_lexicon_version
    FROM (
        SELECT target_locale, prompt_version, lexicon_version, min(decided_at) AS seen_at
        FROM judged
        GROUP BY ALL
    ) AS seen
    WINDOW first_seen AS (PARTITION BY target_locale ORDER BY seen_at, prompt_version, lexicon_version)
),

answers AS (
    SELECT
        prompt_version,
        lexicon_version,
        source_locale,
        target_locale,
        count(*) AS judged_ever,
        count(*) FILTER (decided_at >= getvariable('since')) AS judged
    FROM judged
    GROUP BY ALL
),

fired AS (
    SELECT
        prompt_version,
        lexicon_version,
        source_locale,
        target_locale,
        code,
        count(*) AS answers_ever,
        count(*) FILTER (decided_at >= getvariable('since')) AS answers
    FROM (
        SELECT * EXCLUDE (violations), unnest(list_distinct(violations)) AS code FROM judged
        UNION ALL
        SELECT * EXCLUDE (violations), 'any' AS code FROM judged WHERE len(violations) > 0
    ) AS codes
    GROUP BY ALL
),

-- Every group with every code that its own version or the one before ever showed: a code that went away is shown too.
rows_wanted AS (
    SELECT a.*, v.previous_prompt_version, v.previous_lexicon_version, c.code
    FROM answers AS a
    INNER JOIN versions AS v USING (target_locale, prompt_version, lexicon_version)
    INNER JOIN (SELECT DISTINCT source_locale, target_locale, code FROM fired UNION SELECT DISTINCT source_locale, target_locale, 'any' FROM answers) AS c
        USING (source_locale, target_locale)
    WHERE a.judged > 0
)

SELECT
    w.prompt_version,
    w.lexicon_version,
    w.source_locale,
    w.target_locale,
    w.code,
    CASE WHEN w.code = 'any' THEN NULL WHEN suffix(w.code, '_warn') THEN 'warn' ELSE 'hard' END AS level,
    w.judged,
    coalesce(f.answers, 0) AS answers,
    round(coalesce(f.answers, 0) / w.judged, 6) AS rate,
    w.previous_prompt_version,
    w.previous_lexicon_version,
    round(CASE WHEN pa.judged_ever > 0 THEN coalesce(pf.answers_ever, 0) / pa.judged_ever END, 6) AS previous_rate,
    round(coalesce(f.answers, 0) / w.judged - CASE WHEN pa.judged_ever > 0 THEN coalesce(pf.answers_ever, 0) / pa.judged_ever END, 6)
        AS regression
FROM rows_wanted AS w
LEFT JOIN fired AS f USING (prompt_version, lexicon_version, source_locale, target_locale, code)
LEFT JOIN answers AS pa
    ON
        w.previous_prompt_version = pa.prompt_version
        AND w.previous_lexicon_version = pa.lexicon_version
        AND w.source_locale = pa.source_locale
        AND w.target_locale = pa.target_locale
LEFT JOIN fired AS pf
    ON
        w.previous_prompt_version = pf.prompt_version
        AND w.previous_lexicon_version = pf.lexicon_version
        AND w.source_locale = pf.source_locale
        AND w.target_locale = pf.target_locale
        AND w.code = pf.code
WHERE f.answers > 0 OR pf.answers_ever > 0 OR w.code = 'any'
ORDER BY regression DESC NULLS LAST, rate DESC, w.prompt_version, w.lexicon_version, w.source_locale, w.target_locale, w.code
