from hypothesis import given, settings
from hypothesis import strategies as st

from app.cluster.cache import Cache, key_of

objects = st.tuples(st.sampled_from("xyz"), st.integers(0, 2))
keys = st.sampled_from("abcd")
changes = st.lists(
    st.one_of(
        st.tuples(st.just("put"), keys, objects),
        st.tuples(st.just("pop"), keys, st.none()),
        st.tuples(st.just("replace"), st.dictionaries(keys, objects), st.none()),
    ),
    max_size=20,
)


@settings(deadline=None)
@given(changes)
def test_index_and_differences_agree_with_a_plain_dict(happened: list[tuple]) -> None:
    cache: Cache[tuple[str, int]] = Cache(lambda observed: observed[0])
    plain: dict[str, tuple[str, int]] = {}
    for what, key, new in happened:
        if what == "put":
            assert cache.put(key, new) == plain.get(key)
            plain[key] = new
        elif what == "pop":
            assert cache.pop(key) == plain.pop(key, None)
        else:
            told = {changed: (old, fresh) for changed, old, fresh in cache.replace(key)}
            assert told == {
                name: (plain.get(name), key.get(name))
                for name in plain.keys() | key.keys()
                if plain.get(name) != key.get(name)
            }
            plain = dict(key)
        assert dict(cache.objects) == plain
        for value in "xyz":
            assert cache.indexed(value) == tuple(plain[name] for name in sorted(plain) if plain[name][0] == value)


def test_keys() -> None:
    assert key_of("team-nlp", "a") == "team-nlp/a"
    assert key_of(None, "a") == "a"
    assert key_of("", "a") == "a"


def test_objects_without_an_index_value_are_found_by_key_only() -> None:
    cache: Cache[str] = Cache(lambda observed: observed or None)
    cache.put("a", "")
    assert cache.get("a") == ""
    assert cache.pop("a") == ""
    assert cache.pop("a") is None
