// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.1 texture_1d: the program.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/random.hpp"
#include "reference.hpp"
#include "texture_1d.hpp"

namespace {

using lab::texture_1d::settings;

/// From `begin` to `end` texels in steps of 1 / `parts`, as coordinates.
std::vector<float> coordinates_between(int begin, int end, int parts, int texels, bool normalized) {
  std::vector<float> coordinates;
  for (int k = begin * parts; k <= end * parts; ++k) {
    const float u = static_cast<float>(k) / static_cast<float>(parts);
    coordinates.push_back(normalized ? u / static_cast<float>(texels) : u);
  }
  return coordinates;
}

/// All texels, and one outside on either side.
bool show_fetches(lab::program& program, const std::vector<float>& texels) {
  std::vector<int> indices(texels.size() + 2);
  std::iota(indices.begin(), indices.end(), -1);
  const auto fetched = lab::texture_1d::fetch(texels, indices).values;
  std::printf("linear memory, tex1Dfetch:");
  for (std::size_t k = 0; k < std::min<std::size_t>(fetched.size(), 12); ++k)
    std::printf("  [%d] %g", indices[k], static_cast<double>(fetched[k]));
  std::printf("%s\n", fetched.size() > 12 ? "  ..." : "");
  return program.verdict(
      lab::compare_exact(fetched, lab::texture_1d::reference_fetch(texels, indices)));
}

/// Both filters around the texture: as a table in quarters of a texel, as a chart in 32nds.
bool show_samples(lab::program& program, const std::vector<float>& texels, settings sampling) {
  const int n = static_cast<int>(texels.size());
  lab::table rows({"coordinate", "point", "linear", "formula"});
  lab::chart plot{.title = "A texture of " + std::to_string(n) + " texels",
                  .x_label = "coordinate",
                  .y_label = "value",
                  .lines = {{"point", {}}, {"linear", {}}}};
  const auto sampled = [&](cudaTextureFilterMode filter, const std::vector<float>& coordinates) {
    sampling.filter = filter;
    return lab::texture_1d::sample(texels, sampling, coordinates).values;
  };

  // The middles of 32nds: never at a texel's edge, where a rounding decides.
  std::vector<float> fine = coordinates_between(-n, 2 * n, 32, n, sampling.normalized);
  const float half = 1.0F / 64 / (sampling.normalized ? static_cast<float>(n) : 1);
  for (float& coordinate : fine) coordinate += half;
  bool right = true;
  for (std::size_t line = 0; line < 2; ++line) {
    const auto values = sampled(line == 0 ? cudaFilterModePoint : cudaFilterModeLinear, fine);
    auto verdict = lab::texture_1d::compare_samples(texels, sampling, fine, values);
    verdict.message = plot.lines[line].name + ": " + verdict.message;
    right = program.verdict(verdict) && right;
    for (std::size_t k = 0; k < fine.size(); ++k)
      plot.lines[line].points.emplace_back(fine[k], values[k]);
  }

  const auto coarse = coordinates_between(-2, n + 2, 4, n, sampling.normalized);
  const auto point = sampled(cudaFilterModePoint, coarse);
  const auto linear = sampled(cudaFilterModeLinear, coarse);
  for (std::size_t k = 0; k < coarse.size(); ++k)
    rows.add({static_cast<double>(coarse[k]), static_cast<double>(point[k]),
              static_cast<double>(linear[k]),
              lab::texture_1d::reference_sample(texels, sampling, coarse[k]).value});
  std::printf("array, tex1D:\n");
  program.emit_table(rows, plot);
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("08.1_texture_1d", "Reads textures of one dimension: at, between, outside.");
  std::size_t size = 4, samples = lab::texture_1d::kDefaultSamples;
  settings sampling;
  sampling.border = -1;
  program.add_size("--size", size, "number of texels").positive().at_most(1000);
  program.add_size("--samples", samples, "how many reads are timed");
  program.add_flag("--normalized", sampling.normalized, "coordinates from 0 to 1, not to --size");
  program.add_number("--border", sampling.border, "what is outside with --address-mode border");
  const auto& address_mode = program.add_choice<cudaTextureAddressMode>(
      "--address-mode",
      {{"clamp", cudaAddressModeClamp, "the nearest texel"},
       {"border", cudaAddressModeBorder, "the value of --border"},
       {"wrap", cudaAddressModeWrap, "the texture again; needs --normalized"},
       {"mirror", cudaAddressModeMirror, "again, every second time backwards; likewise"}},
      cudaAddressModeClamp, "what is beyond the texels");
  program.add_table_options();

  return program.run(argc, argv, [&] {
    program.require_memory(4 * samples * sizeof(float), 2 * samples * sizeof(float));
    sampling.address_mode = address_mode;
    const std::vector<int> whole = lab::random_ints(size, program.seed(), 1, 9);
    const std::vector<float> texels(whole.begin(), whole.end());
    if (!show_fetches(program, texels) || !show_samples(program, texels, sampling)) return false;

    sampling.filter = cudaFilterModeLinear;
    const auto coordinates = lab::random_floats(
        samples, program.seed() + 1, 0, sampling.normalized ? 1.0F : static_cast<float>(size));
    const auto values = lab::texture_1d::sample(texels, sampling, coordinates).values;
    double furthest = 0;
    for (std::size_t k = 0; k < values.size(); ++k)
      furthest = std::max(
          furthest,
          std::fabs(values[k] -
                    lab::texture_1d::reference_sample(texels, sampling, coordinates[k]).value));
    std::printf("%zu random coordinates, linear: at most %.3g from the formula\n", samples,
                furthest);
    if (!program.verdict(lab::texture_1d::compare_samples(texels, sampling, coordinates, values)))
      return false;
    program.report_kernel(
        [&] { return lab::texture_1d::sample(texels, sampling, coordinates).kernel_ms; },
        {.bytes = 2.0 * static_cast<double>(samples) * sizeof(float),
         .items = static_cast<double>(samples),
         .item_name = "linear samples"});
    return true;
  });
}
