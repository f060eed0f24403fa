#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library's kernels and the device examples, compiled for sm_80, the oldest GPU that the default build serves.

    test_sm80.py NVCC VERSION ROOT             what changed since perf/resources_sm80.csv was made, and a share of the rest
    test_sm80.py NVCC VERSION ROOT --all       all of it, about 80 s of one core
    test_sm80.py NVCC VERSION ROOT --write     what changed, and writes the table

A row holds the hash of a source's code (cmake/warpmath_verified.cmake), how many kernels it has, the most registers that
one takes, and which spill. The share is another one each day, so that the table cannot be wrong for long. Fails on what
does not compile, on a spill that is not in SPILLS below, and, with the table's own compiler, where the same code has other
numbers than the table's; code that is not in the table is compiled each time, and told. Kernels that only newer GPUs have are empty here: their bodies are left out for sm_80.
"""
import csv
import datetime
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

NVCC, VERSION, ROOT, *MODE = sys.argv[1:]
sys.path.insert(0, os.path.join(ROOT, "perf"))
import resources

TABLE = os.path.join(ROOT, "perf", "resources_sm80.csv")
COLUMNS = ["source", "hash", "kernels", "registers", "spills"]
SHARES = 12  # days until each source had its turn
# Examples of what sm_90 brought: the copy engine, clusters, wgmma.
NEWER = {"chained_products", "long_transforms", "tile_gemm", "transforms"}
# Kernels whose launch bounds fit Hopper's compiler and leave sm_80 a register or two short: 4 to 52 bytes.
SPILLS = {
    "device/fft_lines.cu": ["wm_fft_lines_kernel<1024, 4, 16, 2, wmC128>", "wm_fft_lines_kernel<2048, 2, 16, 2, wmC128>",
                            "wm_fft_lines_kernel<512, 8, 16, 2, wmC128>"],
    "device/matmul_batched_small.cu": ["wm_matmul_batched_small_kernel<double, 0, 1, 4>",
                                       "wm_matmul_batched_small_kernel<float, 16, 4, 4>"],
    "device/matmul_naive.cu": ["wm_matmul_naive_c128"],
    "device/matmul_skinny.cu": ["wm_matmul_skinny_kernel<64, 64>"],
    "device/matmul_slices.cu": ["wm_matmul_slices_kernel<wm_slices_shape<float2, 64, 64, 8, 4, 1, 8> >"],
    "device/matmul_tiled.cu": ["wm_matmul_tiled_f32_128"],
}


def sources():
    for folder in ("device", "examples/device"):
        for name in sorted(os.listdir(os.path.join(ROOT, folder))):
            if name.endswith(".cu") and (folder == "device" or name[:-3] not in NEWER):
                yield f"{folder}/{name}"


def hashes(names):
    script = os.path.join(ROOT, "cmake", "warpmath_verified.cmake")
    said = subprocess.run(["cmake", f"-DROOT={ROOT}", "-DFILES=" + ";".join(names), "-P", script],
                          capture_output=True, text=True, check=True).stderr
    return dict(line.split(",") for line in said.split())


def compiled(source):
    """Number of kernels, most registers and the names of those that spill; or what the compiler said."""
    with tempfile.TemporaryDirectory() as folder:
        cubin = os.path.join(folder, "k.cubin")
        run = subprocess.run([NVCC, "-std=c++17", "-O2", "-gencode", "arch=compute_80,code=sm_80", "-DWM_HAVE_CUDA=1",
                              "-D_GNU_SOURCE", "-w", "-I" + os.path.join(ROOT, "include"), "-I" + ROOT, "-cubin", "-o",
                              cubin, os.path.join(ROOT, source)], capture_output=True, text=True)
        if run.returncode:
            return (run.stdout + run.stderr)[:2000]
        with open(cubin, "rb") as file:
            found = list(resources.kernels(file.read()))
    names = resources.demangled([k[0] for k in found])
    spilling = sorted(re.sub(r"\(.*", "", name) for k, name in zip(found, names) if k[3] or k[4])
    return [str(len(found)), str(max((k[1] for k in found), default=0)), "; ".join(spilling)]


def read_table():
    with open(TABLE, encoding="utf-8") as file:
        head, *lines = file.read().splitlines()
    return head, {row[0]: row for row in csv.reader(lines[1:])}


def main():
    names = list(sources())
    now = hashes(names)
    head = f"# nvcc {VERSION}, sm_80; made by tests/test_sm80.py --write"
    kept_head, kept = read_table() if os.path.exists(TABLE) else ("", {})
    changed = {n for n in names if kept.get(n, ["", ""])[1] != now[n] or (MODE == ["--write"] and kept_head != head)}
    today = datetime.date.today().toordinal()
    due = [n for i, n in enumerate(names) if n in changed or MODE == ["--all"] or (not MODE and (i + today) % SHARES == 0)]
    with ThreadPoolExecutor(2) as pool:
        made = dict(zip(due, pool.map(compiled, due)))
    bad, rows = [], []
    for name in names:
        new = made.get(name)
        if isinstance(new, str):
            bad.append(f"{name} does not compile for sm_80:\n{new}")
            continue
        row = [name, now[name], *new] if new else kept[name]
        rows.append(row)
        if row[4] != "; ".join(SPILLS.get(name, [])):
            bad.append(f"{name} spills on sm_80: {row[4] or 'nothing'}, expected: {SPILLS.get(name, 'nothing')}")
        if kept_head == head and name not in changed and kept[name] != row:
            bad.append(f"perf/resources_sm80.csv: {kept[name]} is {row}")
    if MODE == ["--write"] and not bad:
        with open(TABLE, "w", encoding="utf-8", newline="") as file:
            file.write(head + "\n")
            csv.writer(file, lineterminator="\n").writerows([COLUMNS] + rows)
    for line in bad:
        print(line)
    for name in [] if MODE == ["--write"] else sorted(changed):
        print(f"{name} is not in perf/resources_sm80.csv as it is now: tests/test_sm80.py --write")
    print(f"{len(names)} sources, {len(due)} compiled for sm_80 now, {len(bad)} complaints")
    sys.exit(1 if bad else 0)


main()
