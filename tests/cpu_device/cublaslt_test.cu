// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// cuBLASLt: products that are described by objects, against plain loops in double.

#include <cublasLt.h>

#include "cublas_testing.hpp"

namespace {

using conformance::device_array;
using cublas_testing::numbers;
using cublas_testing::rounded;

template <class T>
constexpr cudaDataType kType = sizeof(T) == 4 ? CUDA_R_32F : CUDA_R_64F;
template <class T>
constexpr cublasComputeType_t kCompute = sizeof(T) == 4 ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_64F;

class handle {
 public:
  handle() { EXPECT_DONE(cublasLtCreate(&handle_)); }
  ~handle() { EXPECT_DONE(cublasLtDestroy(handle_)); }
  handle(const handle&) = delete;
  handle& operator=(const handle&) = delete;
  operator cublasLtHandle_t() const { return handle_; }

 private:
  cublasLtHandle_t handle_ = nullptr;
};

class layout {
 public:
  layout(cudaDataType type, uint64_t rows, uint64_t cols, int64_t leading) {
    EXPECT_DONE(cublasLtMatrixLayoutCreate(&layout_, type, rows, cols, leading));
  }
  ~layout() { EXPECT_DONE(cublasLtMatrixLayoutDestroy(layout_)); }
  layout(const layout&) = delete;
  layout& operator=(const layout&) = delete;
  operator cublasLtMatrixLayout_t() const { return layout_; }
  template <class V>
  void set(cublasLtMatrixLayoutAttribute_t attribute, V value) {
    EXPECT_DONE(cublasLtMatrixLayoutSetAttribute(layout_, attribute, &value, sizeof value));
  }

 private:
  cublasLtMatrixLayout_t layout_ = nullptr;
};

class product {
 public:
  product(cublasComputeType_t compute, cudaDataType scale) {
    EXPECT_DONE(cublasLtMatmulDescCreate(&product_, compute, scale));
  }
  ~product() { EXPECT_DONE(cublasLtMatmulDescDestroy(product_)); }
  product(const product&) = delete;
  product& operator=(const product&) = delete;
  operator cublasLtMatmulDesc_t() const { return product_; }
  template <class V>
  void set(cublasLtMatmulDescAttributes_t attribute, V value) {
    EXPECT_DONE(cublasLtMatmulDescSetAttribute(product_, attribute, &value, sizeof value));
  }

