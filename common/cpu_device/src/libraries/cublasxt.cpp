// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// cuBLAS-Xt: each tile of the result is made by one of the selected devices, in turn. The device
// gets the tiles that it needs, multiplies them with cuBLAS, and gives the result back. Everything
// here is calls of the CUDA API, as a program could make them itself.

#include <cublasXt.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "context/objects.hpp"
#include "cublas_call.hpp"

using namespace cpu_device;

struct cublasXtContext {
  std::vector<int> devices;
  int block_dim = 1024;  // as in CUDA 13; the documentation does not say
  cublasXtPinnedMemMode_t pinning = CUBLASXT_PINNING_DISABLED;
};

namespace {

std::set<cublasXtContext*>& xt_handles() {
  static auto* all = new std::set<cublasXtContext*>;
  return *all;
}
const object_keeper keeps_handles(object_kind::library_handle, [] { return xt_handles().size(); });

bool is_handle(cublasXtHandle_t handle) { return xt_handles().count(handle) != 0; }

// cuBLAS's functions, by element type.
auto gemm(float) { return cublasSgemm_64; }
auto gemm(double) { return cublasDgemm_64; }
auto syrk(float) { return cublasSsyrk_64; }
auto syrk(double) { return cublasDsyrk_64; }
auto trmm(float) { return cublasStrmm_64; }
auto trmm(double) { return cublasDtrmm_64; }
auto trsm(float) { return cublasStrsm_64; }
auto trsm(double) { return cublasDtrsm_64; }

enum class shape { general, symmetric, triangular };

/// A matrix of a product: op(X), of which for a symmetric or triangular X one half is stored.
template <class T>
struct operand {
  const T* p;
  std::size_t ld;
  cublasOperation_t op = CUBLAS_OP_N;
  shape kind = shape::general;
  cublasFillMode_t uplo = CUBLAS_FILL_MODE_LOWER;
  cublasDiagType_t diag = CUBLAS_DIAG_NON_UNIT;

  bool lower() const { return blas::is_lower(uplo, op); }  // op(X)'s half
  bool is_zero(std::size_t i, std::size_t j) const {       // a whole tile of op(X)
    return kind == shape::triangular && i != j && (i > j) != lower();
  }
};

/// One device at work: its handle, and memory for a tile of each matrix.
template <class T>
class station {
 public:
  /// A tile has up to `block` rows and `columns` columns.
  station(int device, std::size_t block, std::size_t columns) : device_(device), block_(block) {
    cudaSetDevice(device);
    ready_ = cublasCreate(&handle_) == CUBLAS_STATUS_SUCCESS;
    for (T*& tile : tiles_)
      ready_ = ready_ && cudaMalloc(&tile, block * columns * sizeof(T)) == cudaSuccess;
  }
  ~station() {
    cudaSetDevice(device_);
    for (T* tile : tiles_) cudaFree(tile);
    if (handle_ != nullptr) cublasDestroy(handle_);
  }
  station(const station&) = delete;
  station& operator=(const station&) = delete;

  bool ready() const { return ready_; }
  int device() const { return device_; }
  cublasHandle_t handle() const { return handle_; }
  T* tile(int which) const { return tiles_[which]; }
  std::int64_t ld() const { return static_cast<std::int64_t>(block_); }

  bool load(int which, const T* p, std::size_t ld, std::size_t i, std::size_t j, std::size_t rows,
            std::size_t cols) {
    return cudaMemcpy2D(tiles_[which], block_ * sizeof(T), p + i * block_ + j * block_ * ld,
                        ld * sizeof(T), rows * sizeof(T), cols, cudaMemcpyDefault) == cudaSuccess;
  }
  bool store(int which, T* p, std::size_t ld, std::size_t i, std::size_t j, std::size_t rows,
             std::size_t cols) {
    return cudaMemcpy2D(p + i * block_ + j * block_ * ld, ld * sizeof(T), tiles_[which],
                        block_ * sizeof(T), rows * sizeof(T), cols,
                        cudaMemcpyDefault) == cudaSuccess;
  }

