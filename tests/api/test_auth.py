from httpx import AsyncClient


async def test_the_bootstrap_admin_gets_in(client: AsyncClient) -> None:
    answer = await client.get("/v1/tokens")
    assert answer.status_code == 200
    assert answer.json() == {"items": [], "next_cursor": None}
