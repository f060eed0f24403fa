#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every public function of the device API has a comment of its own and a kernel that uses it.

    test_device_api.py ROOT

Public is what begins with wm and a capital. A kernel is one of examples/device/ or tests/simt/, which run with a check on
a GPU, the latter without one too. The first comment of a header says who may call, what it needs of shared memory and
registers, how exact it is, and where it comes from; docs/device.md has a row for each header.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
HEADERS = sorted((ROOT / "include/warpmath/device").iterdir())
DEFINITION = re.compile(r"^(?:WM_DEVICE|WM_BOTH|WM_CONSTEXPR)\s[^;{]*?\b(wm[A-Z_]\w*)\s*\(", re.M)


def functions(text):
    """Name of each public definition, and whether a comment stands before it, before the run of overloads that it is in
    (no blank line between them), or before the type that it makes."""
    last = False
    for match in DEFINITION.finditer(text):
        before = text[: match.start()].rstrip()
        template = re.search(r"template <[^{};]*>$", before)
        if template:
            before = before[: template.start()].rstrip()
        run = before.endswith("}") and "\n\n" not in text[len(before) : match.start()]
        makes = re.search(r"\*/\ntypedef struct (\w+) \{[^}]*\} \1;$", before)
        last = before.endswith("*/") or (run and last) or bool(makes and f" {makes.group(1)} wm" in match.group(0))
        if match.group(1)[2].isupper():
            yield match.group(1), last


def main():
    kernels = list((ROOT / "examples/device").glob("*")) + list((ROOT / "tests/simt").glob("*.cu"))
    used = set(re.findall(r"\bwm[A-Z]\w*", "\n".join(path.read_text() for path in kernels)))
    manual = (ROOT / "docs/device.md").read_text()
    wrong, seen = [], {}
    for header in HEADERS:
        text = header.read_text()
        if f"`{header.name}`" not in manual:
            wrong.append(f"docs/device.md does not name {header.name}")
        for name, commented in functions(text):
            seen[name] = seen.get(name, False) or commented
            if name not in used:
                wrong.append(f"{header.name}: no example and no test of tests/simt/ uses {name}")
    wrong += [f"{name} has no comment of its own" for name, commented in seen.items() if not commented]
    for line in sorted(set(wrong)):
        print(line)
    print(f"{len(seen)} public device functions in {len(HEADERS)} headers, {len(set(wrong))} faults")
    sys.exit(1 if wrong else 0)


main()