 private:
  cublasLtMatmulDesc_t product_ = nullptr;
};

double after(double x, int epilogue) {
  if ((epilogue & CUBLASLT_EPILOGUE_RELU) != 0) return x > 0 ? x : 0;
  if ((epilogue & CUBLASLT_EPILOGUE_GELU) != 0)
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
  return x;
}

// Sizes are multiples of 4, as some of a GPU's algorithms want them; leading dimensions are longer.
constexpr int kM = 20, kN = 12, kK = 28, kBatches = 2;

struct form {
  bool ta, tb, rows;  // rows: C and D are stored row by row
  int epilogue;
};

/// D = epilogue(2 op(A) op(B) - 0.5 C) in batches, C and D different.
template <class T>
void check_form(const form& f) {
  SCOPED_TRACE(std::string(f.ta ? "T" : "N") + (f.tb ? "T" : "N") + (f.rows ? " rows " : " cols ") +
               std::to_string(f.epilogue) + (sizeof(T) == 4 ? " float" : " double"));
  const int a_rows = f.ta ? kK : kM, a_cols = f.ta ? kM : kK;
  const int b_rows = f.tb ? kN : kK, b_cols = f.tb ? kK : kN;
  const int lda = a_rows + 4, ldb = b_rows + 8, ldd = (f.rows ? kN : kM) + 4;
  const int a_size = lda * a_cols, b_size = ldb * b_cols, d_size = ldd * (f.rows ? kM : kN);
  const auto at = [](int n, int batches) { return static_cast<std::size_t>(n * batches); };
  const std::vector<double> a = numbers(at(a_size, kBatches), 1),
                            b = numbers(at(b_size, kBatches), 2),
                            c = numbers(at(d_size, kBatches), 3), bias = numbers(kM, 4);
  const device_array<T> da(rounded<T>(a)), db(rounded<T>(b)), dc(rounded<T>(c)),
      dbias(rounded<T>(bias));
  const device_array<T> dd(c.size(), T(77));

  handle h;
  product p(kCompute<T>, kType<T>);
  p.set(CUBLASLT_MATMUL_DESC_TRANSA, f.ta ? CUBLAS_OP_T : CUBLAS_OP_N);
  p.set(CUBLASLT_MATMUL_DESC_TRANSB, f.tb ? CUBLAS_OP_T : CUBLAS_OP_N);
  p.set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<cublasLtEpilogue_t>(f.epilogue));
  if ((f.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0)
    p.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(dbias.data()));
  layout la(kType<T>, static_cast<uint64_t>(a_rows), static_cast<uint64_t>(a_cols), lda);
  layout lb(kType<T>, static_cast<uint64_t>(b_rows), static_cast<uint64_t>(b_cols), ldb);
  layout ld(kType<T>, kM, kN, ldd);
  if (f.rows) ld.set(CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_ORDER_ROW);
  const std::pair<layout*, int> sizes[] = {{&la, a_size}, {&lb, b_size}, {&ld, d_size}};
  for (const auto& [l, size] : sizes) {
    l->set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t{kBatches});
    l->set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t{size});
  }
  const T alpha = 2, beta = T(-0.5);
  EXPECT_DONE(cublasLtMatmul(h, p, &alpha, da.data(), la, db.data(), lb, &beta, dc.data(), ld,
                             dd.data(), ld, nullptr, nullptr, 0, nullptr));

  const std::vector<T> d = dd.to_host();
  // Each element is a sum of kK products of numbers below 1, twice, and three more roundings.
  const double bound =
      (2 * kK + 4) * 2 * kK * static_cast<double>(std::numeric_limits<T>::epsilon());
  int wrong = 0, untouched = 0;
  for (int batch = 0; batch < kBatches; ++batch)
    for (int i = 0; i < kM; ++i)
      for (int j = 0; j < kN; ++j) {
        double sum = 0;
        for (int k = 0; k < kK; ++k)
          sum += a[at(batch * a_size + (f.ta ? k + i * lda : i + k * lda), 1)] *
                 b[at(batch * b_size + (f.tb ? j + k * ldb : k + j * ldb), 1)];
        const std::size_t place = at(batch * d_size + (f.rows ? i * ldd + j : i + j * ldd), 1);
        double expected = 2 * sum - 0.5 * c[place];
        if ((f.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0) expected += bias[at(i, 1)];
        expected = after(expected, f.epilogue);
        if (!(std::fabs(static_cast<double>(d[place]) - expected) <= bound)) ++wrong;
      }
  for (const T x : d) untouched += x == T(77);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(untouched, kBatches * (d_size - kM * kN)) << "elements between the columns";
}

TEST(CublasLt, MultipliesInEveryForm) {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      check_form<float>({ta, tb, false, CUBLASLT_EPILOGUE_DEFAULT});
      check_form<double>({ta, tb, false, CUBLASLT_EPILOGUE_DEFAULT});
    }
}

TEST(CublasLt, EndsWithAnEpilogue) {
  for (const int epilogue :
       {CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS,
        CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS})
    check_form<float>({true, false, false, epilogue});
}

