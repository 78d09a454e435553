// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/errors.hpp"

#include <gtest/gtest.h>

namespace {

TEST(NotWritten, NamesWhatIsMissingAndWhere) {
  EXPECT_STREQ(lab::not_written("step one_block", 4).what(),
               "step one_block is not written yet: TODO(4) in errors_test.cpp");
}

#line 100 "/home/labs/course/labs/03_vectors/1_vector_add/vector_add.cu"
TEST(NotWritten, NamesAFileBelowLabsFromThereOn) {
  EXPECT_STREQ(lab::not_written("step one_block", 4).what(),
               "step one_block is not written yet: TODO(4) in "
               "labs/03_vectors/1_vector_add/vector_add.cu");
}

#line 200 "/home/cuda_labs/elsewhere/vector_add.cu"
TEST(NotWritten, DoesNotTakeTheEndOfANameForTheFolder) {
  EXPECT_STREQ(lab::not_written("it", 1).what(), "it is not written yet: TODO(1) in vector_add.cu");
}

#line 300 "/home/labs/tests/03_vectors/vector_add_test.cpp"
TEST(NotWritten, DoesNotTakeAFolderAroundTheRepositoryForItsOwn) {
  EXPECT_STREQ(lab::not_written("it", 1).what(),
               "it is not written yet: TODO(1) in vector_add_test.cpp");
}

}  // namespace
