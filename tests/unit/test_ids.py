from rewrite_batch.ids import new_id


def test_ids_are_version_7_and_sort_by_time() -> None:
    made = [new_id() for _ in range(1_000)]
    assert {i.version for i in made} == {7}
    assert len(set(made)) == 1_000
    milliseconds = [i.int >> 80 for i in made]
    assert milliseconds == sorted(milliseconds)