TEST(CublasLt, TakesAttributesBackAndKnowsTheirSizes) {
  product p(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  p.set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  cublasOperation_t op = CUBLAS_OP_N;
  std::size_t written = 0;
  EXPECT_DONE(
      cublasLtMatmulDescGetAttribute(p, CUBLASLT_MATMUL_DESC_TRANSA, &op, sizeof op, &written));
  EXPECT_EQ(op, CUBLAS_OP_T);
  EXPECT_EQ(written, sizeof op);
  EXPECT_INVALID(cublasLtMatmulDescSetAttribute(p, CUBLASLT_MATMUL_DESC_TRANSA, &op, 1));
  EXPECT_INVALID(
      cublasLtMatmulDescSetAttribute(p, CUBLASLT_MATMUL_DESC_TRANSA, nullptr, sizeof op));
  layout l(CUDA_R_32F, 3, 4, 5);
  uint64_t rows = 0;
  EXPECT_DONE(cublasLtMatrixLayoutGetAttribute(l, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, sizeof rows,
                                               &written));
  EXPECT_EQ(rows, 3U);
}

TEST(CublasLt, FindsAnAlgorithmAndTakesIt) {
  handle h;
  product p(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  const layout square(CUDA_R_32F, 16, 16, 16);
  cublasLtMatmulPreference_t preference = nullptr;
  EXPECT_DONE(cublasLtMatmulPreferenceCreate(&preference));
  const std::size_t workspace = 0;
  EXPECT_DONE(cublasLtMatmulPreferenceSetAttribute(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace));
  cublasLtMatmulHeuristicResult_t result;
  int found = 0;
  EXPECT_DONE(cublasLtMatmulAlgoGetHeuristic(h, p, square, square, square, square, preference, 1,
                                             &result, &found));
  ASSERT_EQ(found, 1);
  EXPECT_EQ(result.state, CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(result.workspaceSize, 0U);
  std::vector<float> one(256), x(256);
  for (std::size_t i = 0; i < 256; ++i) one[i] = i % 17 == 0, x[i] = static_cast<float>(i);
  const device_array<float> a(one), b(x), d(256, 0.0F);
  const float alpha = 1, beta = 0;
  // beta is 0: C's NaNs do not count.
  const device_array<float> nan(256, std::numeric_limits<float>::quiet_NaN());
  EXPECT_DONE(cublasLtMatmul(h, p, &alpha, a.data(), square, b.data(), square, &beta, nan.data(),
                             square, d.data(), square, &result.algo, nullptr, 0, nullptr));
  EXPECT_EQ(d.to_host(), x);
  EXPECT_DONE(cublasLtMatmulPreferenceDestroy(preference));
}

// Whole numbers from -2 to 2, whose sums all of these types have.
template <class T>
std::vector<T> small_numbers(int n, int first) {
  std::vector<T> v;
  for (int i = 0; i < n; ++i)
    v.push_back(static_cast<T>(static_cast<float>((first + 7 * i) % 5 - 2)));
  return v;
}

/// D = relu(2 A^T B + C + bias), of 16 x 16 matrices.
template <class Scale, class In, class Out>
void check_mixed(cublasComputeType_t compute, cudaDataType scale, cudaDataType in,
                 cudaDataType out) {
  SCOPED_TRACE(::testing::Message() << "compute type " << compute << ", " << in << " to " << out);
  constexpr int kSize = 16;
  handle h;
  product p(compute, scale);
  const std::vector<In> a = small_numbers<In>(256, 0), b = small_numbers<In>(256, 2);
  const std::vector<Out> c = small_numbers<Out>(256, 1), bias = small_numbers<Out>(kSize, 4);
  const device_array<In> da(a), db(b);
  const device_array<Out> dc(c), dbias(bias), dd(256, static_cast<Out>(99.0F));
  p.set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  p.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_RELU_BIAS);
  p.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(dbias.data()));
  const layout of_in(in, kSize, kSize, kSize), of_out(out, kSize, kSize, kSize);
  const Scale alpha = static_cast<Scale>(2.0F), beta = static_cast<Scale>(1.0F);
  EXPECT_DONE(cublasLtMatmul(h, p, &alpha, da.data(), of_in, db.data(), of_in, &beta, dc.data(),
                             of_out, dd.data(), of_out, nullptr, nullptr, 0, nullptr));
  const std::vector<Out> d = dd.to_host();
  const auto number = [](auto x) { return static_cast<double>(static_cast<float>(x)); };
  for (std::size_t i = 0; i < kSize; ++i)
    for (std::size_t j = 0; j < kSize; ++j) {
      double sum = number(c[i + j * kSize]) + number(bias[i]);
      for (std::size_t k = 0; k < kSize; ++k)
        sum += 2 * number(a[k + i * kSize]) * number(b[k + j * kSize]);
      EXPECT_EQ(number(d[i + j * kSize]), std::max(sum, 0.0)) << i << " " << j;
    }
}

TEST(CublasLt, TakesHalfPrecision) {
  constexpr cublasComputeType_t k32 = CUBLAS_COMPUTE_32F;
  check_mixed<float, __half, __half>(k32, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F);
  check_mixed<float, __half, float>(k32, CUDA_R_32F, CUDA_R_16F, CUDA_R_32F);
  check_mixed<float, __nv_bfloat16, __nv_bfloat16>(k32, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16BF);
  check_mixed<float, __nv_bfloat16, float>(k32, CUDA_R_32F, CUDA_R_16BF, CUDA_R_32F);
  check_mixed<__half, __half, __half>(CUBLAS_COMPUTE_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F);
}

// ---- What training needs: the auxiliary buffer and the gradients ----

double gelu(double x) { return after(x, CUBLASLT_EPILOGUE_GELU); }
double slope_of_gelu(double x) {
  constexpr double kStep = 1e-5;
  return (gelu(x + kStep) - gelu(x - kStep)) / (2 * kStep);
}

/// D = epilogue(A^T B + C) of halves in two batches. Without an epilogue the elements of D are
/// whole numbers, some of them 0, and halves have them all.
class Training : public testing::Test {
 protected:
  static constexpr int kRows = 48, kCols = 24, kInner = 16, kTwo = 2;
  static constexpr int kBits = 128, kAuxLd = 56;  // leading dimensions of ReLU's buffer and GELU's
  static constexpr auto kD = static_cast<std::size_t>(kRows) * kCols * kTwo;

  static std::size_t at(int i, int j, int batch, int leading = kRows, int columns = kCols) {
    return static_cast<std::size_t>(i + (j + batch * columns) * leading);
  }
  static double number(__half x) { return static_cast<double>(__half2float(x)); }
  /// Element (i, j) before the epilogue.
  double plain(int i, int j, int batch) const {
    double sum = number(c[at(i, j, batch)]);
    for (int k = 0; k < kInner; ++k)
      sum += number(a[at(k, i, batch, kInner, kRows)]) * number(b[at(k, j, batch, kInner)]);
    return sum;
  }
  /// Runs with the buffers that are not null. False if a GPU's library has no such product.
  bool run(cublasLtEpilogue_t epilogue, void* aux, int aux_leading, const void* bias,
           int bias_length = kRows) {
    SCOPED_TRACE(static_cast<int>(epilogue));
    p.set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    p.set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    if (aux != nullptr) {
      p.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux);
      p.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, static_cast<int64_t>(aux_leading));
      p.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE,
            static_cast<int64_t>(aux_leading * kCols));
    }
    if (bias != nullptr) {
      p.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
      p.set(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, static_cast<int64_t>(bias_length));
    }
    layout la(CUDA_R_16F, kInner, kRows, kInner), lb(CUDA_R_16F, kInner, kCols, kInner),
        ld(CUDA_R_16F, kRows, kCols, kRows);
    const std::pair<layout*, int> sizes[] = {
        {&la, kInner * kRows}, {&lb, kInner * kCols}, {&ld, kRows * kCols}};
    for (const auto& [l, size] : sizes) {
      l->set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t{kTwo});
      l->set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t{size});
    }
    const float one = 1;
    const cublasStatus_t status =
        cublasLtMatmul(h, p, &one, da.data(), la, db.data(), lb, &one, dc.data(), ld, dd.data(), ld,
                       nullptr, workspace.data(), kWorkspace, nullptr);
    d = dd.to_host();
