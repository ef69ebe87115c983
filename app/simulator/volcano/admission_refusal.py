"""What a webhook answers when it says no."""


class Refusal(Exception):
    """The message of a denial, without the webhook's name."""


def go_list(items: list[str]) -> str:
    """A list of texts as Go's `%v` prints it."""
    return f"[{' '.join(items)}]"
