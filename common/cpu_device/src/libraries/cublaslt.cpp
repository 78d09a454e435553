// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// cuBLASLt: a product that is described by objects, and what happens to its elements afterwards.

#include <cublasLt.h>

#include <cmath>
#include <cstring>
#include <memory>

#include "cublas_call.hpp"
#include "cublas_types.hpp"

struct cublasLtContext {
  cublasHandle_t blas;
};
struct cublasLtMatmulDescOpaque_t {
  cublasComputeType_t compute;
  cudaDataType scale;
  cublasLtPointerMode_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  cublasOperation_t transa = CUBLAS_OP_N, transb = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* bias = nullptr;
  void* aux = nullptr;
  std::int64_t bias_stride = 0, aux_leading = 0, aux_stride = 0;
  std::int32_t aux_type = -1, bias_type = -1;
};
struct cublasLtMatrixLayoutOpaque_t {
  cudaDataType type;
  std::uint64_t rows, cols;
  std::int64_t leading;
  cublasLtOrder_t order = CUBLASLT_ORDER_COL;
  std::int32_t batch_count = 1;
  std::int64_t batch_stride = 0;
};
struct cublasLtMatmulPreferenceOpaque_t {};

namespace cpu_device::blas {
namespace {

/// The member that an attribute names; {nullptr, 0} for one that is not there.
struct place {
  place() = default;
  template <class T>
  explicit place(T& member) : p(&member), bytes(sizeof member) {}
  void* p = nullptr;
  std::size_t bytes = 0;
};

place member(cublasLtMatmulDescOpaque_t& product, cublasLtMatmulDescAttributes_t attribute) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
      return place(product.compute);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
      return place(product.scale);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
      return place(product.pointer_mode);
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return place(product.transa);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return place(product.transb);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return place(product.epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return place(product.bias);
    case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE:
      return place(product.bias_stride);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return place(product.aux);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return place(product.aux_leading);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE:
      return place(product.aux_stride);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE:
      return place(product.aux_type);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return place(product.bias_type);
  }
  return {};
}
place member(cublasLtMatrixLayoutOpaque_t& layout, cublasLtMatrixLayoutAttribute_t attribute) {
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE:
      return place(layout.type);
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
      return place(layout.order);
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
      return place(layout.rows);
    case CUBLASLT_MATRIX_LAYOUT_COLS:
      return place(layout.cols);
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return place(layout.leading);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return place(layout.batch_count);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return place(layout.batch_stride);
  }
  return {};
}

cublasStatus_t wrong(const std::string& what) {
  return explain_status(CUBLAS_STATUS_INVALID_VALUE, this_call() + ": " + what);
}
cublasStatus_t not_there(const std::string& what) {
  return explain_status(CUBLAS_STATUS_NOT_SUPPORTED, this_call() + ": " + what);
}