#ifndef __CPU_DEVICE__
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) return false;
#endif
    EXPECT_DONE(status);
    return true;
  }
  template <class Expected>
  void expect_elements(Expected expected, double bound = 0) const {
    int wrong = 0;
    for (int batch = 0; batch < kTwo; ++batch)
      for (int j = 0; j < kCols; ++j)
        for (int i = 0; i < kRows; ++i)
          if (!(std::fabs(number(d[at(i, j, batch)]) - expected(i, j, batch)) <= bound)) ++wrong;
    EXPECT_EQ(wrong, 0) << "of " << kD;
  }
  template <class Expected>
  static void expect_sums(const std::vector<__half>& sums, int length, Expected expected,
                          double bound = 0) {
    for (int batch = 0; batch < kTwo; ++batch)
      for (int i = 0; i < length; ++i)
        EXPECT_NEAR(number(sums[at(i, batch, 0, length)]), expected(i, batch), bound)
            << i << " of batch " << batch;
  }
  static bool bit(const std::vector<unsigned char>& mask, int i, int j, int batch) {
    const std::size_t place = at(i, j, batch, kBits);
    return (mask[place / 8] >> (place % 8) & 1) != 0;
  }

  handle h;
  product p{CUBLAS_COMPUTE_32F, CUDA_R_32F};
  const std::vector<__half> a = small_numbers<__half>(kInner * kRows * kTwo, 0),
                            b = small_numbers<__half>(kInner * kCols * kTwo, 2),
                            c = small_numbers<__half>(kRows * kCols * kTwo, 1),
                            bias = small_numbers<__half>(kRows * kTwo, 3);
  const device_array<__half> da{a}, db{b}, dc{c}, dbias{bias}, dd{kD, __float2half(99.0F)};
  static constexpr std::size_t kWorkspace = std::size_t{32} << 20;  // GPUs sum in there
  const device_array<unsigned char> workspace{kWorkspace, 0};
  const device_array<unsigned char> mask{kBits / 8 * kCols * kTwo, 0};
  const device_array<__half> aux{kAuxLd * kCols * kTwo, __float2half(77.0F)};
  const device_array<__half> sums{kRows * kTwo, __float2half(55.0F)};
  std::vector<__half> d;
};

