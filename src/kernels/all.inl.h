// The kernel templates in the order in which they use each other. Included by isa/*.cc inside their anonymous
// namespace, after the Vec16f of the instruction set and its tile sizes.
#pragma once

// clang-format off
#include "kernels/math.inl.h"
#include "kernels/elementwise.inl.h"
#include "kernels/rowwise.inl.h"
#include "kernels/activate.inl.h"
#include "kernels/gemm.inl.h"
#include "kernels/gemm_int8.inl.h"
#include "kernels/linear.inl.h"
#include "kernels/rows.inl.h"
#include "kernels/rows_softmax.inl.h"
#include "kernels/pack.inl.h"
// clang-format on
