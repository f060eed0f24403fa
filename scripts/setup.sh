# SPDX-License-Identifier: Apache-2.0
# What scripts/demo and scripts/test share: find what a build needs, install what is missing, configure, build.
# Sourced by them, from the repository's root; not run by itself.

# --- Saying things -------------------------------------------------------------------------------------------------

say() { printf '%s\n' "$*"; }
die() {
    printf '%s: %s\n' "$0" "$*" >&2
    exit 1
}

# step NAME COMMAND…: runs the command and says how long it took. The command's own output passes through.
step() {
    local name=$1 began=$SECONDS status=0
    shift
    say "--- $name"
    "$@" || status=$?
    if [ "$status" -eq 0 ]; then
        say "--- $name: done in $((SECONDS - began)) s"
    else
        say "--- $name: FAILED after $((SECONDS - began)) s"
    fi
    return "$status"
}

# quietly LOG COMMAND…: keeps the output in build/LOG.log and shows its end only if the command fails.
quietly() {
    local log=build/$1.log
    shift
    mkdir -p build
    if "$@" >"$log" 2>&1; then return 0; fi
    tail -n 30 "$log" >&2
    say "(all of it: $log)" >&2
    return 1
}

cores() { nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2; }

# --- What is needed ------------------------------------------------------------------------------------------------
# One line each:  check | what it is | apt | dnf | conda | spack
# A check is a function of this file, have_CHECK. Lines whose name begins with + are wanted, but a build works without.

needs_of_demo='
compiler   | a C and C++ compiler        | gcc g++ libc6-dev                 | gcc gcc-c++ glibc-devel             | c-compiler cxx-compiler | gcc
cmake      | CMake                       | cmake                             | cmake                               | cmake                   | cmake
ninja      | Ninja                       | ninja-build                       | ninja-build                         | ninja                   | ninja
+openblas  | OpenBLAS, the CPU reference | libopenblas0-pthread              | openblas-threads                    | libopenblas             | openblas
+fftw      | FFTW, the CPU reference     | libfftw3-double3 libfftw3-single3 | fftw-libs-double fftw-libs-single   | fftw                    | fftw
'
needs_of_test="$needs_of_demo"'
cmocka     | cmocka, the test library    | libcmocka-dev                     | libcmocka-devel                     | cmocka                  | cmocka
dlpack     | the header of DLPack           | libdlpack-dev                     | dlpack-devel                        | dlpack                  | dlpack
numpy      | NumPy for /usr/bin/python3  | python3-numpy                     | python3-numpy                       | numpy                   | py-numpy
+random123 | Random123, an oracle        | librandom123-dev                  | Random123-devel                     | random123               | random123
+dieharder | dieharder, a statistics suite | dieharder                      | dieharder                           | dieharder               | dieharder
pkgconfig  | pkg-config                  | pkg-config                        | pkgconf-pkg-config                  | pkg-config              | pkgconf
'
needs_of_all="$needs_of_test"'
clang14    | clang-format and -tidy 14   | clang-format-14 clang-tidy-14     | clang-tools-extra                   | clang-tools=14          | llvm@14
'

have_compiler() {
    local cc=${CC:-cc} cxx=${CXX:-c++}
    command -v "$cc" >/dev/null && command -v "$cxx" >/dev/null &&
        printf '#include <stdlib.h>\n' | "$cc" -E -x c - >/dev/null 2>&1
}
have_cmake() { command -v cmake >/dev/null; }
have_ninja() { command -v ninja >/dev/null; }
have_cmocka() {
    printf '#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <setjmp.h>\n#include <cmocka.h>\n' |
        "${CC:-cc}" -E -x c - >/dev/null 2>&1
}
have_dlpack() { printf '#include <dlpack/dlpack.h>\n' | "${CC:-cc}" -E -x c - >/dev/null 2>&1; }
have_numpy() { /usr/bin/python3 -c 'import numpy' >/dev/null 2>&1; }
have_dieharder() { command -v dieharder >/dev/null; }
have_random123() {
    printf '#include <Random123/philox.h>\n' | "${CC:-cc}" -E -x c - >/dev/null 2>&1
}
have_pkgconfig() { command -v pkg-config >/dev/null; }
have_clang14() { command -v clang-format-14 >/dev/null && command -v clang-tidy-14 >/dev/null; }
have_openblas() { have_library libopenblas.so.0 || have_library libopenblasp.so.0; }
have_fftw() { have_library libfftw3.so.3 && have_library libfftw3f.so.3; }

