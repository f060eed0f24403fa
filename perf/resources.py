#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each kernel needs: registers, threads of a block, warps of a multiprocessor that fit by both, tensor instructions. From the objects of a
build, with nothing but an ELF reader, as CUDA's own tools are not on every machine that builds.

    perf/resources.py COMPILERS OBJECT.cu.o...            compares with perf/resources.csv
    perf/resources.py --write COMPILERS OBJECT.cu.o...    rewrites it

Fails, always, on a kernel with a stack frame or with loads or stores of local memory, and on one that lacks the tensor
instruction that NEEDS names. Where perf/resources.csv was made by the same nvcc over the same host compiler,
fails on a kernel whose numbers are others than there: so a change shows in the diff of the commit that makes it; kernels that came or went are only told.
With others the numbers are others'.

Sources: the layout by looking at what nvcc makes: .nv.info holds attributes of {format, attribute, length}. SASS has 16 bytes an instruction, of which the low 12 bits are
the operation (as nvdisasm shows them).
"""
import csv
import io
import os
import re
import struct
import subprocess
import sys

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "resources.csv")
COLUMNS = ["file", "kernel", "registers", "threads", "warps", "hgmma", "mma"]
HGMMA, MMA, LOCAL = {0x9F0}, {0x23C, 0x23F, 0x237}, {0x387, 0x983}  # HMMA DMMA IMMA; STL LDL
NEEDS = [(r"wm_matmul_(wgmma_(kernel|turns)|cut_kernel)|(tile_gemm|attend)\(", "hgmma"), (r"(dropout|sketch|attend_by_warps)\(", "mma")]
MAX_THREADS, REQUIRED_THREADS, FRAME, REGISTERS = 0x05, 0x10, 0x11, 0x2F


def images(data):
    """The sm_90a programs inside an object."""
    at = data.find(b"\x7fELF", 1)
    while at >= 0:
        if struct.unpack_from("<H", data, at + 18)[0] == 190:
            yield data[at:]
        at = data.find(b"\x7fELF", at + 4)


def sections(elf):
    table, size, count, names = struct.unpack_from("<Q", elf, 40)[0], *struct.unpack_from("<HHH", elf, 58)
    rows = [struct.unpack_from("<IIQQQQIIQQ", elf, table + i * size) for i in range(count)]
    strings = rows[names][4]
    for name, kind, _, _, offset, length, link, info, _, _ in rows:
        end = elf.index(b"\0", strings + name)
        yield elf[strings + name:end].decode(), kind, elf[offset:offset + length] if kind != 8 else b"\0" * length, link, info


def attributes(data):
    at = 0
    while at + 4 <= len(data):
        form, what, value = data[at], data[at + 1], struct.unpack_from("<H", data, at + 2)[0]
        body = data[at + 4:at + 4 + value] if form == 4 else b""
        at += 4 + len(body)
        yield what, value, body


def symbols(all_sections):
    names = next(s[2] for s in all_sections if s[0] == ".strtab")
    table = next(s[2] for s in all_sections if s[0] == ".symtab")
    for i in range(0, len(table), 24):
        name = struct.unpack_from("<I", table, i)[0]
        yield names[name:names.index(b"\0", name)].decode()


def kernels(elf):
    parts = list(sections(elf))
    by_name, names, frames, used = {s[0]: s for s in parts}, list(symbols(parts)), {}, {}
    for what, _, body in attributes(by_name.get(".nv.info", ("", 0, b"", 0, 0))[2]):
        if what in (FRAME, REGISTERS) and len(body) >= 8:
            index, value = struct.unpack_from("<II", body)
            (frames if what == FRAME else used)[names[index]] = value
    for section, _, code, _, _ in parts:
        if not section.startswith(".text."):
            continue
        name, threads = section[6:], 1024
        for what, _, body in attributes(by_name.get(".nv.info." + name, ("", 0, b"", 0, 0))[2]):
            if what in (MAX_THREADS, REQUIRED_THREADS) and len(body) >= 12:
                x, y, z = struct.unpack_from("<III", body)
                threads = x * y * z or threads
        operations = [struct.unpack_from("<H", code, i)[0] & 0xFFF for i in range(0, len(code), 16)]
        count = lambda wanted: sum(o in wanted for o in operations)
        yield name, used[name], threads, frames.get(name, 0), count(LOCAL), count(HGMMA), count(MMA)


def demangled(names):
    out = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    return [re.sub(r"^void ", "", line) for line in out.split("\n")]


def warps(registers, threads):
    """That fit on a multiprocessor: 64 at most, whole blocks of registers given to warps by 256."""
    block = (threads + 31) // 32
    each = (registers * 32 + 255) // 256 * 256
    return min(64 // block, 65536 // each // block) * block


def collect(objects):
    rows, bad = [], []
    for path in sorted(objects, key=os.path.basename):
        with open(path, "rb") as file:
            found = [k for elf in images(file.read()) for k in kernels(elf)]
        stem = os.path.basename(path)[:-len(".cu.o")]
        for (_, registers, threads, frame, local, hgmma, mma), name in zip(found, demangled([k[0] for k in found])):
            where = f"{stem}: {name}"
            if frame or local:
                bad.append(f"{where}: a stack frame of {frame} bytes, {local} accesses of local memory")
            for pattern, need in NEEDS:
                if re.search(pattern, name) and not (hgmma if need == "hgmma" else mma):
                    bad.append(f"{where}: no {need} instruction")
            rows.append([stem, name] + [str(x) for x in (registers, threads, warps(registers, threads), hgmma, mma)])
    return sorted(rows), bad


def text_of(compilers, rows):
    out = io.StringIO()
    out.write(f"# nvcc {compilers}, sm_90a; made by the build's target `resources`\n")
    csv.writer(out, lineterminator="\n").writerows([COLUMNS] + rows)
    return out.getvalue()


def main():
    arguments = sys.argv[1:]
    write = arguments[:1] == ["--write"]
    compilers, *objects = arguments[1 if write else 0:]
    objects = [path for path in objects if path.endswith(".cu.o")]
    rows, bad = collect(objects)
    now = text_of(compilers, rows)
    for line in bad:
        print(line)
    if not rows:
        sys.exit("no kernels found")
    if write:
        with open(TABLE, "w", encoding="utf-8") as file:
            file.write(now)
    with open(TABLE, encoding="utf-8") as file:
        kept = file.read()
    if kept.split("\n", 1)[0] == now.split("\n", 1)[0] and kept != now:
        old = {tuple(row[:2]): row for row in csv.reader(kept.split("\n")[2:]) if row}
        new = {tuple(row[:2]): row for row in rows}
        for key in sorted(old.keys() | new.keys()):
            if old.get(key) == new.get(key):
                continue
            if key in old and key in new:
                bad.append(key)
            print("-", *old.get(key, ["no", *key]))
            print("+", *new.get(key, ["no", *key]))
        print("perf/resources.csv is not this build's. If that is meant: cmake --build build/dev --target resources")
    print(f"{len(rows)} kernels, {len(bad)} complaints")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
