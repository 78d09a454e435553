// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// cuBLAS: handles, statuses, copies between host and device, and where OpenBLAS is called.

#include <cpu_device.h>

#include <atomic>
#include <mutex>
#include <set>

#include "base/report.hpp"
#include "context/objects.hpp"
#include "cublas_call.hpp"
#include "engine/engine.hpp"

#ifdef CPU_DEVICE_OPENBLAS
#include <cblas.h>
// OpenBLAS has this; another library with the same cblas.h may not.
extern "C" __attribute__((weak)) void openblas_set_num_threads(int threads);
#endif

namespace cpu_device {
namespace {

std::atomic<bool> library_wanted = true;

}  // namespace

bool use_blas_library(bool wanted) {
#ifdef CPU_DEVICE_OPENBLAS
  library_wanted = wanted;
  return wanted;
#else
  static_cast<void>(wanted);
  return false;
#endif
}

namespace blas {
namespace {

std::set<cublasContext*>& handles() {
  static auto* all = new std::set<cublasContext*>;
  return *all;
}

const object_keeper keeps_handles(object_kind::library_handle, [] { return handles().size(); });

#ifdef CPU_DEVICE_OPENBLAS
/// How cblas names a view: transposed or not, and its leading dimension. False: it cannot.
template <class T>
bool name_view(matrix<const T> a, CBLAS_TRANSPOSE* transpose, index* leading) {
  if (a.row_step == 1 && (a.col_step >= a.rows || a.cols == 1)) {
    *transpose = CblasNoTrans;
    *leading = std::max(a.col_step, a.rows);
  } else if (a.col_step == 1 && (a.row_step >= a.cols || a.rows == 1)) {
    *transpose = CblasTrans;
    *leading = std::max(a.row_step, a.cols);
  } else {
    return false;
  }
  return *leading <= std::numeric_limits<int>::max();
}

void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, float alpha, const float* a,
          int lda, const float* b, int ldb, float* c, int ldc) {
  cblas_sgemm(CblasColMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, 1.0F, c, ldc);
}
void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, double alpha,
          const double* a, int lda, const double* b, int ldb, double* c, int ldc) {
  cblas_dgemm(CblasColMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, 1.0, c, ldc);
}

template <class T>
bool multiply_add_by_library(T alpha, matrix<const T> a, matrix<const T> b, matrix<T> c) {
  constexpr index kLargest = std::numeric_limits<int>::max();
  if (!library_wanted || std::max({a.rows, a.cols, b.cols}) > kLargest) return false;
  CBLAS_TRANSPOSE ta, tb, tc;
  index lda, ldb, ldc;
  if (!name_view<T>(a, &ta, &lda) || !name_view<T>(b, &tb, &ldb) || !name_view<T>(c, &tc, &ldc) ||
      tc != CblasNoTrans)
    return false;
  gemm(ta, tb, static_cast<int>(c.rows), static_cast<int>(c.cols), static_cast<int>(a.cols), alpha,
       a.p, static_cast<int>(lda), b.p, static_cast<int>(ldb), c.p, static_cast<int>(ldc));
  return true;
}
#else
template <class T>
bool multiply_add_by_library(T, matrix<const T>, matrix<const T>, matrix<T>) {
  return false;
}
#endif

}  // namespace

bool library_multiply_add(float alpha, matrix<const float> a, matrix<const float> b,
                          matrix<float> c) {
  return multiply_add_by_library<float>(alpha, a, b, c);
}
bool library_multiply_add(double alpha, matrix<const double> a, matrix<const double> b,
                          matrix<double> c) {
  return multiply_add_by_library<double>(alpha, a, b, c);
}

bool is_handle(cublasHandle_t handle) { return handles().count(handle) != 0; }

cublasStatus_t explain_status(cublasStatus_t status, const std::string& sentence) {
  explain(sentence + " (" + cublasGetStatusName(status) + ")");
  return status;
}

routine::routine(cublasHandle_t handle) : handle_(handle), name_(name_of_this_call()) {
  if (!is_handle(handle))
    status_ = explain_status(CUBLAS_STATUS_NOT_INITIALIZED,
                             std::string(name_) +
                                 ": this is no handle. Try: cublasCreate before the call, and "
                                 "cublasDestroy after the last one");
}