TEST_F(Training, ReluKeepsABitForEachElement) {
  for (const bool biased : {false, true}) {
    ASSERT_TRUE(run(biased ? CUBLASLT_EPILOGUE_RELU_AUX_BIAS : CUBLASLT_EPILOGUE_RELU_AUX,
                    mask.data(), kBits, biased ? dbias.data() : nullptr));
    const auto given = [&](int i, int j, int batch) {
      return plain(i, j, batch) + (biased ? number(bias[at(i, batch, 0)]) : 0.0);
    };
    expect_elements([&](int i, int j, int batch) { return std::max(given(i, j, batch), 0.0); });
    const auto bits = mask.to_host();
    int wrong = 0;
    for (int batch = 0; batch < kTwo; ++batch)
      for (int j = 0; j < kCols; ++j)
        for (int i = 0; i < kRows; ++i)
          wrong += bit(bits, i, j, batch) != (given(i, j, batch) >= 0);
    EXPECT_EQ(wrong, 0);
  }
}

TEST_F(Training, ReluGradientPassesWhereTheBitIsSet) {
  std::vector<unsigned char> bits(mask.to_host().size());
  for (std::size_t i = 0; i < bits.size(); ++i)
    bits[i] = static_cast<unsigned char>(37 * i + i / 7);
  const device_array<unsigned char> given(bits);
  const auto expected = [&](int i, int j, int batch) {
    return bit(bits, i, j, batch) ? plain(i, j, batch) : 0.0;
  };
  ASSERT_TRUE(run(CUBLASLT_EPILOGUE_DRELU, given.data(), kBits, nullptr));
  expect_elements(expected);
  ASSERT_TRUE(run(CUBLASLT_EPILOGUE_DRELU_BGRAD, given.data(), kBits, sums.data()));
  expect_elements(expected);
  expect_sums(sums.to_host(), kRows, [&](int i, int batch) {
    double sum = 0;
    for (int j = 0; j < kCols; ++j) sum += expected(i, j, batch);
    return sum;
  });
  EXPECT_EQ(given.to_host(), bits);
}

