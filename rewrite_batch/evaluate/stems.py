"""How words for small numbers and for days begin, language by language. They only excuse: whatever form an original
uses (two, twice, second, both), the rewrite may say it too. Packs hold the exact forms that accuse."""

from functools import lru_cache
from pathlib import Path

_FILE = Path(__file__).parent / "words" / "stems.tsv"
_UNSPACED = frozenset({"zh", "ja", "th", "ko"})
# Arabic writes for, with, in, and, then and like in one with the number.
_LEADS = {"ar": (" ", " ل", " ب", " و", " ف", " ك", " ال", " لل", " بال")}


@lru_cache(maxsize=1)
def _stems() -> dict[tuple[str, str, int], list[str]]:
    lines = [line for line in _FILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    cells = [line.split("\t") for line in lines[1:]]
    return {(language, kind, int(value)): stems.split("/") for language, kind, value, stems in cells}


def excuses(language: str, kind: str, value: str, normal: str) -> bool:
    """Whether a normalised original has a word that may stand for this number or day. 22 may be said as ten."""
    if not value.isdigit():
        return False
    number = int(value)
    numbers = (number, number - 12) if kind == "number" and 14 <= number <= 24 else (number,)
    leads = ("",) if language in _UNSPACED else _LEADS.get(language, (" ",))
    stems = [stem for each in numbers for stem in _stems().get((language, kind, each), ())]
    return any(lead + stem in normal for stem in stems for lead in leads)
