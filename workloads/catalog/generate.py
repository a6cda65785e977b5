#!/usr/bin/env python3
"""Wrote data/items.json and expected/*.json, once: both are fixed from then on. Always the same bytes."""
import json
import os

CATEGORIES = {"tools": "TOO", "books": "BOO", "toys": "TOY", "garden": "GAR"}
MAX_PRICES = (8000, 20000)
PAGES = (1, 2, 3)  # the third is not full below 8000: parity alone asks for it
PER_PAGE = 20

ADJECTIVES = "Sturdy Light Compact Classic Folding Portable Polished Rustic Modern Handy".split()
NOUNS = {
    "tools": "Hammer Wrench Chisel Ladder Clamp Drill Level Saw".split(),
    "books": "Atlas Novel Cookbook Almanac Reader Guide Diary Sketchbook".split(),
    "toys": "Train Puzzle Kite Robot Blocks Marbles Castle Yo-yo".split(),
    "garden": "Spade Rake Lantern Planter Trellis Hose Bench Birdhouse".split(),
}
WORDS = "made to last for years of daily use with care and sold in a plain box without any plastic around it".split()

state = 20261130


def below(bound):
    """A small generator of its own (Park and Miller): no library's version changes it."""
    global state
    state = state * 48271 % 2147483647
    return state % bound


def item(number):
    category = list(CATEGORIES)[below(4)]
    noun = NOUNS[category][below(8)]
    start = below(len(WORDS) - 12)
    return {
        "id": number,
        "sku": f"{CATEGORIES[category]}-{number:04}",
        "name": f"{ADJECTIVES[below(10)]} {noun}",
        "category": category,
        # Whole tens of cents, so that equal prices are common and the second key of the order counts.
        "price": MAX_PRICES[below(2)] if number % 25 == 0 else 500 + 50 * below(480),
        "stock": below(100),
        "rating": 1 + below(5),
        "description": f"{noun} " + " ".join(WORDS[start : start + 12]),
    }


def write(name, text):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "\n")


items = [item(number) for number in range(1, 501)]
write("data/items.json", "[\n" + ",\n".join(json.dumps(each, separators=(",", ":")) for each in items) + "\n]")

for category in CATEGORIES:
    for max_price in MAX_PRICES:
        found = [each for each in items if each["category"] == category and each["price"] <= max_price]
        found.sort(key=lambda each: (each["price"], each["id"]))
        for page in PAGES:
            shown = found[(page - 1) * PER_PAGE : page * PER_PAGE]
            answer = {"total": len(found), "page": page, "items": shown, "nonce": "{nonce}"}
            write(f"expected/{category}-{max_price}-{page}.json", json.dumps(answer, indent=1))