routine& routine::require(bool right, const char* what) {
  if (ok() && !right)
    status_ = explain_status(CUBLAS_STATUS_INVALID_VALUE, std::string(name_) + ": " + what);
  return *this;
}
routine& routine::size(index value, const char* name) {
  return ok() && value < 0 ? require(false, (std::string(name) + " is negative").c_str()) : *this;
}
routine& routine::increment(index value, const char* name) {
  return ok() && value == 0
             ? require(false,
                       (std::string(name) + " is 0: 1 walks from element to element").c_str())
             : *this;
}
routine& routine::leading(index value, index rows, const char* name, index cols) {
  if (!ok() || value >= std::max<index>(1, rows)) return *this;
  return require(
      false, (std::string(name) + " is " + std::to_string(value) + ", but the matrix has " +
              std::to_string(rows) +
              " rows in memory. The leading dimension is the distance from one column "
              "to the next, and at least the number of rows" +
              (cols > 0 && value >= cols
                   ? "; it would be large enough if the numbers of rows and columns were swapped"
                   : ""))
                 .c_str());
}
routine& routine::pointer(const void* p, const char* name) {
  return ok() && p == nullptr ? require(false, (std::string(name) + " is null").c_str()) : *this;
}
routine& routine::is(cublasOperation_t op, const char* name) {
  return ok() && op != CUBLAS_OP_N && op != CUBLAS_OP_T && op != CUBLAS_OP_C
             ? require(false, (std::string(name) + " is no operation").c_str())
             : *this;
}
routine& routine::is(cublasFillMode_t uplo) {
  return require(uplo == CUBLAS_FILL_MODE_LOWER || uplo == CUBLAS_FILL_MODE_UPPER,
                 "uplo is neither LOWER nor UPPER");
}
routine& routine::is(cublasSideMode_t side) {
  return require(side == CUBLAS_SIDE_LEFT || side == CUBLAS_SIDE_RIGHT,
                 "side is neither LEFT nor RIGHT");
}
routine& routine::is(cublasDiagType_t diag) {
  return require(diag == CUBLAS_DIAG_NON_UNIT || diag == CUBLAS_DIAG_UNIT,
                 "diag is neither NON_UNIT nor UNIT");
}

routine& routine::memory(const char* argument, const void* p, index elements,
                         std::size_t bytes_each, index swapped) {
  if (!ok()) return *this;
  const auto bytes_of = [&](index count) {
    constexpr auto kMost = std::numeric_limits<std::size_t>::max();
    const auto n = static_cast<std::size_t>(count);
    return n > kMost / bytes_each ? kMost : n * bytes_each;
  };
  if (!usable_on_device(device(), name_, argument, p, bytes_of(elements), bytes_of(swapped)))
    status_ = CUBLAS_STATUS_EXECUTION_FAILED;
  return *this;
}

bool routine::readable_by_host(const char* argument, const void* p) {
  if (!is_device_only(p)) return true;
  report(std::string(name_) + ": " + argument +
         " points to device memory, but the handle's pointer mode is "
         "CUBLAS_POINTER_MODE_HOST.\n  A GPU program crashes here. Try: the address of a variable "
         "of the host, or cublasSetPointerMode.");
  status_ = CUBLAS_STATUS_EXECUTION_FAILED;
  return false;
}

cublasStatus_t routine::finish(cudaError_t status) {
  if (status != cudaSuccess || pending_error() != cudaSuccess)
    status_ = CUBLAS_STATUS_EXECUTION_FAILED;
  return status_;
}
cublasStatus_t routine::run(std::function<void()> work) {
  if (!ok()) return status_;
  if (current_device() != device())
    return status_ = explain_status(CUBLAS_STATUS_EXECUTION_FAILED,
                                    std::string(name_) + ": the handle was made on device " +
                                        std::to_string(device()) + ", but the current one is " +
                                        std::to_string(current_device()) +
                                        ". Try: cudaSetDevice before the call");
  if (pending_error() != cudaSuccess) return finish(pending_error());
  return finish(enqueue(handle_->stream, std::move(work)));
}
cublasStatus_t routine::run_and_wait(std::function<void()> work) {
  run(std::move(work));
  if (!ok()) return status_;
  return finish(enqueue_and_wait(handle_->stream, {}));
}

}  // namespace blas
}  // namespace cpu_device