template <class Object, class Attribute>
cublasStatus_t set(Object* object, Attribute attribute, const void* value, std::size_t bytes) {
  if (object == nullptr || value == nullptr) return wrong("a null pointer is given");
  const place to = member(*object, attribute);
  if (to.p == nullptr) return not_there("attribute " + std::to_string(attribute) + " is not there");
  if (bytes != to.bytes)
    return wrong("attribute " + std::to_string(attribute) + " has " + std::to_string(to.bytes) +
                 " bytes, not " + std::to_string(bytes));
  std::memcpy(to.p, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}
template <class Object, class Attribute>
cublasStatus_t get(Object* object, Attribute attribute, void* value, std::size_t bytes,
                   std::size_t* written) {
  if (object == nullptr || (value == nullptr && bytes != 0))
    return wrong("a null pointer is given");
  const place from = member(*object, attribute);
  if (from.p == nullptr)
    return not_there("attribute " + std::to_string(attribute) + " is not there");
  if (written != nullptr) *written = from.bytes;
  if (bytes == 0 && written != nullptr) return CUBLAS_STATUS_SUCCESS;  // asked for its size alone
  if (bytes != from.bytes)
    return wrong("attribute " + std::to_string(attribute) + " has " + std::to_string(from.bytes) +
                 " bytes, not " + std::to_string(bytes));
  std::memcpy(value, from.p, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

template <class Object>
cublasStatus_t destroy(Object* object) {
  delete object;
  return CUBLAS_STATUS_SUCCESS;
}

/// A layout as it is stored: columns of `leading` elements, or rows.
struct stored_matrix {
  explicit stored_matrix(const cublasLtMatrixLayoutOpaque_t& layout)
      : rows(static_cast<index>(layout.rows)),
        cols(static_cast<index>(layout.cols)),
        leading(layout.leading),
        by_row(layout.order == CUBLASLT_ORDER_ROW),
        batch_count(layout.batch_count),
        batch_stride(layout.batch_stride) {}
  template <class T>
  matrix<T> at(T* p, index batch) const {
    p += batch * batch_stride;
    return by_row ? stored(p, cols, rows, leading).transposed() : stored(p, rows, cols, leading);
  }
  void check(routine& c, const char* name) const {
    const std::string text(name);
    c.size(rows, (text + "'s rows").c_str()).size(cols, (text + "'s columns").c_str());
    c.leading(leading, by_row ? cols : rows, (text + "'s leading dimension").c_str());
  }
  template <class T>
  void check_memory(routine& c, const char* name, const T* p) const {
    for (const index batch : {index{0}, index{batch_count} - 1})
      c.matrix_memory(name, p + batch * batch_stride, by_row ? cols : rows, by_row ? rows : cols,
                      leading);
  }

  index rows, cols, leading;
  bool by_row;
  std::int32_t batch_count;
  index batch_stride;
};

/// What epilogues are made of.
enum epilogue_parts : unsigned {
  kRelu = 2,
  kBias = 4,
  kRelusGradient = 8,
  kSumsOfD = 16,
  kGelu = 32,
  kGelusGradient = 64,
  kAux = 128,
  kSumsOfA = 256,
  kSumsOfB = 512,
  kMasked = kRelu | kRelusGradient,
  kSums = kSumsOfD | kSumsOfA | kSumsOfB,
};

template <class T>
constexpr T kRootOf2OverPi = T(0.79788456080286535588);
template <class T>
T gelu(T x) {
  return T(0.5) * x * (T(1) + std::tanh(kRootOf2OverPi<T> * (x + T(0.044715) * x * x * x)));
}
template <class T>
T slope_of_gelu(T x) {
  const T t = std::tanh(kRootOf2OverPi<T> * (x + T(0.044715) * x * x * x));
  return T(0.5) * (T(1) + t) +
         T(0.5) * x * (T(1) - t * t) * kRootOf2OverPi<T> * (T(1) + T(3 * 0.044715) * x * x);
}

/// T: alpha and beta. Sums and what follows them are of that type, too, but float for half; a
/// result of another type is rounded once, at the end.
template <class T, class In, class Out>
struct matmul {
  using sum = std::conditional_t<std::is_same_v<T, __half>, float, T>;
  static constexpr bool kMixed = !std::is_same_v<sum, In> || !std::is_same_v<sum, Out>;

  stored_matrix a, b, c, d;
  cublasLtMatmulDescOpaque_t product;
  scalar<T> alpha, beta;

  void run(const In* A, const In* B, const Out* C, Out* D) const {
    for (index batch = 0; batch < d.batch_count; ++batch) {
      const matrix<Out> target = d.at(D, batch);
      matrix<const In> left = a.at(A, batch), right = b.at(B, batch);
      if (transposes(product.transa)) left = left.transposed();
      if (transposes(product.transb)) right = right.transposed();
      if constexpr (kMixed) {
        std::vector<sum> x, y, z(static_cast<std::size_t>(d.rows * d.cols));
        if (static_cast<sum>(alpha.get()) != sum(0) || has(kSumsOfA | kSumsOfB))
          x = converted<sum>(left), y = converted<sum>(right);
        const matrix<sum> result = stored(z.data(), d.rows, d.cols, d.rows);
        calculate(stored<const sum>(x.data(), left.rows, left.cols, left.rows),
                  stored<const sum>(y.data(), right.rows, right.cols, right.rows), C, batch,
                  result);
        for (index j = 0; j < d.cols; ++j)
          for (index i = 0; i < d.rows; ++i) target(i, j) = static_cast<Out>(result(i, j));
      } else {
        calculate(left, right, C == D ? nullptr : C, batch, target);
      }
    }
  }

  /// result = after(alpha left right + beta C + bias); C is there already if it is null.
  void calculate(matrix<const sum> left, matrix<const sum> right, const Out* C, index batch,
                 matrix<sum> result) const {
    const sum factor = static_cast<sum>(beta.get());
    if (factor != sum(0) && C != nullptr) {
      const matrix<const Out> from = c.at(C, batch);
      for (index j = 0; j < d.cols; ++j)
        for (index i = 0; i < d.rows; ++i) result(i, j) = static_cast<sum>(from(i, j));
    }
    multiply<sum>(static_cast<sum>(alpha.get()), left, right, factor, result);
    if (product.epilogue != CUBLASLT_EPILOGUE_DEFAULT) finish(left, right, batch, result);
  }

  bool has(unsigned parts) const { return (product.epilogue & parts) != 0; }

  /// The sum of term(0) ... term(n - 1).
  template <class Term>
  static Out total(index n, Term term) {
    sum all = 0;
    for (index i = 0; i < n; ++i) all += term(i);
    return static_cast<Out>(all);
  }

  void finish(matrix<const sum> left, matrix<const sum> right, index batch,
              matrix<sum> result) const {
    Out* const bias = has(kBias | kSums) ? bias_of(batch) : nullptr;
    for (index j = 0; j < d.cols; ++j)
      for (index i = 0; i < d.rows; ++i) {
        sum& x = result(i, j);
        if (has(kBias)) x += static_cast<sum>(bias[i]);
        const index place = i + j * product.aux_leading;
        if (has(kMasked)) {
          unsigned char* const bits = has(kAux) ? mask_of(batch) + place / 8 : nullptr;
          const auto bit = static_cast<unsigned char>(1U << (place % 8));
          const bool passes = has(kRelu) ? x >= sum(0) : (*bits & bit) != 0;
          if (has(kRelu) && bits != nullptr)
            *bits = static_cast<unsigned char>(passes ? *bits | bit : *bits & ~bit);
          if (!passes) x = sum(0);
        } else if (has(kGelu)) {
          if (has(kAux)) aux_of(batch)[place] = static_cast<Out>(x);
          x = gelu(x);
        } else if (has(kGelusGradient)) {
          x *= slope_of_gelu(static_cast<sum>(aux_of(batch)[place]));
        }
      }
    for (index i = 0; i < d.rows && has(kSumsOfD | kSumsOfA); ++i)
      bias[i] = has(kSumsOfA) ? total(left.cols, [&](index k) { return left(i, k); })
                              : total(d.cols, [&](index j) { return result(i, j); });
    for (index j = 0; j < d.cols && has(kSumsOfB); ++j)
      bias[j] = total(right.rows, [&](index k) { return right(k, j); });
  }

  Out* bias_of(index batch) const {
    return static_cast<Out*>(product.bias) + batch * product.bias_stride;
  }
  Out* aux_of(index batch) const {
    return static_cast<Out*>(product.aux) + batch * product.aux_stride;
  }
  unsigned char* mask_of(index batch) const {
    return static_cast<unsigned char*>(product.aux) + batch * product.aux_stride / 8;
  }

  /// What the epilogue reads or writes beside D.
  void check_epilogue(routine& on) const {
    const index unit = has(kMasked) ? 128 : 8;
    if (has(kAux)) {
      on.require(product.aux_leading >= d.rows && product.aux_leading % unit == 0,
                 "the auxiliary buffer's leading dimension is at least D's rows and a multiple of "
                 "128 for ReLU (it counts bits) and of 8 for GELU");
      on.require(product.aux_stride % unit == 0,
                 "the auxiliary buffer's batch stride is a multiple of 128 for ReLU (it counts "
                 "bits) and of 8 for GELU");
    }
    if (!on.ok()) return;
    for (const index batch : {index{0}, index{d.batch_count} - 1}) {
      if (has(kBias | kSums))
        on.array_memory("the bias", bias_of(batch), has(kSumsOfB) ? d.cols : d.rows);
      if (has(kAux) && has(kMasked))
        on.array_memory("the auxiliary buffer", mask_of(batch),
                        ((d.cols - 1) * product.aux_leading + d.rows + 7) / 8);
      else if (has(kAux))
        on.matrix_memory("the auxiliary buffer", aux_of(batch), d.rows, d.cols,
                         product.aux_leading);
    }
  }

  cublasStatus_t submit(routine on, const void* alpha_pointer, const In* A, const In* B,
                        const void* beta_pointer, const Out* C, Out* D) {
    const bool ta = transposes(product.transa), tb = transposes(product.transb);
    on.is(product.transa, "TRANSA").is(product.transb, "TRANSB");
    a.check(on, "A"), b.check(on, "B"), c.check(on, "C"), d.check(on, "D");
    on.require((ta ? a.cols : a.rows) == d.rows, "op(A) and D have different numbers of rows");
    on.require((tb ? b.rows : b.cols) == d.cols, "op(B) and D have different numbers of columns");
    on.require((ta ? a.rows : a.cols) == (tb ? b.cols : b.rows),
               "op(A) has another number of columns than op(B) has rows");
    on.require(c.rows == d.rows && c.cols == d.cols, "C and D have different sizes");
    on.require(d.batch_count > 0 && a.batch_count == d.batch_count &&
                   b.batch_count == d.batch_count && c.batch_count == d.batch_count,
               "the layouts have different batch counts, or none");
    const bool in_place = C == D;
    on.require(!in_place || (c.leading == d.leading && c.by_row == d.by_row &&
                             c.batch_stride == d.batch_stride),
               "C and D are one matrix with different layouts");
    on.pointer(alpha_pointer, "alpha").pointer(beta_pointer, "beta");
    if (!on.ok() || d.rows == 0 || d.cols == 0) return on.status();
    alpha = on.value("alpha", static_cast<const T*>(alpha_pointer));
    beta = on.value("beta", static_cast<const T*>(beta_pointer));
    a.check_memory(on, "A", A), b.check_memory(on, "B", B), d.check_memory(on, "D", D);
    const bool reads_c = on.on_device() || static_cast<sum>(beta.get()) != sum(0);
    if (on.ok() && !in_place && reads_c) c.check_memory(on, "C", C);
    if (on.ok()) check_epilogue(on);
    return on.run([self = *this, A, B, C, D] { self.run(A, B, C, D); });
  }
};

/// As with_types(), for types that have the epilogues and whose alpha and beta are as `product`
/// says.
template <class Run>
cublasStatus_t with_types_of(const cublasLtMatmulDescOpaque_t& product, cudaDataType a,
                             cudaDataType b, cudaDataType d, Run run) {
  return with_types(a, b, d, product.compute,
                    [&]<class T, class In, class Out>(T t, In in, Out out) {
                      constexpr cudaDataType kScale = std::is_same_v<T, double>   ? CUDA_R_64F
                                                      : std::is_same_v<T, __half> ? CUDA_R_16F
                                                                                  : CUDA_R_32F;
                      if constexpr (std::is_integral_v<T> || std::is_integral_v<In>)
                        return not_there("whole numbers are not there");
                      else if (product.scale != kScale)
                        return not_there("alpha and beta are of the compute type here");
                      else
                        return run(t, in, out);
                    });
}

/// Whether this product can be made here; a sentence if not.
cublasStatus_t check_kind(const cublasLtMatmulDescOpaque_t& product, cublasLtMatrixLayout_t a,
                          cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                          cublasLtMatrixLayout_t d) {
  for (const cublasLtMatrixLayout_t layout : {a, b, c, d})
    if (layout->order != CUBLASLT_ORDER_COL && layout->order != CUBLASLT_ORDER_ROW)
      return not_there("here matrices are stored by columns or by rows");
  if (c->type != d->type) return not_there("here C and D are of one type");
  const cublasStatus_t status = with_types_of(
      product, a->type, b->type, d->type, [](auto, auto, auto) { return CUBLAS_STATUS_SUCCESS; });
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  switch (product.epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
    case CUBLASLT_EPILOGUE_RELU:
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
    case CUBLASLT_EPILOGUE_BGRADA:
    case CUBLASLT_EPILOGUE_BGRADB:
      break;
    case CUBLASLT_EPILOGUE_RELU_AUX:
    case CUBLASLT_EPILOGUE_RELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_GELU_AUX:
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DRELU:
    case CUBLASLT_EPILOGUE_DRELU_BGRAD:
    case CUBLASLT_EPILOGUE_DGELU:
    case CUBLASLT_EPILOGUE_DGELU_BGRAD:
      if (d->order != CUBLASLT_ORDER_COL)
        return not_there("an epilogue with an auxiliary buffer has a D in columns here");
      break;
    default:
      return not_there("epilogue " + std::to_string(product.epilogue) + " is not there");
  }
  for (const std::int32_t type : {product.aux_type, product.bias_type})
    if (type != -1 && type != d->type)
      return not_there("the bias and the auxiliary buffer are of D's type here");
  if (product.pointer_mode != CUBLASLT_POINTER_MODE_HOST &&
      product.pointer_mode != CUBLASLT_POINTER_MODE_DEVICE)
    return not_there("alpha and beta are single numbers of the host or of the device here");
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace
}  // namespace cpu_device::blas

using namespace cpu_device::blas;
using cpu_device::cublas_call;
namespace rules = cpu_device::rules;

std::size_t cublasLtGetVersion() { return CUBLAS_VERSION; }

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  return cublas_call<"cublasLtCreate", CUBLAS_STATUS_ALLOC_FAILED>([&] {
    if (handle == nullptr) return wrong("handle is null");
    cublasHandle_t blas = nullptr;
    if (const cublasStatus_t status = cublasCreate(&blas); status != CUBLAS_STATUS_SUCCESS)
      return status;
    *handle = new cublasLtContext{blas};
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return cublas_call<"cublasLtDestroy", CUBLAS_STATUS_INTERNAL_ERROR, rules::releases>([&] {
    if (handle == nullptr) return CUBLAS_STATUS_SUCCESS;
    const cublasStatus_t status = cublasDestroy(handle->blas);
    delete handle;
    return status;
  });
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product, cublasComputeType_t compute,
                                        cudaDataType scale) {
  return cublas_call<"cublasLtMatmulDescCreate", CUBLAS_STATUS_ALLOC_FAILED>([&] {
    if (product == nullptr) return wrong("the description is null");
    *product = new cublasLtMatmulDescOpaque_t{compute, scale};
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
  return cublas_call<"cublasLtMatmulDescDestroy", CUBLAS_STATUS_INTERNAL_ERROR, rules::releases>(
      [&] { return destroy(product); });
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  return cublas_call<"cublasLtMatmulDescSetAttribute">(
      [&] { return set(product, attribute, value, bytes); });
}
cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t product,
                                              cublasLtMatmulDescAttributes_t attribute, void* value,
                                              std::size_t bytes, std::size_t* written) {
  return cublas_call<"cublasLtMatmulDescGetAttribute">(
      [&] { return get(product, attribute, value, bytes, written); });
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          uint64_t rows, uint64_t cols, int64_t leading) {
  return cublas_call<"cublasLtMatrixLayoutCreate", CUBLAS_STATUS_ALLOC_FAILED>([&] {
    if (layout == nullptr) return wrong("the layout is null");
    *layout = new cublasLtMatrixLayoutOpaque_t{type, rows, cols, leading};
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return cublas_call<"cublasLtMatrixLayoutDestroy", CUBLAS_STATUS_INTERNAL_ERROR, rules::releases>(
      [&] { return destroy(layout); });
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, std::size_t bytes) {
  return cublas_call<"cublasLtMatrixLayoutSetAttribute">(
      [&] { return set(layout, attribute, value, bytes); });
}
cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                void* value, std::size_t bytes,
                                                std::size_t* written) {
  return cublas_call<"cublasLtMatrixLayoutGetAttribute">(
      [&] { return get(layout, attribute, value, bytes, written); });
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return cublas_call<"cublasLtMatmulPreferenceCreate", CUBLAS_STATUS_ALLOC_FAILED>([&] {
    if (preference == nullptr) return wrong("the preference is null");
    *preference = new cublasLtMatmulPreferenceOpaque_t;
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return cublas_call<"cublasLtMatmulPreferenceDestroy", CUBLAS_STATUS_INTERNAL_ERROR,
                     rules::releases>([&] { return destroy(preference); });
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, std::size_t bytes) {
  return cublas_call<"cublasLtMatmulPreferenceSetAttribute">([&] {
    if (preference == nullptr || value == nullptr ||
        bytes != (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES ? 8U : 4U))
      return wrong("a null pointer, or a value of the wrong size");
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* found) {
  return cublas_call<"cublasLtMatmulAlgoGetHeuristic">([&] {
    if (handle == nullptr || product == nullptr || a == nullptr || b == nullptr || c == nullptr ||
        d == nullptr || preference == nullptr || wanted < 1 || results == nullptr ||
        found == nullptr)
      return wrong("a null pointer is given, or no result is wanted");
    *found = 0;
    if (const cublasStatus_t status = check_kind(*product, a, b, c, d);
        status != CUBLAS_STATUS_SUCCESS)
      return status;
    results[0] = {};
    results[0].state = CUBLAS_STATUS_SUCCESS;
    results[0].wavesCount = 1.0F;
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                              const void* alpha, const void* A, cublasLtMatrixLayout_t a,
                              const void* B, cublasLtMatrixLayout_t b, const void* beta,
                              const void* C, cublasLtMatrixLayout_t c, void* D,
                              cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t*, void*,
                              std::size_t, cudaStream_t stream) {
  return cublas_call<"cublasLtMatmul">([&] {
    if (handle == nullptr || product == nullptr || a == nullptr || b == nullptr || c == nullptr ||
        d == nullptr)
      return wrong("the handle, the description or a layout is null");
    if (const cublasStatus_t status = check_kind(*product, a, b, c, d);
        status != CUBLAS_STATUS_SUCCESS)
      return status;
    if (const cublasStatus_t status = cublasSetStream(handle->blas, stream);
        status != CUBLAS_STATUS_SUCCESS)
      return status;
    handle->blas->pointer_mode = product->pointer_mode == CUBLASLT_POINTER_MODE_DEVICE
                                     ? CUBLAS_POINTER_MODE_DEVICE
                                     : CUBLAS_POINTER_MODE_HOST;
    const auto run = [&]<class T, class In, class Out>(T, In, Out) {
      matmul<T, In, Out> work{stored_matrix(*a),
                              stored_matrix(*b),
                              stored_matrix(*c),
                              stored_matrix(*d),
                              *product,
                              {},
                              {}};
      return work.submit(handle->blas, alpha, static_cast<const In*>(A), static_cast<const In*>(B),
                         beta, static_cast<const Out*>(C), static_cast<Out*>(D));
    };
    return with_types_of(*product, a->type, b->type, d->type, run);
  });
}
