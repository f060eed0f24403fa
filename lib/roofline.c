/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ceilings for estimates: what a multiprocessor does in one clock, dense, by compute capability (NVIDIA's white papers
 * of each architecture; 4096 for f16 on sm_90 times 132 SMs times 1.83 GHz is the H200's 989 TFLOP/s). An unknown
 * device counts as the nearest older one.
 */
#include "context_internal.h"

typedef struct peak_row {
    int sm;
    int f8, f16, tf32, f32, f64; /* operations a clock, a multiply-add being two; f8 stands for i8 too */
} peak_row;

static const peak_row peaks[] = {
    {70,  1024,  1024, 128,  128, 64 },
    {75,  2048,  1024, 128,  128, 4  },
    {80,  4096,  2048, 1024, 128, 128},
    {86,  2048,  1024, 256,  256, 4  },
    {89,  2048,  1024, 256,  256, 4  },
    {90,  8192,  4096, 2048, 256, 256},
    {100, 16384, 8192, 4096, 256, 128},
    {120, 2048,  1024, 256,  256, 4  },
};

static const peak_row *peak_of(int sm) {
    const peak_row *best = &peaks[0];
    for (size_t i = 0; i < sizeof peaks / sizeof peaks[0] && peaks[i].sm <= sm; i++) best = &peaks[i];
    return best;
}

static double gpu_peak(const wm_device *device, wmType type, wmCompute compute) {
    const peak_row *row = peak_of(device->sm);
    int clocks = row->f32;
    if (type == WM_F8E4M3 || type == WM_F8E5M2 || type == WM_I8) {
        clocks = row->f8;
    } else if (type == WM_F16 || type == WM_BF16) {
        clocks = row->f16;
    } else if (type == WM_F64 || type == WM_C128) {
        clocks = row->f64;
    } else if (compute == WM_COMPUTE_TF32) {
        clocks = row->tf32;
    }
    return clocks * 1e3 * (double)device->clock_khz * device->multiprocessors;
}

/* A CPU core: two vector multiply-adds a clock on 256-bit registers. */
static double cpu_peak(const wmContext *context, wmType type) {
    double clocks = type == WM_F64 || type == WM_C128 ? 16 : 32;
    return clocks * 1e3 * context->device.clock_khz * context->threads;
}

double wm_context_peak_flops(const wmContext *context, wmType type, wmCompute compute) {
    return context->gpu ? gpu_peak(wm_context_device(context), type, compute) : cpu_peak(context, type);
}

double wm_context_bandwidth(const wmContext *context) {
    return context->device.bandwidth;
}
