# SPDX-License-Identifier: Apache-2.0
"""warpmath from Python through ctypes: no compiler, no macros of the C headers, only exported functions.

Arrays are NumPy's, or anything with __dlpack__ (CuPy, PyTorch, JAX), on the CPU or on a GPU. Memory is used where it
lies: nothing is copied. Errors are exceptions with the library's sentence.

    import numpy as np, warpmath as wm
    with wm.Context("cpu") as c:
        d = c.matmul(np.ones((3, 4), "f4"), np.ones((4, 5), "f4"), activation="relu")
        x = c.fft(np.ones((8, 16), "c8"), axes=1)
        z = c.random("normal", (1000,), "f4", seed=7)

The library is looked for as $WARPMATH_LIBRARY, then as the loader finds libwarpmath.so.
"""
import ctypes as C
import os

I32, I64, F64, PTR, SIZE = C.c_int32, C.c_int64, C.c_double, C.c_void_p, C.c_size_t
ENUM = C.c_int


def _struct(name, **fields):
    return type(name, (C.Structure,), {"_fields_": list(fields.items())})


_Scalar = _struct("wmScalar", kind=ENUM, re=F64, im=F64, device=PTR)
_Matrix = _struct("wmMatrixDesc", type=ENUM, order=ENUM, op=ENUM, scale=ENUM, ld=I64, batch_stride=I64, align=I64)
_MatmulDesc = _struct("wmMatmulDesc", size=SIZE, place=ENUM, m=I64, n=I64, k=I64, a=_Matrix, b=_Matrix, c=_Matrix,
                      d=_Matrix, batch=I64, batch_mode=ENUM, compute=ENUM, bias=ENUM, bias_type=ENUM, activation=ENUM,
                      determinism=ENUM, gate=ENUM, r=_Matrix, z=_Matrix, reduction=ENUM, dropout=ENUM, triangle=ENUM,
                      functor=PTR * 3, allow_3m=I32)
_Key = _struct("wmRandomKey", seed=C.c_uint64, substream=C.c_uint32)
_MatmulArgs = _struct("wmMatmulArgs", size=SIZE, a=PTR, b=PTR, c=PTR, d=PTR, bias=PTR, alpha=_Scalar, beta=_Scalar,
                      a_scale=PTR, b_scale=PTR, d_scale=PTR, workspace=PTR, workspace_bytes=SIZE, groups=PTR,
                      r=PTR, z=PTR, reduced=PTR, drop=F64, drop_key=_Key, drop_offset=C.c_uint64, drop_state=PTR,
                      functor_user=PTR)
_FftDim = _struct("wmFftDim", n=I64, in_stride=I64, out_stride=I64)
_FftDesc = _struct("wmFftDesc", size=SIZE, place=ENUM, kind=ENUM, type=ENUM, direction=ENUM, scale=ENUM,
                   placement=ENUM, allow_input_overwrite=I32, rank=I32, loops=I32, dim=_FftDim * 3, loop=_FftDim * 3,
                   align=I64, determinism=ENUM)
_FftArgs = _struct("wmFftArgs", size=SIZE, input=PTR, out=PTR, workspace=PTR, workspace_bytes=SIZE)
_RandomDesc = _struct("wmRandomDesc", size=SIZE, place=ENUM, distribution=ENUM, type=ENUM, generator=ENUM,
                      sequence=ENUM, count_hint=I64, determinism=ENUM, columns=I64, ld=I64, key_source=ENUM,
                      dimensions=I64, scramble=ENUM, accuracy=ENUM, interval=ENUM)
_RandomArgs = _struct("wmRandomArgs", size=SIZE, out=PTR, count=I64, key=_Key, offset=C.c_uint64, low=F64, high=F64,
                      mean=F64, std=F64, workspace=PTR, workspace_bytes=SIZE, state=PTR, advance=C.c_int, base=I64,
                      span=C.c_uint64, p=F64, trials=C.c_uint64, rate=F64, location=F64, scale=F64, shape=F64,
                      shape2=F64, dimension=I64, table=PTR, input=PTR)
_ContextOptions = _struct("wmContextOptions", size=SIZE, place=ENUM, device=I32, alloc=PTR, free=PTR, alloc_user=PTR,
                          log=PTR, log_user=PTR, log_level=ENUM, wisdom_path=C.c_char_p, require_vendor=I32,
                          cpu_threads=I32, fftw=C.c_char_p)

# DLPack's ABI, version 0: https://dmlc.github.io/dlpack/latest/c_api.html
_DLTensor = _struct("DLTensor", data=PTR, device_type=I32, device_id=I32, ndim=I32, code=C.c_uint8, bits=C.c_uint8,
                    lanes=C.c_uint16, shape=C.POINTER(I64), strides=C.POINTER(I64), byte_offset=C.c_uint64)
