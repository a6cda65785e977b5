"""The workload `catalog`: items filtered, sorted and paged at every request."""

from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, TypeAdapter

PAGE_SIZE = 20

Positive = Annotated[int, Query(ge=1)]


class Item(BaseModel):
    id: int
    sku: str
    name: str
    category: str
    price: int
    stock: int
    rating: int
    description: str


class Page(BaseModel):
    total: int
    page: int
    items: list[Item]
    nonce: str


items = TypeAdapter(list[Item]).validate_json(Path("data/catalog/items.json").read_bytes())
router = APIRouter()


@router.get("/catalog")
async def catalog(
    category: str, max_price: Positive, page: Positive, nonce: str, sort: Literal["price"] = "price"
) -> Page:
    found = [item for item in items if item.category == category and item.price <= max_price]
    found.sort(key=lambda item: (item.price, item.id))
    first = (page - 1) * PAGE_SIZE
    return Page(total=len(found), page=page, items=found[first : first + PAGE_SIZE], nonce=nonce)