TEST_F(Training, GeluKeepsWhatItWasGiven) {
  for (const bool biased : {false, true}) {
    ASSERT_TRUE(run(biased ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX,
                    aux.data(), kAuxLd, biased ? dbias.data() : nullptr));
    const auto given = [&](int i, int j, int batch) {
      return plain(i, j, batch) + (biased ? number(bias[at(i, batch, 0)]) : 0.0);
    };
    expect_elements([&](int i, int j, int batch) { return gelu(given(i, j, batch)); }, 0.04);
    const std::vector<__half> kept = aux.to_host();
    int wrong = 0;
    for (int batch = 0; batch < kTwo; ++batch)
      for (int j = 0; j < kCols; ++j) {
        for (int i = 0; i < kRows; ++i)
          wrong += number(kept[at(i, j, batch, kAuxLd)]) != given(i, j, batch);
        EXPECT_EQ(number(kept[at(kRows, j, batch, kAuxLd)]), 77) << "between the columns";
      }
    EXPECT_EQ(wrong, 0);
  }
}

TEST_F(Training, GeluGradientIsTheSlopeTimesTheProduct) {
  const std::vector<double> x = numbers(aux.to_host().size(), 9);
  std::vector<__half> given;
  for (const double v : x) given.push_back(__float2half(static_cast<float>(3 * v)));
  const device_array<__half> kept(given);
  const auto expected = [&](int i, int j, int batch) {
    return plain(i, j, batch) * slope_of_gelu(number(given[at(i, j, batch, kAuxLd)]));
  };
  // Up to 64 times 1.13, rounded to a half: 2^-5, and as much for an approximate tanh.
  constexpr double kBound = 0.0625;
  ASSERT_TRUE(run(CUBLASLT_EPILOGUE_DGELU, kept.data(), kAuxLd, nullptr));
  expect_elements(expected, kBound);
  ASSERT_TRUE(run(CUBLASLT_EPILOGUE_DGELU_BGRAD, kept.data(), kAuxLd, sums.data()));
  expect_elements(expected, kBound);
  expect_sums(
      sums.to_host(), kRows,
      [&](int i, int batch) {
        double sum = 0;
        for (int j = 0; j < kCols; ++j) sum += expected(i, j, batch);
        return sum;
      },
      kCols * kBound);
}

TEST_F(Training, BiasGradientsAreSumsOfRowsAndColumns) {
  const auto expected = [&](int i, int j, int batch) { return plain(i, j, batch); };
  if (!run(CUBLASLT_EPILOGUE_BGRADA, nullptr, 0, sums.data()))
    GTEST_SKIP() << "not there for this layout";
  expect_elements(expected);
  expect_sums(sums.to_host(), kRows, [&](int i, int batch) {
    double sum = 0;
    for (int k = 0; k < kInner; ++k) sum += number(a[at(k, i, batch, kInner, kRows)]);
    return sum;
  });
  const device_array<__half> columns(kCols * kTwo, __float2half(55.0F));
  if (!run(CUBLASLT_EPILOGUE_BGRADB, nullptr, 0, columns.data(), kCols))
    GTEST_SKIP() << "not there for this layout";
  expect_elements(expected);
  expect_sums(columns.to_host(), kCols, [&](int j, int batch) {
    double sum = 0;
    for (int k = 0; k < kInner; ++k) sum += number(b[at(k, j, batch, kInner)]);
    return sum;
  });
}

