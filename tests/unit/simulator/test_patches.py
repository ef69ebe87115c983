import copy
from typing import Any

import pytest

from app.simulator.objects import ApiError
from app.simulator.patches import json_patch, merge_patch, strategic_merge_patch


@pytest.mark.parametrize(
    ("target", "patch", "expected"),
    [  # RFC 7386, appendix A
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch(target: Any, patch: Any, expected: Any) -> None:
    before = copy.deepcopy(target)
    assert merge_patch(target, patch) == expected
    assert target == before


def test_json_patch_leaves_its_target_alone() -> None:
    target = {"list": [1, {"a": 2}]}
    patched = json_patch(target, [{"op": "replace", "path": "/list/1/a", "value": 3}])
    assert patched == {"list": [1, {"a": 3}]}
    assert target == {"list": [1, {"a": 2}]}


@pytest.mark.parametrize(
    ("operations", "code"),
    [
        ([{"op": "test", "path": "/a", "value": 2}], 422),
        ([{"op": "remove", "path": "/b"}], 422),
        ([{"op": "add", "path": "/a/b/c", "value": 2}], 422),
        ([{"op": "explode", "path": "/a"}], 422),
        ([{"path": "/a"}], 422),
        (["a"], 400),
        ({"op": "remove", "path": "/a"}, 400),
    ],
)
def test_json_patches_that_fail(operations: Any, code: int) -> None:
    with pytest.raises(ApiError) as refusal:
        json_patch({"a": 1}, operations)
    assert refusal.value.code == code


@pytest.mark.parametrize(
    ("target", "patch", "expected"),
    [
        (
            {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]},
            {"containers": [{"name": "b", "image": "2"}, {"name": "c"}]},
            {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}, {"name": "c"}]},
        ),
        (
            {"conditions": [{"type": "Ready", "status": "False"}]},
            {"conditions": [{"type": "Ready", "status": "True"}]},
            {"conditions": [{"type": "Ready", "status": "True"}]},
        ),
        (
            {"containers": [{"name": "a"}, {"name": "b"}]},
            {"containers": [{"name": "a", "$patch": "delete"}]},
            {"containers": [{"name": "b"}]},
        ),
        (
            {"containers": [{"name": "a"}]},
            {"containers": [{"name": "z"}, {"$patch": "replace"}]},
            {"containers": [{"name": "z"}]},
        ),
        ({"finalizers": ["a"]}, {"finalizers": ["b"]}, {"finalizers": ["a", "b"]}),
        ({"finalizers": ["a", "b"]}, {"$deleteFromPrimitiveList/finalizers": ["a"]}, {"finalizers": ["b"]}),
        ({"command": ["a"]}, {"command": ["b"]}, {"command": ["b"]}),
        ({"labels": {"a": "1", "b": "2"}}, {"labels": {"a": None}}, {"labels": {"b": "2"}}),
        ({"a": {"b": 1}}, {"a": {"$patch": "replace", "c": 2}}, {"a": {"c": 2}}),
        ({"a": {"b": 1}}, {"a": {"$patch": "delete"}}, {}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"$retainKeys": ["c"], "c": 3}}, {"a": {"c": 3}}),
        ({"env": [{"name": "a"}]}, {"$setElementOrder/env": [{"name": "a"}]}, {"env": [{"name": "a"}]}),
    ],
)
def test_strategic_merge_patch(target: Any, patch: Any, expected: Any) -> None:
    before = copy.deepcopy(target)
    assert strategic_merge_patch(target, patch) == expected
    assert target == before
