"""Lexicon packs: every row is tried on its own two sentences, and a pack that somebody edits is told its mistakes."""

from collections import Counter
from pathlib import Path

import pytest

from rewrite_batch.contracts.values import WARNINGS
from rewrite_batch.errors import ConfigurationError
from rewrite_batch.evaluate.pack_check import check_file, check_rules
from rewrite_batch.evaluate.packs import CODES, PACKS_DIR, PackRefused, load_lexicon, parse_pack, shipped

LANGUAGES = [
    "en",
    "es",
    "de",
    "fr",
    "pt",
    "it",
    "nl",
    "pl",
    "tr",
    "ru",
    "sv",
    "zh",
    "ja",
    "ko",
    "hi",
    "ar",
    "vi",
    "id",
    "th",
]
HEADER = "# version: xx-1\nrule\tcode\tmode\tpattern\thit\tmiss\n"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_row_fires_in_its_hit_and_not_in_its_miss(language: str) -> None:
    pack = shipped().packs[language]
    assert check_rules(pack) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_pack_covers_every_hard_code_and_the_vocabulary(language: str) -> None:
    counts = Counter(rule.code for rule in shipped().packs[language].rules)
    assert [code for code in CODES - WARNINGS if counts[code] < 5] == []
    needed_sets = ("@reader", "@trait", "@absolute", "@imperative", "@softener", "@request", "@greeting", "@refusal")
    assert [code for code in needed_sets if counts[code] < 3] == []


def test_english_is_the_deepest() -> None:
    sizes = {language: len(pack.rules) for language, pack in shipped().packs.items()}
    assert max(sizes, key=sizes.__getitem__) == "en"


def row(rule: str = "a", code: str = "vulgarity", mode: str = "word", pattern: str = "darn", **other: str) -> str:
    hit, miss = other.get("hit", "Well, darn it."), other.get("miss", "They are darning socks.")
    return "\t".join([rule, code, mode, pattern, hit, miss]) + "\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (HEADER + row() + row(), "rule a is there already, in line 3"),
        (HEADER + row(rule="A!"), "line 3: rule must be letters"),
        (HEADER + row(code="rudeness"), "rudeness is no code"),
        (HEADER + row(code="new_fact"), "new_fact is no code"),
        (HEADER + row(mode="glob"), "mode must be one of"),
        (HEADER + row(pattern=""), "pattern is empty"),
        (HEADER + row(code="@number", pattern="five"), "it must be `word=value`"),
        (HEADER + row(mode="words", pattern="darn | | damn"), "words holds an empty term"),
        (HEADER + row(code="@class", mode="word"), "a class has mode words"),
        (HEADER + row(miss=""), "hit and miss must both hold a sentence"),
        (HEADER + "a\tb\n", "has 2 cells, not 6"),
        (HEADER.replace("xx-1", "yy-1") + row(), "line 1: must be `# version: xx-"),
        ("# version: xx-1\n" + row(), "must be the header"),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, says: str) -> None:
    _, mistakes = parse_pack("xx", text)
    assert any(says in mistake for mistake in mistakes)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (row(hit="All is well."), "line 3: a does not fire in its hit sentence"),
        (row(miss="Well, DARN that."), "line 3: a fires in its miss sentence"),
        (row(mode="regex", pattern=r"\bdarn (it"), "not a regular expression in RE2's syntax"),
        (row(mode="regex", pattern="{oath} it"), "there is no class for {oath}"),
        (row(mode="substring", pattern="d"), "a substring needs two characters"),
        (row(pattern="!!!"), "nothing of the pattern is left"),
    ],
)
def test_a_rule_that_does_not_do_what_it_says_is_named(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "xx.tsv"
    file.write_text(HEADER + text)
    _, mistakes = check_file(file)
    assert any(says in mistake for mistake in mistakes)


def test_a_slot_takes_every_word_of_its_class_and_no_other(tmp_path: Path) -> None:
    oaths = row("xx.class.oath", "@class", "words", "darn | heck", hit="Darn.", miss="They are darning.")
    slotted = row("b", mode="regex", pattern=r"\b{oath} it\b", hit="Well, heck it.", miss="Well, drat it.")
    file = tmp_path / "xx.tsv"
    file.write_text(HEADER + oaths + slotted)
    pack, mistakes = check_file(file)
    assert mistakes == []
    assert pack.rules[0].terms == ("darn", "heck")


def test_a_pack_of_ones_own_takes_the_place_of_ours_and_the_others_stay(tmp_path: Path) -> None:
    (tmp_path / "en.tsv").write_text((HEADER + row()).replace("xx-1", "en-own.1"))
    lexicon = load_lexicon(tmp_path)
    assert lexicon.version_of("en") == "en-own.1"
    assert lexicon.version_of("es") == shipped().version_of("es")
    assert lexicon.version_of("eo") == "none"


def test_a_broken_pack_of_ones_own_is_refused_not_skipped(tmp_path: Path) -> None:
    (tmp_path / "en.tsv").write_text(HEADER + row())
    with pytest.raises(PackRefused, match=r"en\.tsv line 1"):
        load_lexicon(tmp_path)
    with pytest.raises(ConfigurationError, match="is no directory"):
        load_lexicon(tmp_path / "nowhere")


def test_packs_stand_where_the_wheel_takes_them_from() -> None:
    assert sorted(file.stem for file in PACKS_DIR.glob("*.tsv")) == sorted(LANGUAGES)
