"""evaluate and lexicon as people start them: no database, no settings needed."""

import json
from pathlib import Path
from typing import Any

from rewrite_batch.contracts.shapes import RewriteEvalResultV1
from tests.commands.conftest import Run

CANARY = "zebra-canary"


def line(id: str, text: str | None, **other: Any) -> str:  # noqa: A002  the key of the file
    return json.dumps(
        {
            "id": id,
            "target_locale": "en-US",
            "source_locale": "de",
            "original_text": f"Immer dieser Lärm! {CANARY}",
            "intent": "request",
            "power_mode": "peer",
            "rewritten_text": text,
            **other,
        }
    )


def test_evaluate_writes_one_verdict_a_line_in_the_order_of_the_file(run: Run) -> None:
    lines = [
        line("b", "Could we keep the music lower?", topics=["noise"]),
        line("a", "You are lazy.", output_language="en"),
        line("c", None),
        line("d", "Θα μπορούσαμε να χαμηλώσουμε τη μουσική;", target_locale="el"),
    ]
    done = run("evaluate", "-", stdin="\n".join(lines))
    assert done.returncode == 0
    verdicts = [json.loads(each) for each in done.stdout.splitlines()]
    assert [verdict["id"] for verdict in verdicts] == ["b", "a", "c", "d"]
    for verdict in verdicts:
        RewriteEvalResultV1.from_json(json.dumps(verdict["eval_result"]))
    assert [verdict["kept"] for verdict in verdicts] == [True, False, False, True]
    assert verdicts[1]["rules"]["personal_attack"]
    assert verdicts[2]["eval_result"]["schema_valid"] is False
    assert (verdicts[3]["eval_result"]["lexicon_pass"], verdicts[3]["lexicon_version"]) == (None, "none")
    assert "4 lines: 4 judged, 0 refused" in done.stderr
    assert "el: judged 1, kept 1, not checked 1" in done.stderr
    assert CANARY not in done.stdout + done.stderr


def test_a_line_that_cannot_be_read_is_named_and_the_others_are_judged(run: Run) -> None:
    lines = [
        line("a", "Could we talk?"),
        "{",
        line("b", "Hi", intent=CANARY),
        line("c", "Hi", target_locale="und"),
        "[]",
    ]
    done = run("evaluate", "-", stdin="\n".join(lines))
    assert done.returncode == 65
    assert [json.loads(each)["id"] for each in done.stdout.splitlines()] == ["a"]
    assert "refused: line 2: is not a JSON object" in done.stderr
    assert "refused: line 3: has an unknown value - at `$.intent`" in done.stderr
    assert "refused: line 4: target_locale" in done.stderr
    assert CANARY not in done.stderr


def test_explain_shows_which_rule_fired_where(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "some.jsonl"
    file.write_text(line("a", "Hello there. You never clean up.") + "\n")
    done = run("evaluate", str(file), "--explain", "a", "--json")
    assert done.returncode == 0
    fired = json.loads(done.stdout)["fired"]
    assert {each["code"] for each in fired} >= {"blame"}
    blame = next(each for each in fired if each["code"] == "blame" and each["start"] is not None)
    assert "Hello there. You never clean up."[blame["start"] :].startswith(blame["words"])


def test_dataset_measures_the_labelled_set(run: Run) -> None:
    done = run("evaluate", "--dataset", "--json")
    assert done.returncode == 0
    measured = json.loads(done.stdout)
    assert measured["dataset_version"].startswith("eval-")
    assert measured["languages"]["en"]["recall"] >= 0.95
    assert measured["codes"]["blame"]["unsafe"] > 20


def test_a_file_must_be_named(run: Run) -> None:
    done = run("evaluate")
    assert done.returncode == 2
    assert "name a FILE" in done.stderr
    assert "cannot read" in run("evaluate", "/nowhere/x.jsonl").stderr


def test_lexicon_lists_packs_and_checks_one(run: Run, tmp_path: Path) -> None:
    packs = json.loads(run("lexicon").stdout)["packs"]
    assert {pack["language"] for pack in packs} >= {"en", "ja", "ar"}
    assert all(pack["rules"] == pack["terms"] + pack["vocabulary"] for pack in packs)
    head = "# version: xx-1\nrule\tcode\tmode\tpattern\thit\tmiss\n"
    file = tmp_path / "xx.tsv"
    file.write_text(f"{head}a\tvulgarity\tword\tdarn\tOh well.\tThey are darning.\n")
    done = run("lexicon", "--check", str(file))
    assert done.returncode == 65
    assert "xx.tsv line 3: a does not fire in its hit sentence" in done.stderr


def test_packs_of_ones_own_are_used(run: Run, tmp_path: Path) -> None:
    head = "# version: en-own.1\nrule\tcode\tmode\tpattern\thit\tmiss\n"
    (tmp_path / "en.tsv").write_text(f"{head}own.zebra\tvulgarity\tword\tzebra\tOh zebra.\tZebras run.\n")
    done = run("evaluate", "-", stdin=line("a", "Could the zebra talk?"), REWRITE_BATCH_LEXICON_DIR=str(tmp_path))
    verdict = json.loads(done.stdout)
    assert verdict["lexicon_version"] == "en-own.1"
    assert verdict["rules"] == {"vulgarity": ["own.zebra"]}
