"""Which objects are known to be gone for good."""

from collections import OrderedDict

from app.simulator.objects import Object

_REMEMBERED = 4096


class Departed:
    """The uids of deleted objects, the last ones only.

    The answer to a write or a read may arrive after the watch has shown that the object was deleted, if the API server
    is some way off. Such an answer must not bring the object back: no watch event would take it away again.
    """

    def __init__(self) -> None:
        self._uids: OrderedDict[str, None] = OrderedDict()

    def add(self, obj: Object) -> None:
        """An object was deleted."""
        uid = obj["metadata"].get("uid")
        if uid is not None:
            self._uids[uid] = None
        while len(self._uids) > _REMEMBERED:
            self._uids.popitem(last=False)

    def __contains__(self, obj: Object) -> bool:
        return obj["metadata"].get("uid") in self._uids
