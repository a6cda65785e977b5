"""A search asked again, written from results/README.md alone: its trials in their order, and its intervals."""

import hashlib
import json
import pathlib
import struct
import sys

summary = json.loads((pathlib.Path(sys.argv[1]) / "summary.json").read_text())
plan, cells = summary["plan"], summary["cells"]
wrong = 0


def compare(what, expected, found):
    global wrong
    if expected != found:
        wrong += 1
        print(f"{what}: expected {expected}, found {found}")


def stream(purpose, seed):
    """Numbers of 64 bits: ChaCha8 under the SHA-256 of what is drawn."""
    text = b"shootout " + struct.pack("<Q", len(purpose)) + purpose + struct.pack("<Q", seed)
    key = struct.unpack("<8I", hashlib.sha256(text).digest())
    block = 0
    while True:
        start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *key, block & 0xFFFFFFFF, block >> 32, 0, 0]
        state = start[:]

        def quarter(a, b, c, d):
            for x, y, z, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                state[x] = (state[x] + state[y]) & 0xFFFFFFFF
                mixed = state[z] ^ state[x]
                state[z] = (mixed << turn | mixed >> (32 - turn)) & 0xFFFFFFFF

        for _ in range(4):
            for i in range(4):
                quarter(i, 4 + i, 8 + i, 12 + i)
            for i in range(4):
                quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
        words = [(a + b) & 0xFFFFFFFF for a, b in zip(state, start)]
        for low, high in zip(words[::2], words[1::2]):
            yield low | high << 32
        block += 1


def below(draws, bound):
    last = 2**64 - 2**64 % bound
    return next(draw for draw in draws if draw < last) % bound


def shuffle(draws, items):
    for place in range(len(items) - 1, 0, -1):
        other = below(draws, place + 1)
        items[place], items[other] = items[other], items[place]


def ladder():
    if "ladder" not in plan:
        return plan["rates_rps"], 1
    steps = plan["ladder"]
    fine, coarse = steps.get("fine", 1.05), steps.get("coarse", 1.3)
    rungs, rate = [], float(steps["from"])
    while int(rate + 0.5) < steps["to"]:
        rungs.append(int(rate + 0.5))
        rate *= fine
    stride, product = 1, fine * fine
    while product <= coarse:
        stride, product = stride + 1, product * fine
    return sorted({*rungs, steps["to"]}), stride


RUNGS, STRIDE = ladder()
TRIALS = plan.get("trials", 3)


def state(tally):
    held, not_held, invalid = tally
    if max(held, not_held) > TRIALS / 2 and held != not_held:
        return "held" if held > not_held else "not held"
    return "invalid" if invalid >= TRIALS else "open"


def interval(tallies):
    stops = [rung for rung, tally in tallies.items() if state(tally) in ("not held", "invalid")]
    high = min(stops, default=None)
    held = [r for r, t in tallies.items() if state(t) == "held" and (high is None or r < high)]
    return max(held, default=None), high


def sure(tally, tallies):
    held, not_held, invalid = tally
    if TRIALS == 1 or held + not_held >= 7 * TRIALS or invalid >= TRIALS:
        return True
    agree = sum(max(t[0], t[1]) for t in tallies.values())
    differ = sum(min(t[0], t[1]) for t in tallies.values())
    return ((agree + 2) / (differ + 2)) ** abs(held - not_held) >= 1000


def following(tallies):
    open_rungs = [rung for rung, tally in tallies.items() if state(tally) == "open"]
    if open_rungs:
        return min(open_rungs)
    low, high = interval(tallies)
    if low is None and high is None:
        return 0
    if high is None and low < len(RUNGS) - 1:
        return min(low + STRIDE, len(RUNGS) - 1)
    if low is not None and high is not None and high - low > 1:
        return (low + high) // 2
    ends = [rung for rung in (high, low) if rung is not None and not sure(tallies[rung], tallies)]
    return min(ends, key=lambda rung: abs(tallies[rung][0] - tallies[rung][1]), default=None)


def name(of):
    return of["adapter"] + (f"@{of['label']}" if of["label"] else "")


# Of several attempts the last; the first one's place is the trial's.
trials = {}
for cell in cells:
    key = (cell["workload"], name(cell), cell["rate_rps"], cell["repetition"])
    if key not in trials or trials[key]["attempt"] < cell["attempt"]:
        trials[key] = cell
holes = {(hole["workload"], hole["adapter"]) for hole in summary["holes"]}
draws, asked = stream(b"order of trials", plan["seed"]), []
for workload in plan["workloads"]:
    climbing = {who: {} for who in plan["adapters"] if (workload, who) not in holes}
    while any(following(tallies) is not None for tallies in climbing.values()):
        order = [who for who in climbing if following(climbing[who]) is not None]
        shuffle(draws, order)
        for who in reversed(order):
            rung = following(climbing[who])
            tally = climbing[who].setdefault(rung, [0, 0, 0])
            asked.append((workload, who, RUNGS[rung], sum(tally) + 1))
            cell = trials.get(asked[-1])
            if cell is None:
                sys.exit(f"{asked[-1]} was not measured")
            tally[{True: 0, False: 1, None: 2}[cell["healthy"]]] += 1
    for row in summary["sustained"]:
        if row["workload"] == workload:
            ends = [None if rung is None else RUNGS[rung] for rung in interval(climbing[name(row)])]
            compare(f"interval of {name(row)}", ends, [row["rate_rps"], row["not_held_rps"]])
compare("trials", asked, list(trials))
sys.exit(5 if wrong else 0)