  /// Loads the tile (i, j) of op(X), which has rows x cols elements; returns the op that the loaded
  /// tile still needs. The half of a symmetric tile that is not stored is filled in.
  bool load(int which, const operand<T>& x, std::size_t i, std::size_t j, std::size_t rows,
            std::size_t cols, cublasOperation_t* op) {
    bool swap = blas::transposes(x.op);
    if (x.kind == shape::symmetric && i != j)
      swap = (i > j) != (x.uplo == CUBLAS_FILL_MODE_LOWER);  // the mirror image is what is stored
    *op = swap ? CUBLAS_OP_T : CUBLAS_OP_N;
    if (swap) {
      std::swap(i, j);
      std::swap(rows, cols);
    }
    if (x.kind != shape::symmetric || i != j) return load(which, x.p, x.ld, i, j, rows, cols);
    std::vector<T> half(rows * rows);
    const T* from = x.p + i * block_ + j * block_ * x.ld;
    if (cudaMemcpy2D(half.data(), rows * sizeof(T), from, x.ld * sizeof(T), rows * sizeof(T), rows,
                     cudaMemcpyDefault) != cudaSuccess)
      return false;
    const auto order = static_cast<blas::index>(rows);
    const auto whole = blas::mirrored<T>(blas::stored<const T>(half.data(), order, order, order),
                                         x.uplo == CUBLAS_FILL_MODE_LOWER);
    return cudaMemcpy2D(tiles_[which], block_ * sizeof(T), whole.data(), rows * sizeof(T),
                        rows * sizeof(T), rows, cudaMemcpyDefault) == cudaSuccess;
  }

 private:
  int device_;
  std::size_t block_;
  cublasHandle_t handle_ = nullptr;
  T* tiles_[3] = {};
  bool ready_ = false;
};

/// A call: its devices, and how matrices are cut into tiles.
template <class T>
class tiled_call {
 public:
  /// No tile is larger than `largest`, the longest side there is, or has more columns than any
  /// matrix: small ones need little memory.
  tiled_call(cublasXtHandle_t handle, std::size_t largest, std::size_t columns)
      : block_(std::min(static_cast<std::size_t>(handle->block_dim), largest)) {
    cudaGetDevice(&device_before_);
    for (const int device : handle->devices)
      stations_.push_back(std::make_unique<station<T>>(device, block_, std::min(block_, columns)));
  }
  ~tiled_call() {
    stations_.clear();
    cudaSetDevice(device_before_);
  }
  tiled_call(const tiled_call&) = delete;
  tiled_call& operator=(const tiled_call&) = delete;

  bool ready() const {
    return std::all_of(stations_.begin(), stations_.end(), [](auto& s) { return s->ready(); });
  }
  std::size_t tiles(std::size_t n) const { return (n + block_ - 1) / block_; }
  std::int64_t size(std::size_t n, std::size_t tile) const {
    return static_cast<std::int64_t>(std::min(block_, n - tile * block_));
  }
  /// The next device in turn, made current.
  station<T>& next() {
    station<T>& s = *stations_[turn_++ % stations_.size()];
    cudaSetDevice(s.device());
    return s;
  }

