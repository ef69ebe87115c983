"""The cluster: the only package that imports kubernetes_asyncio."""
