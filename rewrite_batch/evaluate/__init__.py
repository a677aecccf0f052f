"""Evaluate: a table of candidates comes in, a table of verdicts goes out. Pure: no database, no network, no clock.

In (`CANDIDATES`), one row a candidate; `row` is the caller's key and comes back unchanged:
    row, target_locale, source_locale, original_text, intent, power_mode, topics, rewritten_text, output_language.
`rewritten_text` and `output_language` are null where the model's answer broke its schema.

Out (`VERDICTS`), one row a candidate, in the order of the input: the fields of RewriteEvalResultV1, `lexicon_version`,
`rules` (which rule fired for which code) and `kept`: whether it may be stored.
"""
