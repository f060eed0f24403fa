#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every public function of the device API has a comment that tells what a caller must know, and a kernel that uses it.

    test_device_api.py ROOT

Public is what begins with wm and a capital. Its own comment says who calls; registers or shared memory; alignment, where
memory is passed; accuracy; source. What it leaves to `the top` stands in the first comment of its header. A constant says
that it is one. A kernel is one of examples/device/ or tests/simt/, which run with a check on a GPU, the latter without one
too; docs/device.md has a row for each header.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
HEADERS = sorted((ROOT / "include/warpmath/device").iterdir())
DEFINITION = re.compile(r"^(WM_DEVICE|WM_BOTH|WM_CONSTEXPR)\s[^;{]*?\b(wm[A-Z_]\w*)\s*\(([^{;]*)\)\s*\{", re.M)
WHO = re.compile(r"\b(any thread|all lanes|all threads|all THREADS threads|every thread)\b", re.I)
FACTS = {
    "registers or shared memory": re.compile(r"\bregisters?\b|\bsmem:", re.I),
    "accuracy": re.compile(r"\baccuracy|\berror\b|\bexact\b|\bbits\b|\brounded\b|\broundings\b|\border of\b", re.I),
    "source": re.compile(r"\bsources?\b", re.I),
}


def first_comment(text):
    """The head of a header, behind the line with the licence."""
    comments = re.findall(r"/\*(?!\*).*?\*/", text.split("\n", 1)[1], re.S)
    return plain(comments[0]) if comments else ""


def plain(comment):
    return re.sub(r"\s*\n \*[ \t]*", " ", comment)


def own_comment(text, start):
    """The doc comment right before a definition, its template line aside."""
    before = re.sub(r"template <[^{};]*>$", "", text[:start].rstrip()).rstrip()
    match = re.search(r"/\*\*((?:(?!\*/).)*)\*/$", before, re.S)
    return plain(match.group(1)) if match else ""


def functions(text):
    """Kind, name, parameters and comment of each public definition."""
    for match in DEFINITION.finditer(text):
        if match.group(2)[2].isupper():
            yield match.group(1), match.group(2), match.group(3), own_comment(text, match.start())


def lacks(kind, parameters, comment, head):
    """What the comment of a function does not say."""
    if not comment:
        return ["a comment of its own"]
    if kind == "WM_CONSTEXPR":
        return [] if "constant" in comment else ["that it is a constant"]
    missing = [] if WHO.search(comment) else ["who calls"]
    clauses = re.split(r"[;.]\s", comment)
    for fact, pattern in FACTS.items():
        said = [clause for clause in clauses if pattern.search(clause)]
        if not said:
            missing.append(fact)
        elif all("the top" in clause for clause in said) and not pattern.search(head):
            missing.append(fact + ", which the top does not say either")
    if "*" in parameters and not re.search(r"\baligned\b|\balignment\b", comment):
        missing.append("alignment")
    return missing


def check_the_check():
    """A comment that says all passes; each clause that is struck out is missed."""
    clauses = ["Sum of x", "all lanes", "12 registers", "x aligned to 8 bytes", "order of sums, source: see the top. "]
    head = "The order of operands is fixed. Source: Blelloch."
    assert lacks("WM_DEVICE", "const T *x", "; ".join(clauses), head) == []
    for i, missing in [(1, 1), (2, 1), (3, 1), (4, 2)]:
        assert len(lacks("WM_DEVICE", "const T *x", "; ".join(clauses[:i] + clauses[i + 1 :]), head)) == missing, clauses[i]
    assert len(lacks("WM_DEVICE", "T x", "; ".join(clauses), "No word of it.")) == 2
    assert lacks("WM_CONSTEXPR", "int n", "Bytes of n.", head) and lacks("WM_DEVICE", "T x", "", head)


def main():
    check_the_check()
    kernels = list((ROOT / "examples/device").glob("*")) + list((ROOT / "tests/simt").glob("*.cu"))
    used = set(re.findall(r"\bwm[A-Z]\w*", "\n".join(path.read_text() for path in kernels)))
    manual = (ROOT / "docs/device.md").read_text()
    wrong, count, names = [], 0, set()
    for header in HEADERS:
        text = header.read_text()
        if f"`{header.name}`" not in manual:
            wrong.append(f"docs/device.md does not name {header.name}")
        for kind, name, parameters, comment in functions(text):
            count += 1
            names.add(name)
            wrong += [f"{header.name}: {name} lacks {what}" for what in lacks(kind, parameters, comment, first_comment(text))]
            if name not in used:
                wrong.append(f"{header.name}: no example and no test of tests/simt/ uses {name}")
    for line in wrong:
        print(line)
    print(f"{len(names)} public device functions, {count} definitions in {len(HEADERS)} headers, {len(wrong)} faults")
    sys.exit(1 if wrong else 0)


main()