_DL_PLACES = {1: "cpu", 2: "gpu", 3: "cpu", 13: "gpu"}
_DL_TYPES = {(0, 8): "i8", (0, 16): "i16", (0, 32): "i32", (0, 64): "i64", (1, 8): "u8", (1, 16): "u16",
             (1, 32): "u32", (1, 64): "u64", (2, 16): "f16", (2, 32): "f32", (2, 64): "f64", (4, 16): "bf16",
             (5, 64): "c64", (5, 128): "c128"}
_NUMPY_TYPES = {"f2": "f16", "f4": "f32", "f8": "f64", "c8": "c64", "c16": "c128", "i1": "i8", "i2": "i16",
                "i4": "i32", "i8": "i64", "u1": "u8", "u2": "u16", "u4": "u32", "u8": "u64"}
_TYPES = {"f32": 0x100, "f64": 0x101, "f16": 0x102, "i8": 0x103, "c64": 0x104, "c128": 0x105, "u8": 0x108,
          "i32": 0x10A, "u32": 0x10C, "bf16": 0x10E, "i16": 0x114, "u16": 0x116, "i64": 0x118, "u64": 0x11A}
_BYTES = {"i8": 1, "u8": 1, "f16": 2, "bf16": 2, "i16": 2, "u16": 2, "f32": 4, "i32": 4, "u32": 4, "c128": 16}

_PLACES = {"auto": 0, "gpu": 1, "cpu": 2}
_ACTIVATIONS = {None: 0, "relu": 1, "gelu_tanh": 2, "gelu_erf": 3}
_KINDS = {"c2c": 0, "r2c": 1, "c2r": 2}
_SCALES = {None: 0, "by_n": 1, "by_sqrt_n": 2}
_DISTRIBUTIONS = {"bits": 0, "uniform": 1, "normal": 2, "integers": 3, "bernoulli": 4, "exponential": 6, "lognormal": 7,
                  "truncated_normal": 8, "poisson": 9, "binomial": 10, "geometric": 11, "gamma": 12, "beta": 13}
_PARAMETERS = ("low", "high", "mean", "std", "base", "span", "p", "trials", "rate", "scale", "shape", "shape2")
_ROW_MAJOR, _COL_MAJOR = 0, 1


class Error(RuntimeError):
    """A call that failed; `status` is the name of its wmStatus."""

    def __init__(self, status, sentence):
        super().__init__(sentence)
        self.status = status


def _load():
    lib = C.CDLL(os.environ.get("WARPMATH_LIBRARY", "libwarpmath.so"))
    lib.wmLastError.restype = lib.wmStatusName.restype = lib.wmPlanSolver.restype = C.c_char_p
    lib.wmContextDestroy.restype = lib.wmPlanDestroy.restype = None
    return lib


_lib = _load()


def _call(name, *arguments):
    status = getattr(_lib, name)(*arguments)
    if status:
        raise Error(_lib.wmStatusName(status).decode(), _lib.wmLastError().decode())


def _made(struct, init, *arguments):
    """A struct at its defaults, by the library's own …Init."""
    out = struct()
    getattr(_lib, init)(C.byref(out), SIZE(C.sizeof(out)), *arguments)
    return out


