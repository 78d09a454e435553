# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Mutations: where each kind fits and where it does not, and that their names stay."""

import unittest

from fakes import REPOSITORY
from lablib import mutations


def changed(kind, text):
    """The versions that a kind makes of a text."""
    return [m.apply(text) for m in mutations.find(text) if m.kind == kind]


class TokensTest(unittest.TestCase):
    def texts(self, text):
        return [token.text for token in mutations.tokens_of(text)]

    def test_comments_strings_and_preprocessor_lines(self):
        self.assertEqual(["a", "b"], self.texts("a // __syncthreads();\n/* i < n\n i < n */ b"))
        self.assertEqual(["a", "b"], self.texts("a\n#define X i < n \\\n  i < m\n  # pragma x\nb"))
        self.assertEqual(['"i < n \\" // x"', ";"], self.texts('"i < n \\" // x" ;'))
        self.assertEqual(["'\"'", "x", "'\"'"], self.texts("'\"' x '\"'"))
        self.assertEqual(['R"(a " < b)"', "x"], self.texts('R"(a " < b)" x'))
        self.assertEqual(['R"m(a )" < b)m"', "x"], self.texts('R"m(a )" < b)m" x'))

    def test_numbers_and_operators(self):
        self.assertEqual(["1'000'007", "+", "1e-3f", "-", ".5F"], self.texts("1'000'007+1e-3f-.5F"))
        self.assertEqual(["k", "<<<", "a", ">>>", "(", "b", ")"], self.texts("k<<<a>>>(b)"))
        self.assertEqual(["a", "<=", "b", "->", "c", "::", "d"], self.texts("a<=b->c::d"))

    def test_static_asserts_are_left_out(self):
        self.assertEqual(["a", ";", "b"], self.texts('a; static_assert((1 < 2), "i < n;"); b'))


