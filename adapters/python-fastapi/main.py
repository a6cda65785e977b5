"""FastAPI on one process of Uvicorn."""

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel

import catalog
import upstream
import validate
from refusal import refuse

# Without the schema there are no pages of documentation either: production needs none.
app = FastAPI(openapi_url=None, lifespan=upstream.lifespan)
app.add_exception_handler(RequestValidationError, refuse)
app.include_router(catalog.router)
app.include_router(upstream.router)
app.include_router(validate.router)


# A return type makes Pydantic write the JSON: FastAPI's documented way to a fast response.
class Hello(BaseModel):
    hello: str


# FastAPI routes HEAD only where it is told to.
@app.api_route("/", methods=["GET", "HEAD"])
async def ok() -> PlainTextResponse:
    return PlainTextResponse("ok")


@app.api_route("/hello/{nonce}", methods=["GET", "HEAD"])
async def hello(nonce: str) -> Hello:
    return Hello(hello=nonce)
