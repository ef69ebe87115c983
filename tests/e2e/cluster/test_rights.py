"""The service runs under the rights it ships with, and they are few."""

import pytest

from app.cluster.errors import ClusterError
from app.cluster.kinds import NODE, QUEUE
from tests.e2e.cluster.kube import Kube
from tests.e2e.cluster.world import World


async def test_the_account_of_the_service_may_not_do_what_it_does_not_need(world: World, account: Kube) -> None:
    for path in ("/api/v1/secrets", "/apis/rbac.authorization.k8s.io/v1/clusterroles"):
        with pytest.raises(ClusterError) as refused:
            await account.list(path)
        assert refused.value.status == 403
    for path in (QUEUE.object_path(None, f"{world.run}-none"), NODE.object_path(None, f"{world.run}-none")):
        with pytest.raises(ClusterError) as refused:
            await account.delete(path)
        assert refused.value.status == 403
