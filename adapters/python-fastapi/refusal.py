"""How a request that FastAPI finds invalid is refused."""

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse


async def refuse(request: Request, error: RequestValidationError) -> JSONResponse:
    """422 with the paths of what is wrong in a JSON body, each once, sorted; 400 where there is no such body."""
    mistakes = error.errors()
    if all(is_in_body(mistake) for mistake in mistakes):
        paths = {".".join(map(str, mistake["loc"][1:])) for mistake in mistakes}
        return JSONResponse({"errors": sorted(paths)}, status_code=422)
    return JSONResponse({"detail": "Bad Request"}, status_code=400)


def is_in_body(mistake: dict) -> bool:
    """Whether there is a body of JSON, and the mistake is in it."""
    place = mistake["loc"]
    no_body = mistake["type"] == "missing" and len(place) == 1
    return place[0] == "body" and mistake["type"] != "json_invalid" and not no_body
