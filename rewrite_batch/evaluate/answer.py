"""Answer: the text that the model wrote comes in; its two fields go out, or the reason why it is no answer.

Agrees with the JSON Schema of RewriteAnswerV1, which is the authority: a property test compares the two.
"""

from typing import Annotated

import msgspec

from rewrite_batch.contracts.locale import normalise_locale
from rewrite_batch.contracts.values import MAX_TEXT, is_readable, is_storable


class _Answer(msgspec.Struct, forbid_unknown_fields=True):
    rewritten_text: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TEXT)]
    output_language: str


_decode = msgspec.json.Decoder(_Answer).decode


def read_answer(text: str) -> tuple[str, str] | str:
    """(rewritten_text, primary language); or the reason."""
    try:
        answer = _decode(text)
        language = normalise_locale(answer.output_language)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        # An escaped half of a surrogate pair is no JSON for msgspec: it ends up here too.
        return "schema" if is_storable(text) else "unstorable"
    if not is_readable(answer.rewritten_text):
        return "schema" if is_storable(answer.rewritten_text) else "unstorable"
    return answer.rewritten_text, language
