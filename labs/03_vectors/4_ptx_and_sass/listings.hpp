// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 03.4 ptx_and_sass: what there is to read. Two kernels, and what nvcc 13.0 has made of them for
// compute capability 9.0:
//
//     nvcc -arch=sm_90 -ptx kernels.cu               the PTX
//     nvcc -arch=sm_90 -cubin kernels.cu             the machine code, …
//     cuobjdump -sass kernels.cubin                  … as SASS
//
// Left out are comments, the encoding of the instructions, and the NOPs after the last one.
#pragma once

namespace lab::ptx_and_sass {

/// The first kernel: one addition for each i.
constexpr const char* kAddSource = R"listing(
extern "C" __global__ void ptx_add(const float* a, const float* b, float* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
}
)listing";

/// The second kernel: "s times x plus y", for each i.
constexpr const char* kSaxpySource = R"listing(
extern "C" __global__ void ptx_saxpy(float s, const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = s * x[i] + y[i];
}
)listing";

/// ptx_add in PTX.
constexpr const char* kAddPtx = R"listing(
.version 9.0
.target sm_90
.address_size 64

.visible .entry ptx_add(
  .param .u64 ptx_add_param_0,
  .param .u64 ptx_add_param_1,
  .param .u64 ptx_add_param_2,
  .param .u32 ptx_add_param_3
)
{
  .reg .pred   %p<2>;
  .reg .f32   %f<4>;
  .reg .b32   %r<6>;
  .reg .b64   %rd<11>;

  ld.param.u64          %rd1, [ptx_add_param_0];
  ld.param.u64          %rd2, [ptx_add_param_1];
  ld.param.u64          %rd3, [ptx_add_param_2];
  ld.param.u32          %r2, [ptx_add_param_3];
  mov.u32               %r3, %ctaid.x;
  mov.u32               %r4, %ntid.x;
  mov.u32               %r5, %tid.x;
  mad.lo.s32            %r1, %r3, %r4, %r5;
  setp.ge.s32           %p1, %r1, %r2;
  @%p1 bra              $L__BB0_2;

  cvta.to.global.u64    %rd4, %rd1;
  mul.wide.s32          %rd5, %r1, 4;
  add.s64               %rd6, %rd4, %rd5;
  cvta.to.global.u64    %rd7, %rd2;
  add.s64               %rd8, %rd7, %rd5;
  ld.global.f32         %f1, [%rd8];
  ld.global.f32         %f2, [%rd6];
  add.f32               %f3, %f2, %f1;
  cvta.to.global.u64    %rd9, %rd3;
  add.s64               %rd10, %rd9, %rd5;
  st.global.f32         [%rd10], %f3;

$L__BB0_2:
  ret;

}
)listing";

/// ptx_saxpy in PTX.
constexpr const char* kSaxpyPtx = R"listing(
.visible .entry ptx_saxpy(
  .param .f32 ptx_saxpy_param_0,
  .param .u64 ptx_saxpy_param_1,
  .param .u64 ptx_saxpy_param_2,
  .param .u32 ptx_saxpy_param_3
)
{
  .reg .pred   %p<2>;
  .reg .f32   %f<5>;
  .reg .b32   %r<6>;
  .reg .b64   %rd<8>;

  ld.param.f32          %f1, [ptx_saxpy_param_0];
  ld.param.u64          %rd1, [ptx_saxpy_param_1];
  ld.param.u64          %rd2, [ptx_saxpy_param_2];
  ld.param.u32          %r2, [ptx_saxpy_param_3];
  mov.u32               %r3, %ctaid.x;
  mov.u32               %r4, %ntid.x;
  mov.u32               %r5, %tid.x;
  mad.lo.s32            %r1, %r3, %r4, %r5;
  setp.ge.s32           %p1, %r1, %r2;
  @%p1 bra              $L__BB1_2;

  cvta.to.global.u64    %rd3, %rd2;
  cvta.to.global.u64    %rd4, %rd1;
  mul.wide.s32          %rd5, %r1, 4;
  add.s64               %rd6, %rd4, %rd5;
  ld.global.f32         %f2, [%rd6];
  add.s64               %rd7, %rd3, %rd5;
  ld.global.f32         %f3, [%rd7];
  fma.rn.f32            %f4, %f2, %f1, %f3;
  st.global.f32         [%rd7], %f4;

$L__BB1_2:
  ret;

}
)listing";

/// ptx_add in SASS.
constexpr const char* kAddSass = R"listing(
  Function : ptx_add
    /*0000*/       LDC R1, c[0x0][0x28] ;
    /*0010*/       S2R R0, SR_TID.X ;
    /*0020*/       S2UR UR4, SR_CTAID.X ;
    /*0030*/       LDC R9, c[0x0][RZ] ;
    /*0040*/       IMAD R9, R9, UR4, R0 ;
    /*0050*/       ULDC UR4, c[0x0][0x228] ;
    /*0060*/       ISETP.GE.AND P0, PT, R9, UR4, PT ;
    /*0070*/  @P0  EXIT ;
    /*0080*/       LDC.64 R2, c[0x0][0x210] ;
    /*0090*/       ULDC.64 UR4, c[0x0][0x208] ;
    /*00a0*/       LDC.64 R4, c[0x0][0x218] ;
    /*00b0*/       LDC.64 R6, c[0x0][0x220] ;
    /*00c0*/       IMAD.WIDE R2, R9, 0x4, R2 ;
    /*00d0*/       LDG.E R3, desc[UR4][R2.64] ;
    /*00e0*/       IMAD.WIDE R4, R9, 0x4, R4 ;
    /*00f0*/       LDG.E R4, desc[UR4][R4.64] ;
    /*0100*/       IMAD.WIDE R6, R9, 0x4, R6 ;
    /*0110*/       FADD R9, R4, R3 ;
    /*0120*/       STG.E desc[UR4][R6.64], R9 ;
    /*0130*/       EXIT ;
    /*0140*/       BRA 0x140 ;
)listing";

/// ptx_saxpy in SASS.
constexpr const char* kSaxpySass = R"listing(
  Function : ptx_saxpy
    /*0000*/       LDC R1, c[0x0][0x28] ;
    /*0010*/       S2R R0, SR_TID.X ;
    /*0020*/       S2UR UR4, SR_CTAID.X ;
    /*0030*/       LDC R7, c[0x0][RZ] ;
    /*0040*/       IMAD R7, R7, UR4, R0 ;
    /*0050*/       ULDC UR4, c[0x0][0x228] ;
    /*0060*/       ISETP.GE.AND P0, PT, R7, UR4, PT ;
    /*0070*/  @P0  EXIT ;
    /*0080*/       LDC.64 R2, c[0x0][0x218] ;
    /*0090*/       ULDC.64 UR4, c[0x0][0x208] ;
    /*00a0*/       ULDC UR6, c[0x0][0x210] ;
    /*00b0*/       LDC.64 R4, c[0x0][0x220] ;
    /*00c0*/       IMAD.WIDE R2, R7, 0x4, R2 ;
    /*00d0*/       LDG.E R2, desc[UR4][R2.64] ;
    /*00e0*/       IMAD.WIDE R4, R7, 0x4, R4 ;
    /*00f0*/       LDG.E R7, desc[UR4][R4.64] ;
    /*0100*/       FFMA R7, R2, UR6, R7 ;
    /*0110*/       STG.E desc[UR4][R4.64], R7 ;
    /*0120*/       EXIT ;
    /*0130*/       BRA 0x130 ;
)listing";

}  // namespace lab::ptx_and_sass