 private:
  std::size_t block_, turn_ = 0;
  int device_before_ = 0;
  std::vector<std::unique_ptr<station<T>>> stations_;
};

#define CPU_DEVICE_TRY(call) \
  if (!(call)) return CUBLAS_STATUS_EXECUTION_FAILED

enum { kA, kB, kC };  // a station's tiles

/// C = alpha op(A) op(B) + beta C (m x n, inner dimension k); one of A and B may be symmetric or
/// triangular.
template <class T>
cublasStatus_t multiply(cublasXtHandle_t handle, std::size_t m, std::size_t n, std::size_t k,
                        T alpha, const operand<T>& a, const operand<T>& b, T beta, T* C,
                        std::size_t ldc) {
  const std::size_t of_a = blas::transposes(a.op) ? m : k, of_b = blas::transposes(b.op) ? k : n;
  tiled_call<T> call(handle, std::max({m, n, k}), std::max({of_a, of_b, n}));
  if (!call.ready()) return CUBLAS_STATUS_ALLOC_FAILED;
  for (std::size_t j = 0; j < call.tiles(n); ++j)
    for (std::size_t i = 0; i < call.tiles(m); ++i) {
      station<T>& s = call.next();
      const auto rows = call.size(m, i), cols = call.size(n, j);
      const auto urows = static_cast<std::size_t>(rows), ucols = static_cast<std::size_t>(cols);
      T factor = beta;  // of what stands in the tile of C
      if (beta != T(0)) CPU_DEVICE_TRY(s.load(kC, C, ldc, i, j, urows, ucols));
      const auto one_tile = [&](std::size_t l) {
        const auto depth = call.size(k, l);
        const auto udepth = static_cast<std::size_t>(depth);
        cublasOperation_t opa, opb;
        if (!s.load(kA, a, i, l, urows, udepth, &opa) || !s.load(kB, b, l, j, udepth, ucols, &opb))
          return false;
        cublasStatus_t status;
        if (a.kind == shape::triangular && l == i)
          status = trmm(T{})(s.handle(), CUBLAS_SIDE_LEFT, a.uplo, a.op, a.diag, rows, cols, &alpha,
                             s.tile(kA), s.ld(), s.tile(kB), s.ld(), s.tile(kC), s.ld());
        else if (b.kind == shape::triangular && l == j)
          status = trmm(T{})(s.handle(), CUBLAS_SIDE_RIGHT, b.uplo, b.op, b.diag, rows, cols,
                             &alpha, s.tile(kB), s.ld(), s.tile(kA), s.ld(), s.tile(kC), s.ld());
        else
          status = gemm(T{})(s.handle(), opa, opb, rows, cols, depth, &alpha, s.tile(kA), s.ld(),
                             s.tile(kB), s.ld(), &factor, s.tile(kC), s.ld());
        factor = 1;
        return status == CUBLAS_STATUS_SUCCESS;
      };
      // The tile on a triangle's diagonal comes first: trmm overwrites C.
      const bool triangle = a.kind == shape::triangular || b.kind == shape::triangular;
      const std::size_t diagonal = a.kind == shape::triangular ? i : j;
      if (triangle) CPU_DEVICE_TRY(one_tile(diagonal));
      for (std::size_t l = 0; l < call.tiles(k); ++l)
        if (!(triangle && l == diagonal) && !a.is_zero(i, l) && !b.is_zero(l, j))
          CPU_DEVICE_TRY(one_tile(l));
      if (k == 0)
        CPU_DEVICE_TRY(gemm(T{})(s.handle(), CUBLAS_OP_N, CUBLAS_OP_N, rows, cols, 0, &alpha,
                                 s.tile(kA), s.ld(), s.tile(kB), s.ld(), &factor, s.tile(kC),
                                 s.ld()) == CUBLAS_STATUS_SUCCESS);
      CPU_DEVICE_TRY(s.store(kC, C, ldc, i, j, urows, ucols));
    }
  return CUBLAS_STATUS_SUCCESS;
}

template <class T>
cublasStatus_t multiply_by_own_transpose(cublasXtHandle_t handle, cublasFillMode_t uplo,
                                         cublasOperation_t trans, std::size_t n, std::size_t k,
                                         T alpha, const T* A, std::size_t lda, T beta, T* C,
                                         std::size_t ldc) {
  tiled_call<T> call(handle, std::max(n, k), std::max(n, k));
  if (!call.ready()) return CUBLAS_STATUS_ALLOC_FAILED;
  const operand<T> left{A, lda, trans};
  const operand<T> right{A, lda, blas::transposes(trans) ? CUBLAS_OP_N : CUBLAS_OP_T};
  for (std::size_t j = 0; j < call.tiles(n); ++j)
    for (std::size_t i = 0; i < call.tiles(n); ++i) {
      if (i != j && (i > j) != (uplo == CUBLAS_FILL_MODE_LOWER)) continue;
      station<T>& s = call.next();
      const auto rows = call.size(n, i), cols = call.size(n, j);
      const auto urows = static_cast<std::size_t>(rows), ucols = static_cast<std::size_t>(cols);
      // A tile on the diagonal goes back whole, with the half that must stay as it is.
      if (beta != T(0) || i == j) CPU_DEVICE_TRY(s.load(kC, C, ldc, i, j, urows, ucols));
      T factor = beta;
      for (std::size_t l = 0; l < std::max<std::size_t>(call.tiles(k), 1); ++l) {
        const auto depth = k == 0 ? 0 : call.size(k, l);
        const auto udepth = static_cast<std::size_t>(depth);
        cublasOperation_t opa = CUBLAS_OP_N, opb = CUBLAS_OP_N;
        CPU_DEVICE_TRY(s.load(kA, left, i, l, urows, udepth, &opa));
        cublasStatus_t status;
        if (i == j) {
          status = syrk(T{})(s.handle(), uplo, opa, rows, depth, &alpha, s.tile(kA), s.ld(),
                             &factor, s.tile(kC), s.ld());
        } else {
          CPU_DEVICE_TRY(s.load(kB, right, l, j, udepth, ucols, &opb));
          status = gemm(T{})(s.handle(), opa, opb, rows, cols, depth, &alpha, s.tile(kA), s.ld(),
                             s.tile(kB), s.ld(), &factor, s.tile(kC), s.ld());
        }
        CPU_DEVICE_TRY(status == CUBLAS_STATUS_SUCCESS);
        factor = 1;
      }
      CPU_DEVICE_TRY(s.store(kC, C, ldc, i, j, urows, ucols));
    }
  return CUBLAS_STATUS_SUCCESS;
}

/// op(A) X = alpha B or X op(A) = alpha B; X takes the place of B. The strips of B that do not
/// depend on each other go to the devices in turn; within one, the tiles come in their order.
template <class T>
cublasStatus_t solve(cublasXtHandle_t handle, cublasSideMode_t side, std::size_t m, std::size_t n,
                     T alpha, const operand<T>& a, T* B, std::size_t ldb) {
  tiled_call<T> call(handle, std::max(m, n), std::max(m, n));
  if (!call.ready()) return CUBLAS_STATUS_ALLOC_FAILED;
  const bool left = side == CUBLAS_SIDE_LEFT;
  const std::size_t steps = call.tiles(left ? m : n), strips = call.tiles(left ? n : m);
  const bool forward = a.lower() == left;
  const T minus_one = -1, one = 1;
  for (std::size_t strip = 0; strip < strips; ++strip) {
    station<T>& s = call.next();
    for (std::size_t step = 0; step < steps; ++step) {
      const std::size_t at = forward ? step : steps - 1 - step;
      const std::size_t i = left ? at : strip, j = left ? strip : at;
      const auto rows = call.size(m, i), cols = call.size(n, j);
      const auto urows = static_cast<std::size_t>(rows), ucols = static_cast<std::size_t>(cols);
      CPU_DEVICE_TRY(s.load(kC, B, ldb, i, j, urows, ucols));
      T factor = alpha;
      cublasOperation_t op;
      for (std::size_t before = 0; before < step; ++before) {  // what is solved already
        const std::size_t l = forward ? before : steps - 1 - before;
        const auto depth = call.size(left ? m : n, l);
        const auto udepth = static_cast<std::size_t>(depth);
        cublasStatus_t status;
        if (left) {
          CPU_DEVICE_TRY(s.load(kA, a, i, l, urows, udepth, &op));
          CPU_DEVICE_TRY(s.load(kB, B, ldb, l, j, udepth, ucols));
          status = gemm(T{})(s.handle(), op, CUBLAS_OP_N, rows, cols, depth, &minus_one, s.tile(kA),
                             s.ld(), s.tile(kB), s.ld(), &factor, s.tile(kC), s.ld());
        } else {
          CPU_DEVICE_TRY(s.load(kA, a, l, j, udepth, ucols, &op));
          CPU_DEVICE_TRY(s.load(kB, B, ldb, i, l, urows, udepth));
          status = gemm(T{})(s.handle(), CUBLAS_OP_N, op, rows, cols, depth, &minus_one, s.tile(kB),
                             s.ld(), s.tile(kA), s.ld(), &factor, s.tile(kC), s.ld());
        }
        CPU_DEVICE_TRY(status == CUBLAS_STATUS_SUCCESS);
        factor = one;
      }
      const std::size_t order = left ? urows : ucols;
      CPU_DEVICE_TRY(s.load(kA, a, at, at, order, order, &op));
      CPU_DEVICE_TRY(trsm(T{})(s.handle(), side, a.uplo, a.op, a.diag, rows, cols, &factor,
                               s.tile(kA), s.ld(), s.tile(kC), s.ld()) == CUBLAS_STATUS_SUCCESS);
      CPU_DEVICE_TRY(s.store(kC, B, ldb, i, j, urows, ucols));
    }
  }
  return CUBLAS_STATUS_SUCCESS;
}
#undef CPU_DEVICE_TRY

/// Looks at the arguments of a call, as blas::call does: the first wrong one gives the status.
class arguments {
 public:
  explicit arguments(cublasXtHandle_t handle) {
    if (!is_handle(handle))
      wrong(CUBLAS_STATUS_NOT_INITIALIZED,
            "this is no handle. Try: cublasXtCreate before the call");
    else if (handle->devices.empty())
      wrong(CUBLAS_STATUS_NOT_INITIALIZED, "no device is selected. Try: cublasXtDeviceSelect");
  }
  arguments& require(bool right, const char* what) {
    if (!right) wrong(CUBLAS_STATUS_INVALID_VALUE, what);
    return *this;
  }
  arguments& is(cublasOperation_t op) {
    return require(op == CUBLAS_OP_N || blas::transposes(op), "an operation is none");
  }
  arguments& is(cublasFillMode_t uplo) {
    return require(uplo == CUBLAS_FILL_MODE_LOWER || uplo == CUBLAS_FILL_MODE_UPPER,
                   "uplo is neither LOWER nor UPPER");
  }
  arguments& is(cublasSideMode_t side) {
    return require(side == CUBLAS_SIDE_LEFT || side == CUBLAS_SIDE_RIGHT,
                   "side is neither LEFT nor RIGHT");
  }
  arguments& is(cublasDiagType_t diag) {
    return require(diag == CUBLAS_DIAG_NON_UNIT || diag == CUBLAS_DIAG_UNIT,
                   "diag is neither NON_UNIT nor UNIT");
  }
  arguments& leading(std::size_t ld, std::size_t rows) {
    return require(ld >= std::max<std::size_t>(1, rows),
                   "a leading dimension is less than the rows of its matrix");
  }
  arguments& pointer(const void* p) { return require(p != nullptr, "a pointer is null"); }
  bool ok() const { return status_ == CUBLAS_STATUS_SUCCESS; }
  cublasStatus_t status() const { return status_; }

