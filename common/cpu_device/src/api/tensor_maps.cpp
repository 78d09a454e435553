// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Tensor maps are made on the host, which is told at once what a copy could not do with them.

#include <cstring>
#include <new>
#include <string>

#include "base/report.hpp"
#include "engine/bulk_copies.hpp"

namespace cpu_device {
namespace {

std::size_t element_bytes(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
      return 1;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT32:
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ:
      return 4;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      return 8;
  }
  return 0;
}

CUresult wrong(const std::string& what) {
  explain("cuTensorMapEncodeTiled: " + what);
  return CUDA_ERROR_INVALID_VALUE;
}

/// The numbers of `t` are set from the arguments.
CUresult set_dimensions(tensor& t, const cuuint64_t* lengths, const cuuint64_t* strides,
                        const cuuint32_t* box, const cuuint32_t* steps) {
  const auto at = [](const char* array, unsigned d) {
    return std::string(array) + "[" + std::to_string(d) + "] ";
  };
  for (unsigned d = 0; d < t.rank; ++d) {
    if (lengths[d] == 0 || lengths[d] > std::uint64_t{1} << 32)
      return wrong(at("globalDim", d) + "is not between 1 and 2^32.");
    if (box[d] == 0 || box[d] > 256) return wrong(at("boxDim", d) + "is not between 1 and 256.");
    if (steps[d] == 0 || steps[d] > 8)
      return wrong(at("elementStrides", d) + "is not between 1 and 8.");
    if (d > 0 && (strides[d - 1] % 16 != 0 || strides[d - 1] >= std::uint64_t{1} << 40))
      return wrong(at("globalStrides", d - 1) +
                   "is no multiple of 16 bytes. Try: rows that are padded to such a length "
                   "(cudaMallocPitch).");
    t.length[d] = static_cast<std::uint32_t>(
        lengths[d] - (lengths[d] >> 32));  // 2^32 elements, of which nobody reaches the last
    t.box[d] = static_cast<std::uint16_t>(box[d]);
    // That of the first dimension is only for interleaved layouts.
    t.step[d] = d == 0 ? std::uint8_t{1} : static_cast<std::uint8_t>(steps[d]);
    if (d > 0) t.stride[d] = strides[d - 1];
  }
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace cpu_device

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                void* address, const cuuint64_t* lengths, const cuuint64_t* strides,
                                const cuuint32_t* box, const cuuint32_t* element_strides,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  using namespace cpu_device;
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE || swizzle > CU_TENSOR_MAP_SWIZZLE_128B) {
    explain(
        "cuTensorMapEncodeTiled: the CPU device has no interleaved layouts, and swizzles of 16 "
        "bytes only.");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  const std::size_t element = element_bytes(type);
  if (element == 0) return wrong("there is no such type of elements.");
  if (rank == 0 || rank > 5) return wrong("an array has one to five dimensions.");
  if (address == nullptr || reinterpret_cast<std::uintptr_t>(address) % 16 != 0)
    return wrong("the array's address is null or no multiple of 16 bytes.");
  if (map == nullptr || lengths == nullptr || box == nullptr || element_strides == nullptr ||
      (rank > 1 && strides == nullptr))
    return wrong("a null pointer.");
  const bool is_float = (type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
  if (fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE && !is_float)
    return wrong("only floating-point numbers can be NaN outside of the array.");
  tensor t{};
  t.mark = tensor::kMark;
  t.address = static_cast<char*>(address);
  t.rank = static_cast<std::uint8_t>(rank);
  t.stride[0] = element;
  t.swizzle = static_cast<std::uint8_t>(swizzle);
  t.nan_outside = fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  t.tf32 = type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 || type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
  if (const CUresult result = set_dimensions(t, lengths, strides, box, element_strides);
      result != CUDA_SUCCESS)
    return result;
  const std::size_t row = box[0] * element;
  if (row % 16 != 0)
    return wrong("a row of the box has " + std::to_string(row) +
                 " bytes, which is no multiple of 16.");
  if (swizzle != CU_TENSOR_MAP_SWIZZLE_NONE && row > std::size_t{16} << swizzle)
    return wrong("a row of the box has more bytes than the swizzle spans.");
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, &t, sizeof t);
  return CUDA_SUCCESS;
}
