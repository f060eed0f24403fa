/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What cuFFT says of its work area before a plan exists and after, and what each answer costs: decides how the cufft
 * solver states its workspace. On an H200 with cuFFT 12.0 (CUDA 13.0) estimate, get_size and the plan agreed on every
 * row; the first question of a kind took 20 to 480 ms, the plan behind it 0.3 to 3 ms. gcc perf/probe_cufft.c
 * -I$CUDA/include -L$CUDA/lib64 -lcufft -lcudart -o probe_cufft
 */
#include <cuda_runtime.h>
#include <cufft.h>
#include <stdio.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

typedef struct row {
    cufftType type;
    int rank;
    long long n[3], batch;
} row;

static const row rows[] = {
    {CUFFT_C2C, 1, {2},             1 << 20},
    {CUFFT_C2C, 1, {64},            1 << 16},
    {CUFFT_C2C, 1, {4096},          1024   },
    {CUFFT_C2C, 1, {4096},          1024   },
    {CUFFT_C2C, 1, {16384},         64     },
    {CUFFT_C2C, 1, {1 << 16},       64     },
    {CUFFT_C2C, 1, {1 << 20},       4      },
    {CUFFT_C2C, 1, {1 << 24},       1      },
    {CUFFT_C2C, 1, {1000},          1000   },
    {CUFFT_C2C, 1, {12000},         100    },
    {CUFFT_C2C, 1, {127},           1000   },
    {CUFFT_C2C, 1, {131},           1000   },
    {CUFFT_C2C, 1, {1009},          1000   },
    {CUFFT_C2C, 1, {8191},          100    },
    {CUFFT_C2C, 1, {65537},         10     },
    {CUFFT_C2C, 1, {1000003},       1      },
    {CUFFT_Z2Z, 1, {4096},          1024   },
    {CUFFT_Z2Z, 1, {8192},          128    },
    {CUFFT_Z2Z, 1, {1009},          1000   },
    {CUFFT_R2C, 1, {4096},          1024   },
    {CUFFT_R2C, 1, {1009},          1000   },
    {CUFFT_R2C, 1, {1 << 20},       4      },
    {CUFFT_C2R, 1, {4096},          1024   },
    {CUFFT_C2R, 1, {1 << 20},       4      },
    {CUFFT_C2R, 1, {999},           1000   },
    {CUFFT_C2C, 2, {512, 512},      8      },
    {CUFFT_C2C, 2, {509, 512},      8      },
    {CUFFT_R2C, 2, {1024, 1024},    2      },
    {CUFFT_C2R, 2, {1024, 1024},    2      },
    {CUFFT_C2C, 3, {128, 128, 128}, 2      },
    {CUFFT_R2C, 3, {75, 77, 79},    3      },
    {CUFFT_C2R, 3, {75, 77, 79},    3      },
    {CUFFT_Z2D, 3, {64, 64, 64},    2      },
    {CUFFT_C2C, 3, {256, 256, 256}, 1      },
    {CUFFT_R2C, 2, {4096, 4096},    1      },
};

static size_t estimate(const row *r) {
    int n[3] = {(int)r->n[0], (int)r->n[1], (int)r->n[2]};
    size_t bytes = 0;
    cufftResult e = cufftEstimateMany(r->rank, n, NULL, 1, 0, NULL, 1, 0, r->type, (int)r->batch, &bytes);
    return e ? (size_t) - (int)e : bytes;
}

static size_t size_of(cufftHandle h, const row *r, int make) {
    long long n[3] = {r->n[0], r->n[1], r->n[2]};
    size_t bytes = 0;
    cufftResult e = make ? cufftMakePlanMany64(h, r->rank, n, NULL, 1, 0, NULL, 1, 0, r->type, r->batch, &bytes)
                         : cufftGetSizeMany64(h, r->rank, n, NULL, 1, 0, NULL, 1, 0, r->type, r->batch, &bytes);
    return e ? (size_t) - (int)e : bytes;
}

int main(void) {
    cudaFree(0);
    printf("type rank n0 n1 n2 batch data_bytes estimate ms get_size ms made ms made_again ms\n");
    for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++) {
        const row *r = &rows[i];
        double t[6], points = (double)r->batch;
        size_t bytes[4];
        for (int k = 0; k < r->rank; k++) points *= (double)r->n[k];
        t[0] = now();
        bytes[0] = estimate(r);
        t[1] = now();
        for (int step = 1; step < 4; step++) {
            cufftHandle h;
            cufftCreate(&h);
            cufftSetAutoAllocation(h, 0);
            bytes[step] = size_of(h, r, step > 1);
            t[step + 1] = now();
            cufftDestroy(h);
        }
        printf("0x%x %d %lld %lld %lld %lld %.0f %zu %.3f %zu %.3f %zu %.3f %zu %.3f\n", r->type, r->rank, r->n[0],
               r->n[1], r->n[2], r->batch, points * (r->type & 0x40 ? 16 : 8), bytes[0], t[1] - t[0], bytes[1],
               t[2] - t[1], bytes[2], t[3] - t[2], bytes[3], t[4] - t[3]);
    }
    return 0;
}
