"""What the provider's error texts tell about limits. The text itself goes no further than here."""

import re

# "Enqueued token limit reached for gpt-5.2 in organization org-…. Limit: 2,000,000 enqueued tokens. Please try …"
_LIMIT = re.compile(r"\blimit:?\s{0,3}([0-9][0-9,._' ]{0,24})\s{0,3}(?:enqueued\s{1,3})?tokens\b", re.IGNORECASE)
LARGEST = 10**13


def stated_token_limit(message: str) -> int | None:
    """The enqueued-token limit that the text names, if it names exactly one."""
    found = {int(digits) for text in _LIMIT.findall(message[:2_000]) if (digits := re.sub(r"[^0-9]", "", text))}
    limit = found.pop() if len(found) == 1 else 0
    return limit if 0 < limit < LARGEST else None