class KindsTest(unittest.TestCase):
    def assert_changes(self, kind, text, *expected):
        self.assertEqual(list(expected), changed(kind, text))

    def test_nothing_changes_in_comments_strings_and_preprocessor_lines(self):
        code = (
            "__syncthreads(); if (i < n) a[i] = 0; atomicAdd(p, 1); cudaMemset(p, 0, n *"
            " sizeof(int)); threadIdx.x; for (int i = 0; i <= n; ++i) (n + b - 1) / b;"
            " cudaMemcpyHostToDevice"
        )
        for text in (
            f"void f() {{ // {code}\n}}",
            f"void f() {{ /* {code} */ }}",
            f'void f() {{ g("{code}"); }}',
            f"void f() {{\n#define X {code}\n}}",
            f"void f() {{ static_assert({code.replace(';', ',')}); }}",
        ):
            self.assertEqual([], mutations.find(text), text)
        self.assertGreater(len(mutations.find(f"void f() {{ {code}; }}")), 10)

    def test_no_barrier(self):
        self.assert_changes("no_barrier", "{ __syncthreads(); }", "{ {} }")
        self.assert_changes("no_barrier", "{ if (a) __syncwarp(m); }", "{ if (a) {} }")
        self.assert_changes("no_barrier", "{ x; block.sync(); }", "{ x; {} }")
        self.assert_changes("no_barrier", "{ int any = __syncthreads_or(x); }")  # its value is used

    def test_no_fence(self):
        self.assert_changes("no_fence", "{ __threadfence(); }", "{ {} }")

    def test_no_sync(self):
        self.assert_changes("no_sync", "{ CUDA_CHECK(cudaDeviceSynchronize()); }", "{ {} }")
        self.assert_changes("no_sync", "{ (void)cudaStreamSynchronize(s); }", "{ {} }")
        self.assert_changes("no_sync", "{ CUDA_CHECK(cudaStreamWaitEvent(s, e, 0)); }", "{ {} }")
        self.assert_changes("no_sync", "{ return cudaDeviceSynchronize(); }")

    def test_no_launch_check(self):
        self.assert_changes("no_launch_check", "{ CUDA_CHECK(cudaGetLastError()); }", "{ {} }")

    def test_no_free(self):
        self.assert_changes("no_free", "{ CUDA_CHECK_NOTHROW(cudaFree(p)); }", "{ {} }")
        self.assert_changes("no_free", "{ cudaFreeHost(p); }", "{ {} }")
        self.assert_changes("no_free", "{ cudaStreamDestroy(s); }", "{ {} }")

    def test_no_zeroing(self):
        self.assert_changes("no_zeroing", "{ CUDA_CHECK(cudaMemset(p, 0, n)); }", "{ {} }")
        self.assert_changes("no_zeroing", "{ for (;;) t.x[i][j] = 0; }", "{ for (;;) {} }")
        self.assert_changes("no_zeroing", "{ *p = 0.0F; }", "{ {} }")
        self.assert_changes("no_zeroing", "{ int i = 0; x[i] = 1; y = 0; }")

    def test_starts_at_one(self):
        self.assert_changes(
            "starts_at_one",
            "void f() { float sum = 0; for (int i = 0; i < n; ++i) g(i); }",
            "void f() { float sum = 1; for (int i = 0; i < n; ++i) g(i); }",
            "void f() { float sum = 0; for (int i = 1; i < n; ++i) g(i); }",
        )
        self.assert_changes(
            "starts_at_one", "void f() { A s[4] = {}; }", "void f() { A s[4] = {1}; }"
        )
        # What a call fills in, a default argument, and a member's first value.
        self.assert_changes("starts_at_one", "void f() { int d = 0, v = 0; g(&d); h(&v, d); }")
        self.assert_changes("starts_at_one", "void f(int a = 0); struct s { int a = 0; };")

    def test_no_guard(self):
        self.assert_changes("no_guard", "{ if (i < n) f(); }", "{ if (true) f(); }")
        self.assert_changes(
            "no_guard",
            "{ if (x < w && g(a && b)) f(); }",
            "{ if (true && g(a && b)) f(); }",
            "{ if (x < w && true) f(); }",
        )
        # What leaves the function is dropped by never happening.
        self.assert_changes(
            "no_guard",
            "{ if (a == 0 || b > c) throw x; }",
            "{ if (false || b > c) throw x; }",
            "{ if (a == 0 || false) throw x; }",
        )
        self.assert_changes(
            "no_guard",
            '{ refuse_if(a == 0 || f(b, c), "x: ", a || b); }',
            '{ refuse_if(false || f(b, c), "x: ", a || b); }',
            '{ refuse_if(a == 0 || false, "x: ", a || b); }',
        )
        self.assert_changes("no_guard", "{ if (i >= n) { return; } }", "{ if (false) { return; } }")
        self.assert_changes(
            "no_guard",
            "{ t = in && r + 1 < n ? a[r] : 0; }",
            "{ t = true && r + 1 < n ? a[r] : 0; }",
            "{ t = in && true ? a[r] : 0; }",
        )
        self.assert_changes("no_guard", "{ if constexpr (kAligned) f(); for (; i < n;) g(); }")

    def test_comparison(self):
        self.assert_changes("comparison", "{ a < b; }", "{ a <= b; }")
        self.assert_changes("comparison", "{ a >= b; }", "{ a > b; }")
        self.assert_changes("comparison", "{ a <\n b; }", "{ a <=\n b; }")
        self.assert_changes(
            "comparison", "template <class T> v<int> f; k<<<a, b>>>(c); p->q; a << b;"
        )

    def test_no_rounding_up(self):
        self.assert_changes("no_rounding_up", "{ (n + kT - 1) / kT; }", "{ (n) / kT; }")
        self.assert_changes(
            "no_rounding_up", "{ g((w.x + b.x - 1) / b.x); }", "{ g((w.x) / b.x); }"
        )
        self.assert_changes("no_rounding_up", "{ (n + kT - 1) * kT; (n - 1) / kT; }")

    def test_one_less(self):
        self.assert_changes(
            "one_less",
            "{ k<<<a + b, c>>>(d); }",
            "{ k<<<(a + b) - 1, c>>>(d); }",
            "{ k<<<a + b, c - 1>>>(d); }",
        )
        # A dim3 takes no - 1; its parts do.
        self.assert_changes(
            "one_less",
            "void f() { dim3 grid(a, 1); k<<<grid, dim3(b)>>>(d); }",
            "void f() { dim3 grid(a - 1, 1); k<<<grid, dim3(b)>>>(d); }",
            "void f() { dim3 grid(a, 1); k<<<grid, dim3(b - 1)>>>(d); }",
        )
        self.assert_changes("one_less", "dim3 f(int w); { k<<<1, 1>>>(d); }")

    def test_swap_xy(self):
        self.assert_changes(
            "swap_xy",
            "{ threadIdx.x + blockDim.y; dim3(a, b); dim3(c, c); p.x; threadIdx.z; }",
            "{ threadIdx.y + blockDim.y; dim3(a, b); dim3(c, c); p.x; threadIdx.z; }",
            "{ threadIdx.x + blockDim.x; dim3(a, b); dim3(c, c); p.x; threadIdx.z; }",
            "{ threadIdx.x + blockDim.y; dim3(b, a); dim3(c, c); p.x; threadIdx.z; }",
        )

    def test_dimension_is_one(self):
        self.assert_changes("dimension_is_one", "{ i * blockDim.x + 1; }", "{ i * 1U + 1; }")
        self.assert_changes(
            "dimension_is_one", "{ std::size_t{gridDim.x} * n; }", "{ std::size_t{1U} * n; }"
        )
        self.assert_changes("dimension_is_one", "{ f(blockDim.x); blockDim.x / 2; }")

    def test_plain_update(self):
        self.assert_changes(
            "plain_update", "{ atomicAdd(&a[i], f(1, 2)); }", "{ *(&a[i]) += (f(1, 2)); }"
        )
        self.assert_changes(
            "plain_update", "{ if (x) atomicMax(p, v); }", "{ if (x) *(p) = max(*(p), (v)); }"
        )
        self.assert_changes(
            "plain_update",
            "{ old = atomicExch(p, v); }",
            "{ old = [&] { auto* at_ = p; auto old_ = *at_; *at_ = (v); return old_; }(); }",
        )

    def test_wrong_direction(self):
        self.assert_changes(
            "wrong_direction", "{ f(cudaMemcpyHostToDevice); }", "{ f(cudaMemcpyDeviceToHost); }"
        )

    def test_swapped_copy(self):
        self.assert_changes(
            "swapped_copy", "{ cudaMemcpy(f(a, b), c, n, d); }", "{ cudaMemcpy(c, f(a, b), n, d); }"
        )
        self.assert_changes(
            "swapped_copy",
            "{ cudaMemcpy(a, b, n, cudaMemcpyHostToDevice); }",
            "{ cudaMemcpy(b, a, n, cudaMemcpyHostToDevice); }",
            "{ cudaMemcpy(b, a, n, cudaMemcpyDeviceToHost); }",
        )

    def test_wrong_bytes(self):
        self.assert_changes("wrong_bytes", "{ f(n * sizeof(int), 1); }", "{ f(n, 1); }")
        self.assert_changes("wrong_bytes", "{ f(sizeof(int) * n); }", "{ f(n); }")
        self.assert_changes("wrong_bytes", "{ f(a.size_bytes()); }", "{ f(a.size()); }")
        self.assert_changes("wrong_bytes", "{ f(sizeof(int)); }")

    def test_int_for_size(self):
        self.assert_changes("int_for_size", "void f(std::size_t n) { std::size_t i = n; }",
                            "void f(std::size_t n) { int i = n; }")
        self.assert_changes(
            "int_for_size", "void f() { g(std::size_t{a} * b); }", "void f() { g((a) * b); }"
        )

    def test_wrong_shared_bytes(self):
        self.assert_changes("wrong_shared_bytes", "{ k<<<a, b, c * 4>>>(); }",
                            "{ k<<<a, b, (c * 4) / 2>>>(); }", "{ k<<<a, b, 0>>>(); }")
        self.assert_changes("wrong_shared_bytes", "{ k<<<a, b, 0, s>>>(); k<<<a, b>>>(); }")

    def test_wrong_stream(self):
        self.assert_changes("wrong_stream", "{ k<<<a, b, 0, s>>>(); }", "{ k<<<a, b, 0, 0>>>(); }")
        self.assert_changes(
            "wrong_stream",
            "{ cudaMemcpyAsync(a, b, c, d, s); }",
            "{ cudaMemcpyAsync(a, b, c, d, 0); }",
        )
        self.assert_changes(
            "wrong_stream", "{ cudaEventRecord(e, in.stream); }", "{ cudaEventRecord(e, 0); }"
        )
        self.assert_changes(
            "wrong_stream", "{ ncclSend(p, streams[k], c); }", "{ ncclSend(p, 0, c); }"
        )
        self.assert_changes("wrong_stream", "{ k<<<a, b>>>(); cudaStreamDestroy(stream); }")

    def test_early_return(self):
        self.assert_changes(
            "early_return",
            "__global__ void k() { if (i < n) f(); __syncthreads(); if (a) g(); }",
            "__global__ void k() { if (!(i < n)) return; else f(); __syncthreads(); if (a) g(); }",
        )
        self.assert_changes(
            "early_return", "__device__ int k() { if (i < n) f(); __syncthreads(); }"
        )
        self.assert_changes("early_return", "void k() { if (i < n) f(); __syncthreads(); }")

    def test_off_by_one(self):
        self.assert_changes(
            "off_by_one",
            "{ a[i] = b[i * 2][j]; }",
            "{ a[i + 1] = b[i * 2][j]; }",
            "{ a[i] = b[(i * 2) + 1][j]; }",
            "{ a[i] = b[i * 2][j + 1]; }",
        )
        self.assert_changes("off_by_one", "float t[kTile][kTile]; f([&] { }); a[0];")
        # Nor is a larger array a mistake where its size is a template parameter.
        self.assert_changes("off_by_one", "float t[BM][Tiling::BK]; float u[T::kFours];")

    def test_swapped_arguments(self):
        self.assert_changes(
            "swapped_arguments",
            "void f(int m, const int n, float x) { g(m, n, x); }",
            "void f(int m, const int n, float x) { g(n, m, x); }",
        )
        self.assert_changes(
            "swapped_arguments",
            "void f(float* a, float* b) { k<<<1, 2>>>(a, b); }",
            "void f(float* a, float* b) { k<<<1, 2>>>(b, a); }",
        )
        # Between the operands of cuBLAS stand other arguments.
        self.assert_changes(
            "swapped_arguments",
            "void f(int n, T* a, T* b) { cublasF(a, n, b); }",
            "void f(int n, T* a, T* b) { cublasF(b, n, a); }",
        )
        # Of a header's types nothing is known.
        self.assert_changes(
            "swapped_arguments",
            "void f() { g(x.data(), y.data()); g(x.data(), x.size()); }",
            "void f() { g(y.data(), x.data()); g(x.data(), x.size()); }",
        )
        self.assert_changes(
            "swapped_arguments", "void f(int m, int n) { min(m, n); g(m, m); g(m + 1, n); }"
        )
        self.assert_changes("swapped_arguments", "void f(int m, int n);")

    def test_one_of_two(self):
        self.assert_changes(
            "one_of_two",
            "void f() { g(a, 1); g(b, 2); h(c, 3); x = 1; }",
            "void f() { {} g(b, 2); h(c, 3); x = 1; }",
            "void f() { g(a, 1); {} h(c, 3); x = 1; }",
        )
        self.assert_changes(
            "one_of_two",
            "void f() { a.x[i] = p; a.y[i] = q; }",
            "void f() { {} a.y[i] = q; }",
            "void f() { a.x[i] = p; {} }",
        )
        self.assert_changes("one_of_two", "void f() { int a = 1; int b = 2; T* p; T* q; }")
        self.assert_changes("one_of_two", "void f() { for (a = 1; b < 2; ++c) g(); }")
        self.assert_changes("one_of_two", "struct s { a.b = 1; c.d = 2; };")

    def test_float_for_double(self):
        self.assert_changes(
            "float_for_double",
            "void f(double x, const v<double>& y) { double sum = 0; const double z = 1; }",
            "void f(double x, const v<double>& y) { float sum = 0; const double z = 1; }",
        )

    def test_narrower_scope(self):
        self.assert_changes("narrower_scope", "{ __threadfence(); }", "{ __threadfence_block(); }")
        self.assert_changes("narrower_scope", "{ atomicAdd(p, 1); }", "{ atomicAdd_block(p, 1); }")
        self.assert_changes("narrower_scope", "{ atomicOr_system(p, 1); }", "{ atomicOr(p, 1); }")
        self.assert_changes(
            "narrower_scope",
            "{ cuda::atomic_ref<int, cuda::thread_scope_device> x(*p); }",
            "{ cuda::atomic_ref<int, cuda::thread_scope_block> x(*p); }",
        )
        self.assert_changes(
            "narrower_scope",
            "{ x.load(cuda::memory_order_acquire); }",
            "{ x.load(cuda::memory_order_relaxed); }",
        )
        self.assert_changes("narrower_scope", "{ atomicAdd_block(p, 1); __threadfence_block(); }")

    def test_moved_barrier(self):
        self.assert_changes(
            "moved_barrier",
            "{ f(); __syncthreads(); g(); }",
            "{ __syncthreads(); f(); g(); }",
            "{ f(); g(); __syncthreads(); }",
        )
        self.assert_changes(
            "moved_barrier",
            "{ for (;;) { f(); } block.sync(); { g(); } }",
            "{ for (;;) { f(); block.sync(); } { g(); } }",
        )
        self.assert_changes("moved_barrier", "{ if (a) f(); else g(); any = __syncthreads_or(x); }")

    def test_wrong_lane(self):
        self.assert_changes(
            "wrong_lane", "{ __shfl_sync(m, v, 0); }", "{ __shfl_sync(m, v, 0 + 1); }"
        )
        self.assert_changes(
            "wrong_lane",
            "{ warp.shfl_down(v, d); }",
            "{ warp.shfl_up(v, d); }",
            "{ warp.shfl_down(v, d + 1); }",
        )

    def test_first_for_all(self):
        self.assert_changes(
            "first_for_all",
            "void f() { g(streams[i % 2], streams[0], x[i]); }",
            "void f() { g(streams[0], streams[0], x[i]); }",
        )
        self.assert_changes("first_for_all", "void f(T* streams[kCount]);")

    def test_no_sign(self):
        self.assert_changes(
            "no_sign",
            "void f(float beta, int n) { if (beta == 0 || n == 0) g(); }",
            "void f(float beta, int n) { if (beta <= 0 || n == 0) g(); }",
        )
        self.assert_changes(
            "no_sign", "void f(double x) { g(x != 0.0); }", "void f(double x) { g(x > 0.0); }"
        )

    def test_no_edit_is_made_by_two_kinds(self):
        names = [m.kind for m in mutations.find("void f(int a, int b) { dim3(a, b); }")]
        self.assertEqual(1, len([kind for kind in names if kind.startswith("swap")]))


