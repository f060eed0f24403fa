#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plots the accuracy of transforms, length by length, as SVG.

    plot_accuracy.py rows.csv title > docs/fft_accuracy.svg

rows.csv is what tests/test_fft_gpu writes: kind,type,n,error, the L2 error in units of u sqrt(log2 n). One panel a type;
lengths with a prime factor above 31 in another colour; the gates, 0.9 and 1.6, as lines.
"""
import csv
import sys

WIDTH, HEIGHT, LEFT, TOP, GAP = 760, 250, 50, 40, 50
SMOOTH, PRIME, TEXT = "#1f6fb4", "#d1701a", "#444"


def greatest_prime(n):
    p, greatest = 2, 1
    while p * p <= n:
        while n % p == 0:
            greatest, n = p, n // p
        p += 1
    return max(greatest, n)


def panel(rows, name, top, last, most):
    def x(n):
        return LEFT + (WIDTH - LEFT - 10) * n / last

    def y(error):
        return top + HEIGHT * (1 - error / most)

    out = [f'<rect x="{LEFT}" y="{top}" width="{WIDTH - LEFT - 10}" height="{HEIGHT}" fill="none" stroke="{TEXT}"/>',
           f'<text x="{LEFT}" y="{top - 6}">{name}</text>']
    for gate, colour in ((0.9, SMOOTH), (1.6, PRIME)):
        out.append(f'<path d="M{LEFT} {y(gate):.1f}H{WIDTH - 10}" stroke="{colour}" stroke-dasharray="6 3"/>')
    for tick in (0, 0.5, 1, 1.5):
        out.append(f'<text x="{LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick}</text>')
    for n in range(0, last + 1, max(last // 8, 1)):
        out.append(f'<text x="{x(n):.1f}" y="{top + HEIGHT + 14}" text-anchor="middle">{n}</text>')
    for colour, wanted in ((SMOOTH, True), (PRIME, False)):  # one path of dots a colour: a small file
        dots = "".join(f"M{x(n):.1f} {y(e):.1f}h0" for n, e in rows if (greatest_prime(n) <= 31) == wanted)
        out.append(f'<path d="{dots}" stroke="{colour}" stroke-width="2" stroke-linecap="round"/>')
    return out


def main():
    types = {}
    with open(sys.argv[1], newline="", encoding="utf-8") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            if row["kind"] == "c2c":
                types.setdefault(row["type"], []).append((int(row["n"]), float(row["error"])))
    last = max(n for rows in types.values() for n, _ in rows)
    most = max(1.8, max(e for rows in types.values() for _, e in rows) * 1.05)
    height = TOP + len(types) * (HEIGHT + GAP) + 10
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
          f'font-family="sans-serif" font-size="11" fill="{TEXT}">')
    print('<rect width="100%" height="100%" fill="#fff"/>')
    print(f'<text x="{LEFT}" y="16" font-size="13">{sys.argv[2]}</text>')
    for i, name in enumerate(sorted(types)):
        label = f"{name}: L2 error / (u sqrt(log2 n)), blue: prime factors up to 31, orange: larger; dashed: the gates"
        print("\n".join(panel(types[name], label, TOP + i * (HEIGHT + GAP), last, most)))
    print("</svg>")


main()
