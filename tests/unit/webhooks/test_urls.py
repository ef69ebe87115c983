import pytest

from app.webhooks.addresses import Allowed
from app.webhooks.urls import fault_in_url


def code(url: str, *allow: str, http: bool = False) -> str | None:
    fault = fault_in_url(url, Allowed.of(allow), allow_http=http)
    return None if fault is None else fault[1]


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.com",
        "https://hooks.example.com/pumice?team=nlp&x=%20",
        "https://HOOKS.example.com:8443/",
        "https://hooks.example.com./",
        "https://müller.example/",
        "https://8.8.8.8/hook",
        "https://[2606:4700::1111]:443/",
        "https://a_b.example.com/",
    ],
)
def test_a_url_that_is_taken(url: str) -> None:
    assert code(url) is None


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("", "url"),
        ("hooks.example.com", "url"),
        ("/hook", "url"),
        ("http://hooks.example.com/", "url"),
        ("ftp://hooks.example.com/", "url"),
        ("file:///etc/passwd", "url"),
        ("javascript:alert(1)", "url"),
        ("https://hooks.example.com/\n", "url"),
        ("https://\uff10.example/", "url"),
        ("https:///hook", "url-host"),
        ("https:hooks.example.com", "url-host"),
        ("https://exa mple.com/", "url-host"),
        ("https://-a.example.com/", "url-host"),
        ("https://a..example.com/", "url-host"),
        ("https://" + "a" * 64 + ".com/", "url-host"),
        ("https://user@hooks.example.com/", "url-userinfo"),
        ("https://user:secret@hooks.example.com/", "url-userinfo"),
        ("https://hooks.example.com#@127.0.0.1/", "url-fragment"),
        ("https://hooks.example.com/#x", "url-fragment"),
        ("https://hooks.example.com:0/", "url-port"),
        ("https://hooks.example.com:99999/", "url-port"),
        ("https://127.1/", "url-host"),
        ("https://2130706433/", "url-host"),
        ("https://0x7f000001/", "url-host"),
        ("https://127.0.0.1/", "address-not-public"),
        ("https://127.0.0.1./", "address-not-public"),
        ("https://169.254.169.254/latest/meta-data/", "address-not-public"),
        ("https://0.0.0.0/", "address-not-public"),
        ("https://[::1]/", "address-not-public"),
        ("https://[::ffff:10.0.0.1]/", "address-not-public"),
        ("https://[64:ff9b::10.0.0.1]/", "address-not-public"),
        ("https://[2002:7f00:1::]/", "address-not-public"),
        ("https://localhost/", "address-not-public"),
        ("https://a.LocalHost:8443/", "address-not-public"),
    ],
)
def test_a_url_that_is_refused(url: str, expected: str) -> None:
    assert code(url) == expected


def test_what_the_operator_allows() -> None:
    assert code("http://hooks.example.com/", http=True) is None
    assert code("ftp://hooks.example.com/", http=True) == "url"
    assert code("https://10.1.2.3/", "10.0.0.0/8") is None
    assert code("https://localhost/", "localhost") is None
    assert code("https://127.0.0.1/", "localhost") == "address-not-public"
    assert code("https://127.0.0.1/", "127.0.0.1") is None


@pytest.mark.parametrize("url", ["https://user:hunter2@x.example/", "https://127.0.0.1/hunter2", "hunter2"])
def test_no_fault_repeats_what_was_sent(url: str) -> None:
    fault = fault_in_url(url, Allowed(), allow_http=False)
    assert fault is not None
    assert "hunter2" not in fault[0]
    assert "127.0.0.1" not in fault[0]