 private:
  void wrong(cublasStatus_t status, const char* what) {
    if (ok()) status_ = blas::explain_status(status, this_call() + ": " + what);
  }
  cublasStatus_t status_ = CUBLAS_STATUS_SUCCESS;
};

template <class T>
cublasStatus_t xt_gemm(cublasXtHandle_t h, cublasOperation_t transa, cublasOperation_t transb,
                       std::size_t m, std::size_t n, std::size_t k, const T* alpha, const T* A,
                       std::size_t lda, const T* B, std::size_t ldb, const T* beta, T* C,
                       std::size_t ldc) {
  arguments args(h);
  args.is(transa).is(transb).leading(lda, blas::transposes(transa) ? k : m);
  args.leading(ldb, blas::transposes(transb) ? n : k).leading(ldc, m).pointer(alpha).pointer(beta);
  if (!args.ok() || m == 0 || n == 0) return args.status();
  if (k > 0) args.pointer(A).pointer(B);
  if (!args.pointer(C).ok()) return args.status();
  return multiply<T>(h, m, n, k, *alpha, {A, lda, transa}, {B, ldb, transb}, *beta, C, ldc);
}

template <class T>
cublasStatus_t xt_symm(cublasXtHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo,
                       std::size_t m, std::size_t n, const T* alpha, const T* A, std::size_t lda,
                       const T* B, std::size_t ldb, const T* beta, T* C, std::size_t ldc) {
  arguments args(h);
  const bool left = side == CUBLAS_SIDE_LEFT;
  args.is(side).is(uplo).leading(lda, left ? m : n).leading(ldb, m).leading(ldc, m);
  args.pointer(alpha).pointer(beta);
  if (!args.ok() || m == 0 || n == 0) return args.status();
  if (!args.pointer(A).pointer(B).pointer(C).ok()) return args.status();
  const operand<T> s{A, lda, CUBLAS_OP_N, shape::symmetric, uplo}, other{B, ldb};
  return left ? multiply<T>(h, m, n, m, *alpha, s, other, *beta, C, ldc)
              : multiply<T>(h, m, n, n, *alpha, other, s, *beta, C, ldc);
}

template <class T>
cublasStatus_t xt_syrk(cublasXtHandle_t h, cublasFillMode_t uplo, cublasOperation_t trans,
                       std::size_t n, std::size_t k, const T* alpha, const T* A, std::size_t lda,
                       const T* beta, T* C, std::size_t ldc) {
  arguments args(h);
  args.is(uplo).is(trans).leading(lda, blas::transposes(trans) ? k : n).leading(ldc, n);
  args.pointer(alpha).pointer(beta);
  if (!args.ok() || n == 0) return args.status();
  if (k > 0) args.pointer(A);
  if (!args.pointer(C).ok()) return args.status();
  return multiply_by_own_transpose<T>(h, uplo, trans, n, k, *alpha, A, lda, *beta, C, ldc);
}

template <class T>
cublasStatus_t xt_triangular(cublasXtHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo,
                             cublasOperation_t trans, cublasDiagType_t diag, std::size_t m,
                             std::size_t n, const T* alpha, const T* A, std::size_t lda, const T* B,
                             std::size_t ldb, T* C, std::size_t ldc, bool solving) {
  arguments args(h);
  const bool left = side == CUBLAS_SIDE_LEFT;
  args.is(side).is(uplo).is(trans).is(diag).leading(lda, left ? m : n);
  args.leading(ldb, m).leading(ldc, m).pointer(alpha);
  if (!args.ok() || m == 0 || n == 0) return args.status();
  if (!args.pointer(A).pointer(B).pointer(C).ok()) return args.status();
  const operand<T> t{A, lda, trans, shape::triangular, uplo, diag};
  if (solving) return solve<T>(h, side, m, n, *alpha, t, C, ldc);
  std::vector<T> copy;
  operand<T> other{B, ldb};
  if (B == C) {  // tiles of B are still needed when those of C are written
    copy.resize(m * n);
    if (cudaMemcpy2D(copy.data(), m * sizeof(T), B, ldb * sizeof(T), m * sizeof(T), n,
                     cudaMemcpyDefault) != cudaSuccess)
      return CUBLAS_STATUS_EXECUTION_FAILED;
    other = {copy.data(), m};
  }
  return left ? multiply<T>(h, m, n, m, *alpha, t, other, T(0), C, ldc)
              : multiply<T>(h, m, n, n, *alpha, other, t, T(0), C, ldc);
}

cublasStatus_t no_handle() { return CUBLAS_STATUS_NOT_INITIALIZED; }

bool is_routine(cublasXtBlasOp_t operation, cublasXtOpType_t type) {
  return operation >= CUBLASXT_GEMM && operation < CUBLASXT_ROUTINE_MAX && type >= CUBLASXT_FLOAT &&
         type <= CUBLASXT_DOUBLECOMPLEX;
}

}  // namespace