class NamesTest(unittest.TestCase):
    TEXT = "void f() {\n  a[i] = b[i];\n\n  if (i < n && j <= m) c[i] = 0;\n}\n"

    def test_kind_line_and_number_in_the_line(self):
        self.assertEqual(
            [
                "off_by_one@2.1",
                "off_by_one@2.2",
                "no_zeroing@4.1",
                "no_guard@4.1",
                "no_guard@4.2",
                "comparison@4.1",
                "comparison@4.2",
                "off_by_one@4.1",
            ],
            [m.name for m in mutations.find(self.TEXT)],
        )

    def test_the_same_text_gives_the_same_mutations(self):
        self.assertEqual(mutations.find(self.TEXT), mutations.find(self.TEXT))

    def test_another_line_further_down_changes_no_name(self):
        names = [m.name for m in mutations.find(self.TEXT)]
        more = [m.name for m in mutations.find(self.TEXT + "void g() { __syncthreads(); }\n")]
        self.assertEqual(names, more[: len(names)])

    def test_the_function(self):
        text = (
            "__global__ void __launch_bounds__(9) k(int n) { if (a < b) { c; } }\n"
            "struct s { void m() const { if (a < b) c; } };\n"
            "bool x = a < b;\n"
        )
        found = [m for m in mutations.find(text) if m.kind == "comparison"]
        self.assertEqual(["k", "m", ""], [m.function for m in found])

    def test_the_changed_line(self):
        mutation = next(m for m in mutations.find(self.TEXT) if m.name == "off_by_one@2.2")
        self.assertEqual(("a[i] = b[i];", "a[i] = b[i + 1];"), mutation.changed_line(self.TEXT))


class SolutionsTest(unittest.TestCase):
    """Every solution of the course gives mutations, all with names of their own, that change it."""

    def test_all_of_them(self):
        solutions = sorted(REPOSITORY.glob("solutions/*/*/*.cu"))
        self.assertTrue(solutions)
        for path in solutions:
            text = path.read_text()
            found = mutations.find(text)
            self.assertTrue(found, path)
            self.assertEqual(len(found), len({m.name for m in found}), path)
            for mutation in found:
                before = text[mutation.start : mutation.end]
                self.assertNotEqual(
                    before.split(), mutation.replacement.split(), (path, mutation.name)
                )


if __name__ == "__main__":
    unittest.main()