# Whether the dynamic loader would find the soname.
have_library() {
    local folder
    # Not grep -q: it leaves at the first match, ldconfig dies of that now and then, and pipefail calls it missing.
    PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | grep "[[:space:]]$1 " >/dev/null && return 0
    local IFS=:
    for folder in ${LD_LIBRARY_PATH:-} ${CONDA_PREFIX:+$CONDA_PREFIX/lib}; do
        [ -e "$folder/$1" ] && return 0
    done
    return 1
}

trim() {
    local text=$1
    text=${text#"${text%%[![:space:]]*}"}
    printf '%s' "${text%"${text##*[![:space:]]}"}"
}

# find_missing NEEDS: fills the arrays missing_what, missing_apt, … and missing_required (0 if all of it is optional).
find_missing() {
    local check what apt dnf conda spack
    missing_what=() missing_apt=() missing_dnf=() missing_conda=() missing_spack=() missing_required=0
    while IFS='|' read -r check what apt dnf conda spack; do
        check=$(trim "$check")
        [ -n "$check" ] || continue
        "have_${check#+}" && continue
        missing_what+=("$(trim "$what")")
        missing_apt+=("$(trim "$apt")")
        missing_dnf+=("$(trim "$dnf")")
        missing_conda+=("$(trim "$conda")")
        missing_spack+=("$(trim "$spack")")
        [ "$check" != "${check#+}" ] || missing_required=1
    done <<<"$1"
}

# say_missing: what is missing and how each package manager calls it.
say_missing() {
    say "Missing: $(printf '%s; ' "${missing_what[@]}" | sed 's/; $/./')"
    say "  apt:   apt-get install ${missing_apt[*]}"
    say "  dnf:   dnf install ${missing_dnf[*]}"
    say "  conda: conda install -c conda-forge ${missing_conda[*]}"
    say "  spack: spack install ${missing_spack[*]}"
}

# --- Installing ----------------------------------------------------------------------------------------------------

# as_root COMMAND…: directly or through sudo; fails where neither is possible.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

can_be_root() {
    [ "$(id -u)" -eq 0 ] && return 0
    command -v sudo >/dev/null || return 1
    # With a terminal sudo may ask for a password; without one it must not need to.
    sudo -n true 2>/dev/null || [ -t 0 ]
}

apt_get() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -q -o DPkg::Lock::Timeout=120 -o Acquire::Retries=2 "$@"
}

apt_install() {
    local packages=$1 package known=1
    # A bare image has no package lists, or old ones: fetch them when a package is unknown or cannot be had.
    for package in $packages; do
        apt-cache show "$package" >/dev/null 2>&1 || known=0
    done
    if [ "$known" -eq 1 ] && quietly apt apt_get install --no-install-recommends $packages 2>/dev/null; then return 0; fi
    say "Fetching package lists (apt-get update)."
    quietly apt apt_get update || return 1
    quietly apt apt_get install --no-install-recommends $packages
}

# install_missing NEEDS INSTALL(0|1): returns when everything that a build cannot do without is there, else explains and
# ends the script.
install_missing() {
    find_missing "$1"
    [ ${#missing_what[@]} -gt 0 ] || return 0
    if [ "$2" -eq 0 ] || ! command -v apt-get >/dev/null || ! can_be_root; then
        say_missing
        [ "$missing_required" -eq 1 ] || { say "Going on without."; return 0; }
        [ "$2" -eq 0 ] && die "install these, then run it again."
        command -v apt-get >/dev/null || die "this system has no apt-get: install these by hand, then run it again."
        die "installing needs root or sudo: install these by hand, or run it as root."
    fi
    local packages="${missing_apt[*]}"
    say "Installing with apt-get: $packages"
    local began=$SECONDS
    apt_install "$packages" ||
        die "apt-get could not install them. Is the network up? It is needed once, for: $packages"
    say "Installed in $((SECONDS - began)) s."
    find_missing "$1"
    [ ${#missing_what[@]} -eq 0 ] || [ "$missing_required" -eq 0 ] ||
        { say_missing; die "apt-get succeeded, but these are still not found."; }
}

# --- Versions ------------------------------------------------------------------------------------------------------

# at_least HAVE WANTED: compares dotted versions.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

check_versions() {
    local version
    version=$(cmake --version | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')
    at_least "$version" 3.25 ||
        die "CMake $version is too old; 3.25 or newer is needed: pip install cmake, conda install -c conda-forge cmake," \
            "or a newer distribution (Debian 12, Ubuntu 24.04)."
    # The compiler must know C11, C++17 and the AVX-512 function targets.
    version=$(printf '__clang_major__ __GNUC__\n' | "${CC:-cc}" -E -P -x c - 2>/dev/null | tail -n 1)
    case $version in
    __clang_major__\ *) at_least "${version#* }" 9 || die "GCC ${version#* } is too old; GCC 9 or Clang 10 is needed." ;;
    [0-9]*\ *) at_least "${version% *}" 10 || die "Clang ${version% *} is too old; GCC 9 or Clang 10 is needed." ;;
    *) die "the compiler ${CC:-cc} is neither GCC nor Clang; set CC to one of them." ;;
    esac
}

# --- CUDA ----------------------------------------------------------------------------------------------------------

toolkit_hint='To build for GPUs too, install the CUDA toolkit 13.0 or newer and run this again:
  developer.nvidia.com/cuda-downloads, or: conda install -c conda-forge "cuda-nvcc>=13"; or: spack install cuda@13:'

nvcc_version() { "$1" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p'; }

# An nvcc: CUDACXX where that is set, else the first that is new enough on PATH, in CUDA_HOME, or where the toolkit
# installs itself; else the first of these, which the caller then finds too old.
find_nvcc() {
    local candidate first='' IFS=$'\n'
    [ -z "${CUDACXX:-}" ] || { command -v "$CUDACXX"; return; }
    for candidate in $(type -ap nvcc) "${CUDA_HOME:-/nowhere}/bin/nvcc" /usr/local/cuda/bin/nvcc \
        $(printf '%s\n' /usr/local/cuda-*/bin/nvcc | sort -rV); do
        [ -x "$candidate" ] || continue
        first=${first:-$candidate}
        ! at_least "$(nvcc_version "$candidate")" 13.0 || { printf '%s' "$candidate"; return; }
    done
    printf '%s' "$first"
}

# choose_cuda: fills cuda_options for CMake, and says what is built and why. WARPMATH_CUDA is ON, OFF or AUTO.
choose_cuda() {
    local nvcc version wanted=${WARPMATH_CUDA:-AUTO}
    cuda_options=(-DWARPMATH_CUDA=OFF)
    case $wanted in
    ON | AUTO) ;;
    OFF) say "CUDA: off, as WARPMATH_CUDA says. The CPU place alone is built."; return ;;
    *) die "WARPMATH_CUDA is '$wanted'; ON, OFF or AUTO is meant." ;;
    esac
    nvcc=$(find_nvcc)
    if [ -z "$nvcc" ]; then
        [ "$wanted" = AUTO ] || die "WARPMATH_CUDA=ON, but no nvcc was found. $toolkit_hint"
        say "CUDA: no nvcc found. The CPU place alone is built."
        say "$toolkit_hint"
        return
    fi
    version=$(nvcc_version "$nvcc")
    if ! at_least "${version:-0}" 13.0; then
        [ "$wanted" = AUTO ] || die "WARPMATH_CUDA=ON, but $nvcc is version ${version:-unknown}. $toolkit_hint"
        say "CUDA: $nvcc is version ${version:-unknown}, too old. The CPU place alone is built."
        say "$toolkit_hint"
        return
    fi
    say "CUDA: $nvcc, version $version."
    export CUDACXX=$nvcc
    cuda_options=(-DWARPMATH_CUDA=ON)
    local architectures=${WARPMATH_CUDA_ARCHITECTURES:-}
    # One's own GPU alone compiles faster than all that a release carries.
    if [ -z "$architectures" ] && command -v nvidia-smi >/dev/null; then
        architectures=$(gpu_architectures)
    fi
    [ -z "$architectures" ] || cuda_options+=("-DWARPMATH_CUDA_ARCHITECTURES=$architectures")
}

# The architectures of the GPUs here, "90a-real;89-real" say; nothing where nvidia-smi fails. Hopper's tensor cores are
# reached through instructions that only code made for 9.0 itself may use, hence its a.
gpu_architectures() {
    nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | sort -u |
        sed -n 's/^ *\([0-9]*\)\.\([0-9]\) *$/\1\2/p' | sed 's/^90$/90a/; s/$/-real/' | paste -sd ';' -
}

# --- Building ------------------------------------------------------------------------------------------------------

# configure_and_build PRESET [CMAKE OPTION…]: on a terminal Ninja shows how far it is, elsewhere only failures speak.
configure_and_build() {
    local preset=$1
    shift
    if command -v ccache >/dev/null; then
        export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_CUDA_COMPILER_LAUNCHER=ccache
    fi
    quietly "configure-$preset" cmake --preset "$preset" "$@" || return 1
    if [ -t 1 ]; then
        cmake --build --preset "$preset" --parallel "$(cores)"
    else
        quietly "build-$preset" cmake --build --preset "$preset" --parallel "$(cores)"
    fi
}
