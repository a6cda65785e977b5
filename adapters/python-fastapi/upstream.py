"""The workload `upstream`: one call to another service."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import quote

from fastapi import APIRouter, FastAPI, HTTPException, Request
from httpx import AsyncClient, HTTPError, Limits
from pydantic import BaseModel

# As many connections at most as the other adapters keep.
CONNECTIONS = Limits(max_connections=64, max_keepalive_connections=64)


class Stock(BaseModel):
    item: str
    stock: int


class Answer(BaseModel):
    nonce: str
    upstream: Stock


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    base = os.environ.get("UPSTREAM_URL", "http://127.0.0.1:9000")
    async with AsyncClient(base_url=base, limits=CONNECTIONS) as client:
        app.state.upstream = client
        yield


router = APIRouter()


@router.get("/upstream/{nonce}")
async def upstream(nonce: str, request: Request) -> Answer:
    try:
        stock = await item(request.app.state.upstream, nonce)
    except (HTTPError, ValueError):
        raise HTTPException(502) from None
    return Answer(nonce=nonce, upstream=stock)


async def item(client: AsyncClient, name: str) -> Stock:
    response = await client.get(f"/item/{quote(name, safe='')}")
    if response.status_code != 200:
        raise ValueError(f"status {response.status_code}")
    return Stock.model_validate_json(response.content)
