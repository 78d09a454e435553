// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 09.1 gl_image: the program.

#include <cstddef>
#include <cstdio>

#include "gl_image.hpp"
#include "lab/command_line.hpp"
#include "lab/opengl.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
  using lab::gl_image::draw;
  lab::program program("09.1_gl_image", "A kernel draws into a buffer of OpenGL.");
  int width = 512, height = 512;
  program.add_number("--width", width, "of the picture, in pixels").at_least(1);
  program.add_number("--height", height, "of the picture, in pixels").at_least(1);
  program.add_picture_options("gl_image.png");

  return program.run(argc, argv, [&] {
    const auto pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
    // OpenGL's buffer and its picture are in the device's memory, what is read back in the host's.
    program.require_memory(2 * pixels * sizeof(lab::rgba), 2 * pixels * sizeof(lab::rgba));
    lab::gl_context context;
    std::printf("OpenGL: %s\n%d x %d pixels\n", context.description().c_str(), width, height);

    const auto result = draw(width, height);
    const bool right =
        program.verdict(lab::gl_image::compare_with_reference(result.picture, width, height));

    // A wrong picture is worth seeing too. A window has a context of its own.
    context.leave();
    program.emit(result.picture);
    context.enter();
    if (!right) return false;

    program.report_kernel(
        [&] { return draw(width, height).kernel_ms; },
        {.bytes = static_cast<double>(pixels * sizeof(lab::rgba)),  // written, nothing is read
         .items = static_cast<double>(pixels),
         .item_name = "pixels"});
    return true;
  });
}
