/* SPDX-License-Identifier: Apache-2.0 */
/* The transforms of device/fft_cluster and fft_lines in sizes that the emulation runs in a moment: the same source,
 * smaller numbers. */
#include "device/fft_box.cuh"
#include "device/fft_cluster.cuh"
#include "device/fft_lines.cuh"

/* 32 x 32 points by 4 blocks, 32 x 64 by 2: lines of two passes. */
WM_KERNEL wm_small_cluster_f32(WM_PARAMS(wm_fft_cluster_job)) {
    wm_fft_cluster_transform<32, 32, 4, 8, false, wmC64>(p);
}
WM_KERNEL wm_small_cluster_f64(WM_PARAMS(wm_fft_cluster_job)) {
    wm_fft_cluster_transform<32, 64, 2, 16, false, wmC128>(p);
}
/* Lines of one butterfly on one side, of radix 32 on the other. */
WM_KERNEL wm_small_cluster_wide(WM_PARAMS(wm_fft_cluster_job)) {
    wm_fft_cluster_transform<512, 32, 2, 32, false, wmC64>(p);
}
/* Planes: by a cluster, and by a block alone. */
WM_KERNEL wm_small_plane_f32(WM_PARAMS(wm_fft_cluster_job)) {
    wm_fft_cluster_transform<32, 32, 4, 8, true, wmC64>(p);
}
WM_KERNEL wm_small_plane_f64(WM_PARAMS(wm_fft_cluster_job)) {
    wm_fft_cluster_transform<32, 64, 1, 16, true, wmC128>(p);
}
/* Lines of a pass: two kinds of exchange. */
WM_KERNEL wm_small_lines_f32(WM_PARAMS(wm_fft_lines_job)) {
    wm_fft_lines_pass<64, 4, 8, wmC64>(p);
}
WM_KERNEL wm_small_lines_f64(WM_PARAMS(wm_fft_lines_job)) {
    wm_fft_lines_pass<128, 2, 8, wmC128>(p);
}
/* Radix 32. */
WM_KERNEL wm_small_lines_wide(WM_PARAMS(wm_fft_lines_job)) {
    wm_fft_lines_pass<1024, 2, 32, wmC64>(p);
}
/* Boxes: by a cluster, and by a block alone. */
WM_KERNEL wm_small_box_f32(WM_PARAMS(wm_fft_box_job)) {
    wm_fft_box_transform<8, 4, wmC64>(p);
}
WM_KERNEL wm_small_box_f64(WM_PARAMS(wm_fft_box_job)) {
    wm_fft_box_transform<4, 1, wmC128>(p);
}
