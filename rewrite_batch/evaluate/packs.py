"""Lexicon packs: one TSV file a language comes in, a checked `Pack` goes out.

A pack's first line is `# version: <lang>-…`; further `#` lines are comments; then the header row, then one rule a row:
`rule  code  mode  pattern  hit  miss`. `code` is a violation code (the term alone is enough) or a vocabulary that
begins with `@`, which structure.py, intents.py and facts.py combine. `hit` is a sentence in which the rule must fire,
`miss` one in which it must not.

Mode `words` holds several terms, with `|` between them. A `@class` row of that mode names a class of words, which a
regular expression takes as a slot: `{adverb}` stands for any word of the row `en.class.adverb`, `{@trait}` for any term
of the vocabulary `@trait`. Expressions are RE2's: no look-around, and `\\b` only where an alternative begins or ends.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from sys import intern
from types import MappingProxyType
from typing import get_args

from rewrite_batch.contracts.values import KEY_PATTERN, ViolationCode
from rewrite_batch.errors import ConfigurationError

PACKS_DIR = Path(__file__).parent / "packs"
HEADER = ["rule", "code", "mode", "pattern", "hit", "miss"]
MODES = frozenset({"word", "words", "prefix", "substring", "regex"})
SETS = frozenset(
    {
        "@reader", "@self", "@trait", "@comparison", "@absolute", "@fault", "@imperative", "@softener", "@rule",
        "@owner", "@demand", "@diagnosis", "@request", "@boundary", "@concern", "@question", "@hedge", "@apology",
        "@sarcasm", "@refusal", "@statement", "@praise", "@greeting", "@negation", "@number", "@weekday", "@month",
        "@daypart", "@clock", "@class", "@excuse", "@lead", "@if", "@illness", "@own", "@above", "@mention", "@neutral",
        "@upward", "@relief", "@virtue", "@nice",
    }
)  # fmt: skip
# These carry a value: `five=5`, `monday=1`, `noon=12:00`, `pm=pm`.
VALUED = frozenset({"@number", "@weekday", "@month", "@daypart", "@clock"})
CODES = frozenset(get_args(ViolationCode)) - {"new_fact", "non_target_locale"}
_RULE = re.compile(r"[a-z0-9_.]+")
_VERSION = re.compile(r"# version: (\S+)")
SLOT = re.compile(r"\{(@?[a-z_]+)\}")


class PackRefused(ConfigurationError):
    """A lexicon pack has mistakes, listed with their lines: correct them and run `rewrite-batch lexicon --check`."""


@dataclass(frozen=True, slots=True)  # there are tens of thousands
class Rule:
    rule: str
    code: str
    mode: str
    pattern: str
    value: str
    hit: str
    miss: str
    line: int

    @property
    def terms(self) -> tuple[str, ...]:
        """What it looks for, word by word."""
        return tuple(term.strip() for term in self.pattern.split("|")) if self.mode == "words" else (self.pattern,)


@dataclass(frozen=True, eq=False)  # what is built from a pack is kept by it, without reading it all
class Pack:
    language: str
    version: str
    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Lexicon:
    packs: Mapping[str, Pack]

    def version_of(self, language: str) -> str:
        return self.packs[language].version if language in self.packs else "none"


def load_lexicon(own_dir: Path | None = None) -> Lexicon:
    """The packs that are shipped; a file of the same name in `own_dir` takes the place of ours."""
    files = {file.stem: file for file in sorted(PACKS_DIR.glob("*.tsv"))}
    if own_dir is not None:
        if not own_dir.is_dir():
            raise ConfigurationError(
                f"{own_dir} is no directory: set REWRITE_BATCH_LEXICON_DIR to one with *.tsv packs"
            )
        files |= {file.stem: file for file in sorted(own_dir.glob("*.tsv"))}
    return Lexicon(MappingProxyType({language: read_pack(file) for language, file in sorted(files.items())}))


@lru_cache(maxsize=1)
def shipped() -> Lexicon:
    return load_lexicon()


def read_pack(file: Path) -> Pack:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PackRefused(f"cannot read {file}: {type(error).__name__}; a pack is a UTF-8 file") from None
    pack, mistakes = parse_pack(file.stem, text)
    if mistakes:
        raise PackRefused("; ".join(f"{file.name} {mistake}" for mistake in mistakes[:20]))
    return pack


def parse_pack(language: str, text: str) -> tuple[Pack, list[str]]:
    """The pack, and every mistake with its line. A mistaken row is left out of the pack."""
    lines = text.split("\n")
    version = _VERSION.fullmatch(lines[0].strip())
    mistakes: list[str] = []
    name = version[1] if version else ""
    if not name.startswith(f"{language}-") or not re.fullmatch(KEY_PATTERN, name):
        mistakes.append(f"line 1: must be `# version: {language}-2026.11.1` or alike")
    rows = [(number, line.rstrip("\r")) for number, line in enumerate(lines, 1)]
    rows = [(number, line) for number, line in rows if line.strip() and not line.startswith("#")]
    if not rows or rows[0][1].split("\t") != HEADER:
        mistakes.append(f"line {rows[0][0] if rows else 2}: must be the header {' '.join(HEADER)}, tab separated")
    rules: list[Rule] = []
    seen: dict[str, int] = {}
    for number, line in rows[1:]:
        rule = _read_row(number, line.split("\t"))
        problems = list(_problems(rule, seen)) if isinstance(rule, Rule) else [rule]
        mistakes += [f"line {number}: {problem}" for problem in problems]
        if isinstance(rule, Rule) and not problems:
            rules.append(rule)
            seen[rule.rule] = number
    return Pack(language, name, tuple(rules)), mistakes


def _read_row(number: int, cells: list[str]) -> Rule | str:
    if len(cells) != len(HEADER):
        return f"has {len(cells)} cells, not {len(HEADER)}"
    rule, code, mode, pattern, hit, miss = (cell.strip() for cell in cells)
    value = ""
    if code in VALUED:
        pattern, _, value = pattern.rpartition("=")
    return Rule(rule, intern(code), intern(mode), pattern, value, hit, miss, number)


def _problems(rule: Rule, seen: Mapping[str, int]) -> Iterator[str]:
    if not _RULE.fullmatch(rule.rule):
        yield "rule must be letters a to z, digits, dots and underscores"
    if rule.rule in seen:
        yield f"rule {rule.rule} is there already, in line {seen[rule.rule]}"
    if rule.code not in CODES and rule.code not in SETS:
        yield f"{rule.code or 'an empty code'} is no code and no vocabulary"
    if rule.mode not in MODES:
        yield f"mode must be one of {', '.join(sorted(MODES))}"
    if not rule.pattern.strip():
        yield "pattern is empty" + (" (it must be `word=value`)" if rule.code in VALUED else "")
    if rule.mode == "words" and not all(rule.terms):
        yield "words holds an empty term: one `|` stands between two terms"
    if rule.code == "@class" and (rule.mode != "words" or ".class." not in rule.rule):
        yield "a class has mode words, and a rule such as en.class.adverb"
    if not rule.hit or not rule.miss:
        yield "hit and miss must both hold a sentence"