using namespace cpu_device;
using blas::routine;

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  return cublas_call<"cublasCreate", CUBLAS_STATUS_ALLOC_FAILED>([&] {
    if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    if (device_count() == 0 || pending_error() != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
#ifdef CPU_DEVICE_OPENBLAS
    // As many as run blocks: the two never work at the same time.
    if (openblas_set_num_threads != nullptr)
      openblas_set_num_threads(static_cast<int>(worker_count()));
#endif
    *handle = new cublasContext;
    (*handle)->device = current_device();
    blas::handles().insert(*handle);
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  return cublas_call<"cublasDestroy", CUBLAS_STATUS_INTERNAL_ERROR, rules::releases>([&] {
    const routine c(handle);
    if (!c.ok()) return c.status();
    finish_device(handle->device);  // a GPU's handle, too, waits for the device before it goes
    blas::handles().erase(handle);
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasGetVersion(cublasHandle_t handle, int* version) {
  return cublas_call<"cublasGetVersion">([&] {
    routine c(handle);
    if (!c.pointer(version, "version").ok()) return c.status();
    *version = CUBLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  return cublas_call<"cublasGetProperty">([&] {
    if (value == nullptr || type < MAJOR_VERSION || type > PATCH_LEVEL)
      return CUBLAS_STATUS_INVALID_VALUE;
    *value = type == MAJOR_VERSION   ? CUBLAS_VER_MAJOR
             : type == MINOR_VERSION ? CUBLAS_VER_MINOR
                                     : CUBLAS_VER_PATCH;
    return CUBLAS_STATUS_SUCCESS;
  });
}

namespace {
struct status_text {
  cublasStatus_t status;
  const char* name;
  const char* text;
};
#define CPU_DEVICE_STATUS(name, text) \
  { name, #name, text }
constexpr status_text kStatuses[] = {
    CPU_DEVICE_STATUS(CUBLAS_STATUS_SUCCESS, "success"),
    CPU_DEVICE_STATUS(CUBLAS_STATUS_NOT_INITIALIZED, "the library was not initialized"),
    CPU_DEVICE_STATUS(CUBLAS_STATUS_ALLOC_FAILED, "the resource allocation failed"),
    CPU_DEVICE_STATUS(CUBLAS_STATUS_INVALID_VALUE,
                      "an unsupported value or parameter was passed to the function"),
    CPU_DEVICE_STATUS(CUBLAS_STATUS_ARCH_MISMATCH, "a feature is absent on this device"),
    CPU_DEVICE_STATUS(CUBLAS_STATUS_MAPPING_ERROR, "an access to device memory failed"),
    CPU_DEVICE_STATUS(CUBLAS_STATUS_EXECUTION_FAILED, "the work failed on the device"),
    CPU_DEVICE_STATUS(CUBLAS_STATUS_INTERNAL_ERROR, "an internal operation failed"),
    CPU_DEVICE_STATUS(CUBLAS_STATUS_NOT_SUPPORTED, "this is not supported"),
    CPU_DEVICE_STATUS(CUBLAS_STATUS_LICENSE_ERROR, "a license is missing"),
};
#undef CPU_DEVICE_STATUS
}  // namespace

const char* cublasGetStatusName(cublasStatus_t status) {
  for (const status_text& s : kStatuses)
    if (s.status == status) return s.name;
  return "unknown status";
}
const char* cublasGetStatusString(cublasStatus_t status) {
  for (const status_text& s : kStatuses)
    if (s.status == status) return s.text;
  return "unknown status";
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  return cublas_call<"cublasSetStream">([&] {
    routine c(handle);
    if (!c.require(is_stream(stream), "this stream does not exist").ok()) return c.status();
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream) {
  return cublas_call<"cublasGetStream">([&] {
    routine c(handle);
    if (!c.pointer(stream, "stream").ok()) return c.status();
    *stream = handle->stream;
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, std::size_t) {
  return cublas_call<"cublasSetWorkspace">([&] {
    routine c(handle);  // taken note of; nothing here needs one
    c.require(reinterpret_cast<std::uintptr_t>(workspace) % 256 == 0,
              "the workspace is not aligned to 256 bytes");
    return c.status();
  });
}

// A mode of the handle: set, with the values that there are, and get.
#define CPU_DEVICE_MODE(NAME, TYPE, FIELD, RIGHT)                             \
  cublasStatus_t cublasSet##NAME(cublasHandle_t handle, TYPE mode) {          \
    return cublas_call<"cublasSet" #NAME>([&] {                               \
      routine c(handle);                                                      \
      if (!c.require(RIGHT, "there is no such mode").ok()) return c.status(); \
      handle->FIELD = mode;                                                   \
      return CUBLAS_STATUS_SUCCESS;                                           \
    });                                                                       \
  }                                                                           \
  cublasStatus_t cublasGet##NAME(cublasHandle_t handle, TYPE* mode) {         \
    return cublas_call<"cublasGet" #NAME>([&] {                               \
      routine c(handle);                                                      \
      if (!c.pointer(mode, "mode").ok()) return c.status();                   \
      *mode = handle->FIELD;                                                  \
      return CUBLAS_STATUS_SUCCESS;                                           \
    });                                                                       \
  }
CPU_DEVICE_MODE(PointerMode, cublasPointerMode_t, pointer_mode,
                mode == CUBLAS_POINTER_MODE_HOST || mode == CUBLAS_POINTER_MODE_DEVICE)
CPU_DEVICE_MODE(AtomicsMode, cublasAtomicsMode_t, atomics_mode,
                mode == CUBLAS_ATOMICS_NOT_ALLOWED || mode == CUBLAS_ATOMICS_ALLOWED)
CPU_DEVICE_MODE(MathMode, cublasMath_t, math_mode,
                (static_cast<int>(mode) & 15) <= CUBLAS_TF32_TENSOR_OP_MATH &&
                    static_cast<int>(mode) <= 31 && static_cast<int>(mode) >= 0)
#undef CPU_DEVICE_MODE

namespace {

/// A matrix of `rows` x `cols` elements, whose columns stand `lda` and `ldb` elements apart.
cublasStatus_t copy_matrix(int rows, int cols, int bytes, const void* from, int lda, void* to,
                           int ldb, cudaMemcpyKind kind, bool wait, cudaStream_t stream = nullptr) {
  if (rows < 0 || cols < 0 || bytes <= 0 || lda < std::max(1, rows) || ldb < std::max(1, rows))
    return blas::explain_status(
        CUBLAS_STATUS_INVALID_VALUE,
        this_call() +
            ": sizes may not be negative, an element has at least a byte, increments are at least "
            "1 and leading dimensions at least the number of rows");
  if (rows == 0 || cols == 0) return CUBLAS_STATUS_SUCCESS;
  const auto width = static_cast<std::size_t>(rows) * static_cast<std::size_t>(bytes);
  const auto from_pitch = static_cast<std::size_t>(lda) * static_cast<std::size_t>(bytes);
  const auto to_pitch = static_cast<std::size_t>(ldb) * static_cast<std::size_t>(bytes);
  const auto height = static_cast<std::size_t>(cols);
  const cudaError_t status =
      wait ? cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind)
           : cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, stream);
  if (status != cudaSuccess) return CUBLAS_STATUS_MAPPING_ERROR;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

// A vector is a matrix of one row.
#define CPU_DEVICE_COPY(NAME, FROM, TO, KIND)                                                    \
  cublasStatus_t cublas##NAME##Vector(int n, int element_bytes, const void* FROM, int incx,      \
                                      void* TO, int incy) {                                      \
    return cublas_call<"cublas" #NAME "Vector">(                                                 \
        [&] { return copy_matrix(1, n, element_bytes, FROM, incx, TO, incy, KIND, true); });     \
  }                                                                                              \
  cublasStatus_t cublas##NAME##VectorAsync(int n, int element_bytes, const void* FROM, int incx, \
                                           void* TO, int incy, cudaStream_t stream) {            \
    return cublas_call<"cublas" #NAME "VectorAsync">([&] {                                       \
      return copy_matrix(1, n, element_bytes, FROM, incx, TO, incy, KIND, false, stream);        \
    });                                                                                          \
  }                                                                                              \
  cublasStatus_t cublas##NAME##Matrix(int rows, int cols, int element_bytes, const void* FROM,   \
                                      int lda, void* TO, int ldb) {                              \
    return cublas_call<"cublas" #NAME "Matrix">(                                                 \
        [&] { return copy_matrix(rows, cols, element_bytes, FROM, lda, TO, ldb, KIND, true); }); \
  }                                                                                              \
  cublasStatus_t cublas##NAME##MatrixAsync(int rows, int cols, int element_bytes,                \
                                           const void* FROM, int lda, void* TO, int ldb,         \
                                           cudaStream_t stream) {                                \
    return cublas_call<"cublas" #NAME "MatrixAsync">([&] {                                       \
      return copy_matrix(rows, cols, element_bytes, FROM, lda, TO, ldb, KIND, false, stream);    \
    });                                                                                          \
  }
CPU_DEVICE_COPY(Set, host, device, cudaMemcpyHostToDevice)
CPU_DEVICE_COPY(Get, device, host, cudaMemcpyDeviceToHost)
#undef CPU_DEVICE_COPY
