import base64
import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from cryptography.fernet import Fernet
from pydantic import SecretStr
from standardwebhooks import Webhook, WebhookVerificationError

from app.webhooks.sealing import SecretBox, Unreadable
from app.webhooks.signing import new_secret, signed_headers

# the vectors of the libraries of Standard Webhooks (libraries/*/tests, "test_sign_function")
KEY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
MESSAGE = "msg_p5jXN8AQM9LWM0D4loKWxJek"
AT = datetime.fromtimestamp(1614265330, tz=UTC)
BODY = '{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_the_vector_of_the_specification() -> None:
    assert signed_headers(MESSAGE, AT, BODY, [KEY]) == {
        "webhook-id": MESSAGE,
        "webhook-timestamp": "1614265330",
        "webhook-signature": SIGNATURE,
    }


def test_the_zone_and_the_part_of_a_second_do_not_matter() -> None:
    elsewhere = AT.astimezone(timezone(timedelta(hours=-7))) + timedelta(milliseconds=999)
    assert signed_headers(MESSAGE, elsewhere, BODY, [KEY])["webhook-signature"] == SIGNATURE


def test_two_keys_give_two_signatures_and_a_receiver_with_either_takes_them() -> None:
    old, new = new_secret(), new_secret()
    headers = signed_headers("msg_1", datetime.now(UTC), '{"name":"Müller"}', [new, old])
    assert len(headers["webhook-signature"].split(" ")) == 2
    for key in (old, new):
        assert Webhook(key).verify('{"name":"Müller"}'.encode(), headers) == {"name": "Müller"}
    with pytest.raises(WebhookVerificationError):
        Webhook(new_secret()).verify('{"name":"Müller"}'.encode(), headers)


@pytest.mark.parametrize("changed", ["webhook-id", "webhook-timestamp", "body"])
def test_nothing_that_is_signed_can_be_changed(changed: str) -> None:
    key, now = new_secret(), datetime.now(UTC)
    headers, body = signed_headers("msg_1", now, json.dumps({"a": 1}), [key]), json.dumps({"a": 1})
    later = str(int(now.timestamp()) + 1)
    given = {"webhook-id": "msg_2", "webhook-timestamp": later, "body": json.dumps({"a": 2})}[changed]
    if changed == "body":
        body = given
    else:
        headers[changed] = given
    with pytest.raises(WebhookVerificationError):
        Webhook(key).verify(body, headers)


def test_a_secret_has_256_bits_and_is_never_the_same() -> None:
    secrets = {new_secret() for _ in range(100)}
    assert len(secrets) == 100
    assert all(len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) == 32 for secret in secrets)


def test_a_box_without_keys_stores_a_secret_as_it_is() -> None:
    box, secret = SecretBox([]), new_secret()
    assert box.seal(secret) == secret
    assert box.open(secret) == secret


def test_a_box_with_keys_hides_a_secret_and_reads_what_older_keys_hid() -> None:
    first, second = (SecretStr(Fernet.generate_key().decode()) for _ in range(2))
    secret, plain = new_secret(), new_secret()
    stored = SecretBox([first]).seal(secret)
    assert secret.removeprefix("whsec_") not in stored
    assert SecretBox([second, first]).open(stored) == secret
    assert SecretBox([second, first]).open(plain) == plain  # from before there were keys
    for box in (SecretBox([second]), SecretBox([])):
        with pytest.raises(Unreadable):
            box.open(stored)