cublasStatus_t cublasXtCreate(cublasXtHandle_t* handle) {
  return cublas_call<"cublasXtCreate", CUBLAS_STATUS_ALLOC_FAILED>([&] {
    if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    if (device_count() == 0) return CUBLAS_STATUS_NOT_INITIALIZED;
    *handle = new cublasXtContext;
    xt_handles().insert(*handle);
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasXtDestroy(cublasXtHandle_t handle) {
  return cublas_call<"cublasXtDestroy", CUBLAS_STATUS_INTERNAL_ERROR, rules::releases>([&] {
    if (xt_handles().erase(handle) == 0) return no_handle();
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasXtGetNumBoards(int count, int devices[], int* board_count) {
  return cublas_call<"cublasXtGetNumBoards">([&] {
    if (count <= 0 || devices == nullptr || board_count == nullptr)
      return CUBLAS_STATUS_INVALID_VALUE;
    *board_count = count;  // a device here is a board of its own
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasXtMaxBoards(int* board_count) {
  return cublas_call<"cublasXtMaxBoards">([&] {
    if (board_count == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *board_count = device_count();
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasXtDeviceSelect(cublasXtHandle_t handle, int count, int devices[]) {
  return cublas_call<"cublasXtDeviceSelect">([&] {
    if (!is_handle(handle)) return no_handle();
    if (count <= 0 || devices == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    for (int i = 0; i < count; ++i)
      if (devices[i] < 0 || devices[i] >= device_count())
        return blas::explain_status(
            CUBLAS_STATUS_INVALID_VALUE,
            "cublasXtDeviceSelect: there is no device " + std::to_string(devices[i]));
    handle->devices.assign(devices, devices + count);
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasXtSetBlockDim(cublasXtHandle_t handle, int block_dim) {
  return cublas_call<"cublasXtSetBlockDim">([&] {
    if (!is_handle(handle)) return no_handle();
    if (block_dim <= 0) return CUBLAS_STATUS_INVALID_VALUE;
    handle->block_dim = block_dim;
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasXtGetBlockDim(cublasXtHandle_t handle, int* block_dim) {
  return cublas_call<"cublasXtGetBlockDim">([&] {
    if (!is_handle(handle)) return no_handle();
    if (block_dim == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *block_dim = handle->block_dim;
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasXtSetPinningMemMode(cublasXtHandle_t handle, cublasXtPinnedMemMode_t mode) {
  return cublas_call<"cublasXtSetPinningMemMode">([&] {
    if (!is_handle(handle)) return no_handle();
    if (mode != CUBLASXT_PINNING_DISABLED && mode != CUBLASXT_PINNING_ENABLED)
      return CUBLAS_STATUS_INVALID_VALUE;
    handle->pinning = mode;
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasXtGetPinningMemMode(cublasXtHandle_t handle, cublasXtPinnedMemMode_t* mode) {
  return cublas_call<"cublasXtGetPinningMemMode">([&] {
    if (!is_handle(handle)) return no_handle();
    if (mode == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *mode = handle->pinning;
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasXtSetCpuRoutine(cublasXtHandle_t handle, cublasXtBlasOp_t operation,
                                     cublasXtOpType_t type, void*) {
  return cublas_call<"cublasXtSetCpuRoutine">([&] {
    if (!is_handle(handle)) return no_handle();
    return is_routine(operation, type) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
  });
}
cublasStatus_t cublasXtSetCpuRatio(cublasXtHandle_t handle, cublasXtBlasOp_t operation,
                                   cublasXtOpType_t type, float ratio) {
  return cublas_call<"cublasXtSetCpuRatio">([&] {
    if (!is_handle(handle)) return no_handle();
    return is_routine(operation, type) && ratio >= 0 && ratio <= 1 ? CUBLAS_STATUS_SUCCESS
                                                                   : CUBLAS_STATUS_INVALID_VALUE;
  });
}

#define CPU_DEVICE_CUBLASXT(L, T)                                                                  \
  cublasStatus_t cublasXt##L##gemm(                                                                \
      cublasXtHandle_t h, cublasOperation_t transa, cublasOperation_t transb, std::size_t m,       \
      std::size_t n, std::size_t k, const T* alpha, const T* A, std::size_t lda, const T* B,       \
      std::size_t ldb, const T* beta, T* C, std::size_t ldc) {                                     \
    return cublas_call<"cublasXt" #L "gemm">(                                                      \
        [&] { return xt_gemm(h, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc); }); \
  }                                                                                                \
  cublasStatus_t cublasXt##L##symm(cublasXtHandle_t h, cublasSideMode_t side,                      \
                                   cublasFillMode_t uplo, std::size_t m, std::size_t n,            \
                                   const T* alpha, const T* A, std::size_t lda, const T* B,        \
                                   std::size_t ldb, const T* beta, T* C, std::size_t ldc) {        \
    return cublas_call<"cublasXt" #L "symm">(                                                      \
        [&] { return xt_symm(h, side, uplo, m, n, alpha, A, lda, B, ldb, beta, C, ldc); });        \
  }                                                                                                \
  cublasStatus_t cublasXt##L##syrk(cublasXtHandle_t h, cublasFillMode_t uplo,                      \
                                   cublasOperation_t trans, std::size_t n, std::size_t k,          \
                                   const T* alpha, const T* A, std::size_t lda, const T* beta,     \
                                   T* C, std::size_t ldc) {                                        \
    return cublas_call<"cublasXt" #L "syrk">(                                                      \
        [&] { return xt_syrk(h, uplo, trans, n, k, alpha, A, lda, beta, C, ldc); });               \
  }                                                                                                \
  cublasStatus_t cublasXt##L##trmm(                                                                \
      cublasXtHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans,   \
      cublasDiagType_t diag, std::size_t m, std::size_t n, const T* alpha, const T* A,             \
      std::size_t lda, const T* B, std::size_t ldb, T* C, std::size_t ldc) {                       \
    return cublas_call<"cublasXt" #L "trmm">([&] {                                                 \
      return xt_triangular(h, side, uplo, trans, diag, m, n, alpha, A, lda, B, ldb, C, ldc,        \
                           false);                                                                 \
    });                                                                                            \
  }                                                                                                \
  cublasStatus_t cublasXt##L##trsm(                                                                \
      cublasXtHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans,   \
      cublasDiagType_t diag, std::size_t m, std::size_t n, const T* alpha, const T* A,             \
      std::size_t lda, T* B, std::size_t ldb) {                                                    \
    return cublas_call<"cublasXt" #L "trsm">([&] {                                                 \
      return xt_triangular<T>(h, side, uplo, trans, diag, m, n, alpha, A, lda, B, ldb, B, ldb,     \
                              true);                                                               \
    });                                                                                            \
  }
CPU_DEVICE_CUBLASXT(S, float)
CPU_DEVICE_CUBLASXT(D, double)
#undef CPU_DEVICE_CUBLASXT