#ifdef __CPU_DEVICE__
TEST_F(Training, RefusesBuffersThatDoNotFit) {
  const layout la(CUDA_R_16F, kInner, kRows, kInner), lb(CUDA_R_16F, kInner, kCols, kInner),
      ld(CUDA_R_16F, kRows, kCols, kRows);
  layout rows(CUDA_R_16F, kRows, kCols, kCols);
  rows.set(CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_ORDER_ROW);
  const float one = 1;
  const auto multiplied = [&](cublasLtEpilogue_t epilogue, int64_t leading,
                              const cublasLtMatrixLayout_t l) {
    p.set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    p.set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    p.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, static_cast<void*>(mask.data()));
    p.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, leading);
    return cublasLtMatmul(h, p, &one, da.data(), la, db.data(), lb, &one, dc.data(), l, dd.data(),
                          l, nullptr, nullptr, 0, nullptr);
  };
  EXPECT_INVALID(multiplied(CUBLASLT_EPILOGUE_RELU_AUX, 0, ld));
  EXPECT_INVALID(multiplied(CUBLASLT_EPILOGUE_RELU_AUX, 64, ld));
  EXPECT_INVALID(multiplied(CUBLASLT_EPILOGUE_GELU_AUX, 40, ld));
  EXPECT_INVALID(multiplied(CUBLASLT_EPILOGUE_GELU_AUX, 52, ld));
  EXPECT_EQ(multiplied(CUBLASLT_EPILOGUE_RELU_AUX, kBits, rows), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(multiplied(static_cast<cublasLtEpilogue_t>(2048), kBits, ld),
            CUBLAS_STATUS_NOT_SUPPORTED);
  p.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, int32_t{CUDA_R_32F});
  EXPECT_EQ(multiplied(CUBLASLT_EPILOGUE_GELU_AUX, kAuxLd, ld), CUBLAS_STATUS_NOT_SUPPORTED);
}
#endif

TEST(CublasLt, RefusesSizesThatDoNotFit) {
  handle h;
  product p(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  const layout a(CUDA_R_32F, 16, 8, 16), b(CUDA_R_32F, 16, 16, 16), d(CUDA_R_32F, 16, 16, 16);
  const device_array<float> memory(256, 1.0F), result(256, 5.0F);
  const float alpha = 1, beta = 0;
  EXPECT_INVALID(cublasLtMatmul(h, p, &alpha, memory.data(), a, memory.data(), b, &beta,
                                result.data(), d, result.data(), d, nullptr, nullptr, 0, nullptr));
  EXPECT_EQ(result.to_host(), std::vector<float>(256, 5.0F));
}

#ifdef __CPU_DEVICE__
TEST(CublasLt, StoresRows) { check_form<double>({false, true, true, CUBLASLT_EPILOGUE_RELU}); }

TEST(CublasLt, SaysWhatIsNotThere) {
  handle h;
  const float alpha = 1, beta = 0;
  const auto said = [&](cublasComputeType_t compute, cudaDataType scale, cudaDataType in,
                        cudaDataType c, cudaDataType d) {
    product p(compute, scale);
    const layout of_in(in, 16, 16, 16), of_c(c, 16, 16, 16), of_d(d, 16, 16, 16);
    testing::internal::CaptureStderr();
    EXPECT_EQ(cublasLtMatmul(h, p, &alpha, nullptr, of_in, nullptr, of_in, &beta, nullptr, of_c,
                             nullptr, of_d, nullptr, nullptr, 0, nullptr),
              CUBLAS_STATUS_NOT_SUPPORTED);
    return testing::internal::GetCapturedStderr();
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  constexpr cublasComputeType_t k32 = CUBLAS_COMPUTE_32F;
  EXPECT_TRUE(has(said(k32, CUDA_R_32F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F), "CUDA_R_32F"));
  EXPECT_TRUE(has(said(k32, CUDA_R_32F, CUDA_R_16F, CUDA_R_32F, CUDA_R_16F), "C and D are of one"));
  EXPECT_TRUE(has(said(k32, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F), "alpha and beta"));
  EXPECT_TRUE(has(said(k32, CUDA_R_32F, CUDA_R_8I, CUDA_R_32F, CUDA_R_32F), "whole numbers"));
}
#endif

}  // namespace
