"""A second verifier, written from results/README.md alone: sums and id, ledger, percentiles, coverage and
CPU per request of every cell. Prints what differs; exit 0 if nothing does, 5 if something does."""
import base64, csv, hashlib, json, math, pathlib, sys, zlib

root = pathlib.Path(sys.argv[1])
findings = []


def find(place, what):
    findings.append(f"{place}: {what}")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def sums():
    """{path: sum} of SHA256SUMS, held against the files."""
    text = (root / "SHA256SUMS").read_text()
    listed = {line[66:]: line[:64] for line in text.splitlines()}
    present = {p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()} - {"SHA256SUMS"}
    for path in sorted(present - set(listed)):
        find(path, "not listed")
    for path in sorted(listed):
        if path not in present:
            find(path, "missing")
        elif sha256((root / path).read_bytes()) != listed[path]:
            find(path, "its SHA-256 is not the listed one")
    if text != "".join(f"{listed[path]}  {path}\n" for path in sorted(listed, key=str.encode)):
        find("SHA256SUMS", "not sorted, or not one line each")
    return text, listed


def buckets(encoded):
    """Decodes a histogram into {index: count}."""
    raw = base64.b64decode(encoded, validate=True)
    assert raw[:4] == bytes.fromhex("1c849314") and int.from_bytes(raw[4:8], "big") == len(raw) - 8
    payload = zlib.decompress(raw[8:])
    assert payload[:4] == bytes.fromhex("1c849313") and int.from_bytes(payload[12:16], "big") == 3
    counts, index, at = {}, 0, 40
    while at < len(payload):
        number = 0
        for place in range(9):
            byte, at = payload[at], at + 1
            number |= (byte if place == 8 else byte & 0x7F) << (7 * place)
            if byte < 0x80:
                break
        value = (number >> 1) ^ -(number & 1)
        if value < 0:
            index -= value
        else:
            counts[index] = counts.get(index, 0) + value
            index += 1
    return counts


def bounds(index):
    """Lowest and highest value of a bucket, in ns."""
    if index < 2048:
        return index, index
    shift = index // 1024 - 1
    low = (1024 + index % 1024) << shift
    return low, low + (1 << shift) - 1


def clock(counts, total, censored):
    """The figures of a clock in us; `total` is what quantiles rank over."""
    n = sum(counts.values())
    ordered = sorted(counts)
    figures = {"count": n, "min": bounds(ordered[0])[0] / 1e3 if n else None}
    whole = n > 0 and not censored
    middle = lambda index: (bounds(index)[0] + bounds(index)[1] + 1) // 2
    figures["mean"] = sum(middle(i) * c for i, c in counts.items()) / n / 1e3 if whole else None
    figures["max"] = bounds(ordered[-1])[1] / 1e3 if whole else None
    for name, q in [("p50", 500), ("p90", 900), ("p99", 990), ("p999", 999)]:
        rank, below, value = -(-q * total // 1000), 0, None
        for index in ordered:
            below += counts[index]
            if below >= rank:
                value = bounds(index)[1] / 1e3
                break
        figures[name] = value if total * (1000 - q) >= 10_000 else None
    return figures


def compare(place, field, expected, found):
    same = expected == found or (expected is not None and found is not None
                                 and math.isclose(expected, found, rel_tol=1e-9))
    if not same:
        find(place, f"{field}: expected {expected}, found {found}")


def check(folder, digests):
    place, cell = f"{folder.name}/cell.json", json.loads((folder / "cell.json").read_text())
    ledger, clocks = cell["ledger"], {}
    for line in (folder / "latency.hlog").read_text().splitlines()[2:]:
        tag, _, _, _, encoded = line.split(",")
        into = clocks.setdefault(tag.removeprefix("Tag="), {})
        for index, count in buckets(encoded).items():
            into[index] = into.get(index, 0) + count
    scheduled, completed = ledger["scheduled"], ledger["completed"]
    if sum(ledger.values()) != 2 * scheduled or sum(clocks.get("response", {}).values()) != completed:
        find(place, "ledger: does not add up, or has not the responses of the hlog")
    for name, tag in [("response_us", "response"), ("service_us", "service"), ("lag_us", "lag")]:
        counts = {index: count for index, count in clocks.get(tag, {}).items() if count}
        total = scheduled if tag == "response" else sum(counts.values())
        for field, value in clock(counts, total, tag == "response" and completed < scheduled).items():
            compare(place, f"{name}.{field}", value, cell[name][field])
    compare(place, "coverage", completed / scheduled if scheduled else None, cell["coverage"])
    load = [row for row in csv.DictReader((folder / "samples.csv").open()) if row["phase"] == "load"]
    start = next((row["cpu_us"] for row in load if row["mark"] == "start"), "")
    end = next((row["cpu_us"] for row in reversed(load) if row["mark"] == "end"), "")
    grown = int(end) - int(start) if start and end else None
    cpu = grown / completed if grown is not None and grown >= 0 and completed else None
    compare(place, "cpu_us_per_request", cpu, cell["cpu_us_per_request"])
    for name, digest in digests.items():
        if cell["digests"].get(name) != digest:
            find(place, f"digests.{name}: not of this archive")
    return cell


text, listed = sums()
sources = "".join(f"{listed[p]}  {p}\n" for p in sorted(listed, key=str.encode) if p.startswith("sources/"))
digests = {"plan": sha256((root / "plan.yaml").read_bytes()), "sources": sha256(sources.encode()),
           "environment": sha256((root / "environment.json").read_bytes())}
cells = [check(folder, digests) for folder in sorted((root / "cells").iterdir())]
if json.loads((root / "summary.json").read_text())["cells"] != cells:
    find("summary.json", "cells: not those of the folders")
print("\n".join(findings) or f"{len(cells)} cells agree")
print("id", sha256(text.encode()))
sys.exit(5 if findings else 0)
