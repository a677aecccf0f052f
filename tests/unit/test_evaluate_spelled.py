"""Numbers that a rewrite writes out, or counts another way, are those of the original; others are not."""

import pytest

from rewrite_batch.evaluate.spelled import composed, parts, runs, spelled


@pytest.mark.parametrize(
    ("value", "given", "normal", "rewritten", "languages"),
    [
        ("80", {"82"}, " 82 años ", " ochenta y dos años ", ("es", "es")),
        ("6", {"5", "30"}, " at 5 30 ", " ab halb sechs ", ("en", "de")),
        ("2", set[str](), " dari kemarin lusa ", " sejak dua hari lalu ", ("id", "id")),
        ("15", set[str](), " 보름째 ", " 15일째 ", ("ko", "ko")),
        ("82", set[str](), " 여든둘이신데 ", " 82세 ", ("ko", "ko")),
        ("4", {"450"}, " 450 रुपये ", " साढ़े चार सौ रुपये ", ("hi", "hi")),
        ("68", set[str](), " 六十八块 ", " 68元 ", ("zh", "zh")),
    ],
)
def test_a_number_written_another_way_is_not_new(
    value: str, given: set[str], normal: str, rewritten: str, languages: tuple[str, str]
) -> None:
    said = {("number", number) for number in given}
    assert spelled(value, said, normal=normal, rewritten=rewritten, languages=languages)


@pytest.mark.parametrize(
    ("value", "given", "normal", "rewritten", "languages"),
    [
        ("80", {"82"}, " 82 años ", " ochenta años ", ("es", "es")),
        ("6", {"5"}, " at 5 ", " ab sechs ", ("en", "de")),
        ("3", {"2"}, " hace 2 días ", " hace tres días ", ("es", "es")),
        ("69", set[str](), " 六十八块 ", " 69元 ", ("zh", "zh")),
    ],
)
def test_another_number_is_new(
    value: str, given: set[str], normal: str, rewritten: str, languages: tuple[str, str]
) -> None:
    said = {("number", number) for number in given}
    assert not spelled(value, said, normal=normal, rewritten=rewritten, languages=languages)


def test_numerals_in_one_run_have_one_value() -> None:
    assert runs("四千二百円", "ja") == {4200}
    assert runs("สี่ร้อยห้าสิบบาท", "th") == {450}
    assert runs("forty two", "en") == set()


def test_a_number_has_the_parts_that_its_words_name() -> None:
    assert {100, 80, 5, 85} <= parts(185)
    assert composed(75000, {7, 5}, " 7만 5천 원 ", "ko")
    assert not composed(75000, {7}, " 7만 원 ", "ko")
