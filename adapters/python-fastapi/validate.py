"""The workload `validate`: a JSON order, judged by Pydantic."""

from collections.abc import Callable
from datetime import date
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Request
from fastapi.routing import APIRoute
from pydantic import AfterValidator, BaseModel, EmailStr, Field, ValidationInfo, field_validator

BODY_LIMIT = 64 * 1024


def is_day(text: str) -> str:
    date.fromisoformat(text)
    return text


# Pydantic's own date takes numbers and times too.
Day = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"), AfterValidator(is_day)]


class Customer(BaseModel):
    email: EmailStr


class Line(BaseModel):
    sku: Annotated[str, Field(pattern=r"^[A-Z]{3}-[0-9]{4}$")]
    # Strict: "2" is no number, nor is 2.0 a number of things.
    quantity: Annotated[int, Field(strict=True, ge=1, le=1000)]
    price: Annotated[int, Field(strict=True, ge=0, le=1_000_000)]


class Order(BaseModel):
    customer: Customer
    from_: Annotated[Day, Field(alias="from")]
    to: Day
    currency: Literal["EUR", "USD", "GBP", "CZK"]
    lines: Annotated[list[Line], Field(min_length=1, max_length=20)]
    nonce: Annotated[str, Field(min_length=1, max_length=64)]

    # On the field and not on the model, whose validators are not run where a field is wrong.
    @field_validator("to")
    @classmethod
    def is_after_from(cls, to: str, info: ValidationInfo) -> str:
        if "from_" in info.data and to <= info.data["from_"]:
            raise ValueError("not after `from`")
        return to


class Total(BaseModel):
    total: int
    nonce: str


class BoundedRequest(Request):
    """A request whose body has a limit: FastAPI reads any length."""

    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            body = bytearray()
            async for chunk in self.stream():
                body += chunk
                if len(body) > BODY_LIMIT:
                    raise HTTPException(413)
            self._body = bytes(body)
        return self._body


class BoundedRoute(APIRoute):
    """The documented way to give a route a request of its own."""

    def get_route_handler(self) -> Callable:
        handler = super().get_route_handler()

        async def bounded(request: Request):
            return await handler(BoundedRequest(request.scope, request.receive))

        return bounded


router = APIRouter(route_class=BoundedRoute)


@router.post("/validate")
async def validate(order: Order) -> Total:
    total = sum(line.quantity * line.price for line in order.lines)
    return Total(total=total, nonce=order.nonce)
