"""Check a pack: every row is well formed, fires in its `hit` sentence, and does not in its `miss` sentence."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from rewrite_batch.evaluate.expressions import NotAnExpression, compiled, in_lines
from rewrite_batch.evaluate.hits import find
from rewrite_batch.evaluate.literals import alternatives
from rewrite_batch.evaluate.matcher import any_of, classes_of, filled, matcher
from rewrite_batch.evaluate.packs import SLOT, Pack, PackRefused, parse_pack
from rewrite_batch.evaluate.text import read


def check_file(file: Path) -> tuple[Pack, list[str]]:
    """The pack and its mistakes, each with its line."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PackRefused(f"cannot read {file}: {type(error).__name__}; a pack is a UTF-8 file") from None
    pack, mistakes = parse_pack(file.stem, text)
    return pack, mistakes + check_rules(pack)


def check_rules(pack: Pack) -> list[str]:
    broken = _unusable(pack)
    if broken:
        return broken
    sentences = [rule.hit for rule in pack.rules] + [rule.miss for rule in pack.rules]
    text = read(pl.Series(sentences, dtype=pl.String()), np.full(len(sentences), pack.language))
    fired = set(find(text, matcher((pack,))).select("row", "rule").iter_rows())
    count = len(pack.rules)
    mistakes: list[str] = []
    for index, rule in enumerate(pack.rules):
        if (index, index) not in fired:
            mistakes.append(f"line {rule.line}: {rule.rule} does not fire in its hit sentence")
        if (count + index, index) in fired:
            mistakes.append(f"line {rule.line}: {rule.rule} fires in its miss sentence")
    return mistakes


def _unusable(pack: Pack) -> list[str]:
    patterns = pl.Series([rule.pattern for rule in pack.rules], dtype=pl.String())
    words = read(patterns, np.full(len(pack.rules), pack.language)).rows.to_list()
    slots = {name: any_of(words) for name, words in classes_of(pack).items()}
    mistakes: list[str] = []
    for rule, word in zip(pack.rules, words, strict=True):
        if rule.mode == "regex":
            pattern = filled(rule.pattern, slots)
            unfilled = SLOT.search(pattern)
            if unfilled:
                mistakes.append(f"line {rule.line}: there is no class for {unfilled[0]}")
            else:
                mistakes += [f"line {rule.line}: {what}" for what in _wrong_with(rule.pattern, slots)]
        elif not word.strip(" "):
            mistakes.append(f"line {rule.line}: nothing of the pattern is left after normalising")
        elif rule.mode == "substring" and len(word.strip(" ")) < 2:
            mistakes.append(f"line {rule.line}: a substring needs two characters or more")
    return mistakes


def _wrong_with(pattern: str, slots: dict[str, str]) -> Iterator[str]:
    for piece in alternatives(pattern):
        try:
            compiled(filled(in_lines(piece), slots))
        except NotAnExpression as error:
            yield str(error)