class _Array:
    """Pointer, type, shape and strides (in elements) of an array, kept alive."""

    def __init__(self, x, name):
        self.name = name
        if hasattr(x, "__array_interface__"):
            self._from_numpy(x)
        elif hasattr(x, "__dlpack__"):
            self._from_dlpack(x)
        else:
            raise TypeError(f"{name} is a {type(x).__name__}: neither a NumPy array nor one with __dlpack__")

    def _from_numpy(self, x):
        facts = x.__array_interface__
        kind = facts["typestr"]
        if kind[0] == ">" or kind[1:] not in _NUMPY_TYPES:
            raise TypeError(f"{self.name} holds {kind}")
        bytes_each = int(kind[2:])
        self.keep, self.place = x, "cpu"
        self.type, self.shape = _NUMPY_TYPES[kind[1:]], tuple(facts["shape"])
        self.pointer, self.read_only = facts["data"]
        strides = facts["strides"]
        if strides and any(s % bytes_each for s in strides):
            raise ValueError(f"{self.name} has strides of {strides} bytes, elements have {bytes_each}")
        self.strides = tuple(s // bytes_each for s in strides) if strides else _packed(self.shape)

    def _from_dlpack(self, x):
        get = C.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = PTR, [C.py_object, C.c_char_p]
        self.keep = x.__dlpack__()  # the capsule owns the tensor until this object goes
        t = C.cast(get(self.keep, b"dltensor"), C.POINTER(_DLTensor)).contents
        key = (t.code, t.bits)
        if t.device_type not in _DL_PLACES:
            raise TypeError(f"{self.name} lies on a device of DLPack's type {t.device_type}")
        if t.lanes != 1 or key not in _DL_TYPES:
            raise TypeError(f"{self.name} holds DLPack's type {key} in {t.lanes} lanes")
        self.place, self.type, self.read_only = _DL_PLACES[t.device_type], _DL_TYPES[key], False
        self.shape = tuple(t.shape[i] for i in range(t.ndim))
        self.strides = tuple(t.strides[i] for i in range(t.ndim)) if t.strides else _packed(self.shape)
        self.pointer = (t.data or 0) + t.byte_offset

    def alignment(self):
        """What the pointer is a multiple of, 16 at most; the element's own size at least."""
        own = _BYTES.get(self.type, 8)
        return max(own, min(16, self.pointer & -self.pointer)) if self.pointer else 16


def _packed(shape):
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def _fill_matrix(out, x, rows, cols):
    """Order, leading dimension and batch stride of the last two axes; one of them must be contiguous."""
    row, col = x.strides[-2:]
    if col == 1 or cols == 1:
        out.order, out.ld = _ROW_MAJOR, max(row if rows > 1 else cols, cols, 1)
    elif row == 1 or rows == 1:
        out.order, out.ld = _COL_MAJOR, max(col, rows, 1)
    else:
        raise ValueError(f"{x.name} has strides {x.strides}: neither of the last two is 1")
    out.type, out.align = _TYPES[x.type], x.alignment()
    if len(x.shape) == 3:
        out.batch_stride = x.strides[0]


class Context:
    """A wmContext. Calls run at once: each returns when its result is there."""

    def __init__(self, place="auto", device=0):
        options = _made(_ContextOptions, "wmContextOptionsInit")
        options.place, options.device = _PLACES[place], device
        self._handle = PTR()
        _call("wmContextCreate", C.byref(self._handle), C.byref(options))

    def close(self):
        _lib.wmContextDestroy(self._handle)
        self._handle = PTR()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def _run(self, name, desc, args):
        _call(name, self._handle, C.byref(desc), C.byref(args), None)
        _call("wmSynchronize", self._handle, None)

    def matmul(self, a, b, out=None, bias=None, activation=None, alpha=1.0, beta=0.0):
        """alpha a @ b + beta out + bias, then the activation, for matrices or one batch axis. Returns out, which is
        a new NumPy array where none was given."""
        x, y = _Array(a, "a"), _Array(b, "b")
        if not 2 <= len(x.shape) <= 3 or len(x.shape) != len(y.shape) or x.shape[:-2] != y.shape[:-2]:
            raise ValueError(f"a has shape {x.shape}, b {y.shape}")
        if x.shape[-1] != y.shape[-2]:
            raise ValueError(f"a has {x.shape[-1]} columns, b {y.shape[-2]} rows")
        (m, k), n = x.shape[-2:], y.shape[-1]
        shape = x.shape[:-2] + (m, n)
        if out is None:
            out = _new_array(shape, x)
        z = _Array(out, "out")
        if z.shape != shape or z.read_only:
            raise ValueError(f"out has shape {z.shape}{', read only' if z.read_only else ''}, the product {shape}")
        desc = _made(_MatmulDesc, "wmMatmulDescInit", ENUM(_TYPES[x.type]), I64(m), I64(n), I64(k))
        args = _made(_MatmulArgs, "wmMatmulArgsInit")
        for field, array, rows, cols in (("a", x, m, k), ("b", y, k, n), ("d", z, m, n)):
            _fill_matrix(getattr(desc, field), array, rows, cols)
            setattr(args, field, array.pointer)
        desc.batch, desc.activation = (x.shape[0] if len(shape) == 3 else 1), _ACTIVATIONS[activation]
        if bias is not None:
            vector = _Array(bias, "bias")
            if vector.shape != (n,) or vector.strides not in ((1,), (0,)) and n > 1:
                raise ValueError(f"bias has shape {vector.shape}, the product {n} columns")
            desc.bias, desc.bias_type, args.bias = 1, _TYPES[vector.type], vector.pointer
        args.c = args.d
        args.alpha, args.beta = _scalar(alpha), _scalar(beta)
        self._run("wmMatmul", desc, args)
        return out

    def fft(self, x, out=None, axes=None, kind="c2c", inverse=False, scale=None, n_last=None):
        """Over the axes (default: all; up to three, the others, up to three, are batch loops). kind r2c takes a real
        x, c2r gives real numbers, n_last of them along the last of the axes (default: an even number)."""
        source = _Array(x, "x")
        axes = _axes(axes, len(source.shape))
        last, shape = axes[-1], list(source.shape)
        if kind == "r2c":
            shape[last] = shape[last] // 2 + 1
        elif kind == "c2r":
            shape[last] = 2 * (shape[last] - 1) if n_last is None else n_last
        if out is None:
            out = _new_array(tuple(shape), source, {"r2c": "c", "c2r": "f"}.get(kind))
        target = _Array(out, "out")
        if target.shape != tuple(shape) or target.read_only:
            raise ValueError(f"out has shape {target.shape}, the transform {tuple(shape)}")
        real = target if kind == "c2r" else source
        lengths = (I64 * len(axes))(*[real.shape[i] for i in axes])
        type_of_real = {"c64": "f32", "c128": "f64"}.get(source.type, source.type)
        desc = _made(_FftDesc, "wmFftDescInit", ENUM(_KINDS[kind]), ENUM(_TYPES[type_of_real]), ENUM(len(axes)),
                     lengths, I64(1))
        loops = [i for i in range(len(shape)) if i not in axes]
        if len(loops) > 3:
            raise ValueError(f"{len(loops)} axes are left beside the transformed ones, 3 are possible")
        desc.loops = len(loops)
        for row, i in list(zip(desc.dim, axes)) + list(zip(desc.loop, loops)):
            row.n, row.in_stride, row.out_stride = real.shape[i], source.strides[i], target.strides[i]
        desc.direction = ENUM(1 if inverse or kind == "c2r" else 0)
        desc.scale = _SCALES[scale]
        desc.placement = 1 if source.pointer == target.pointer else 0
        desc.align = min(source.alignment(), target.alignment())
        args = _made(_FftArgs, "wmFftArgsInit")
        args.input, args.out = source.pointer, target.pointer
        self._run("wmFft", desc, args)
        return out

    def random(self, distribution, shape=None, dtype="f4", seed=0, substream=0, offset=0, out=None, **parameters):
        """Elements offset … of the key's sequence; parameters as in wmRandomArgs: low, high, mean, std, base, span, p, …
        The same bits on every place. shape and scale of a gamma draw are `gamma_shape` and `scale`."""
        if out is None:
            import numpy
            out = numpy.empty(shape, dtype)
        target = _Array(out, "out")
        count = 1
        for n in target.shape:
            count *= n
        if target.strides != _packed(target.shape) and count > 1 or target.read_only:
            raise ValueError("out is not packed, or read only")
        desc = _made(_RandomDesc, "wmRandomDescInit", ENUM(_DISTRIBUTIONS[distribution]), ENUM(_TYPES[target.type]))
        args = _made(_RandomArgs, "wmRandomArgsInit")
        args.out, args.count, args.offset = target.pointer, count, offset
        args.key.seed, args.key.substream = seed, substream
        for name, value in parameters.items():
            field = "shape" if name == "gamma_shape" else name
            if field not in _PARAMETERS:
                raise TypeError(f"{name} is no parameter of a distribution")
            setattr(args, field, value)
        self._run("wmRandom", desc, args)
        return out

    def explain(self, problem):
        """Which solver a problem string would take, and why."""
        plan, needed = PTR(), SIZE()
        _call("wmPlanCreate", C.byref(plan), self._handle, problem.encode(), None)
        try:
            _call("wmPlanExplain", plan, ENUM(0), None, SIZE(0), C.byref(needed))
            text = C.create_string_buffer(needed.value)
            _call("wmPlanExplain", plan, ENUM(0), text, SIZE(needed.value), None)
            return text.value.decode()
        finally:
            _lib.wmPlanDestroy(plan)


def _axes(axes, rank):
    wanted = tuple(range(rank)) if axes is None else (axes,) if isinstance(axes, int) else tuple(axes)
    if not 1 <= len(wanted) <= 3 or any(not -rank <= i < rank for i in wanted):
        raise ValueError(f"axes {wanted} of an array of rank {rank}")
    out = tuple(i % rank for i in wanted)
    if len(set(out)) < len(out):
        raise ValueError(f"axes {wanted} name one twice")
    return out


def _scalar(x):
    x = complex(x)
    return _Scalar(1, x.real, x.imag, None)


def _new_array(shape, like, kind=None):
    """A packed NumPy array of like's type, or of the complex or real type that goes with it."""
    if like.place != "cpu":
        raise ValueError("out is needed for arrays that are not NumPy's")
    import numpy
    dtype = {v: k for k, v in _NUMPY_TYPES.items()}.get(like.type)
    if not dtype:
        raise ValueError(f"out is needed: NumPy has no {like.type}")
    if kind == "c":
        dtype = f"c{2 * int(dtype[1:])}"
    elif kind == "f":
        dtype = f"f{int(dtype[1:]) // 2}"
    return numpy.empty(shape, dtype)
