// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "rewriter.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tokens.hpp"

namespace {

namespace fs = std::filesystem;

const std::string kMarker = "#line 1 \"k.cu\"\n";

/// The rewritten text without its first line.
std::string code(const std::string& source) {
  const rewriter::rewritten result = rewriter::rewrite(source, "k.cu");
  EXPECT_EQ(result.text.substr(0, kMarker.size()), kMarker);
  for (const rewriter::problem& p : result.problems)
    ADD_FAILURE() << "line " << p.line << ": " << p.sentence;
  return result.text.substr(std::min(result.text.size(), kMarker.size()));
}

std::vector<rewriter::problem> problems(const std::string& source) {
  return rewriter::rewrite(source, "k.cu").problems;
}

/// What `callee<<<` becomes; `shown` is the string with its quotes, `line` a number or __LINE__.
std::string launch(const std::string& callee, const std::string& shown, const std::string& line) {
  const std::string by_name = "[&](auto&&... cpu_device_p) { " + callee + "(cpu_device_p...); }";
  const std::string typed = "cpu_device_l.template typed<(" + callee + ")>(";
  const bool is_call = callee.ends_with(')') && !callee.starts_with('(');  // no constant
  return "::cpu_device::launch([&](auto cpu_device_l) { " +
         (is_call ? ""
                  : "if constexpr (requires { " + typed + "0); }) return " + typed + by_name +
                        "); else ") +
         "if constexpr (requires { cpu_device_l.typed(" + callee +
         "); }) return cpu_device_l.typed(" + callee + "); else return cpu_device_l.deduced(" +
         by_name + "); }, " + shown + ", __FILE__, " + line + ", ";
}
std::string launch(const std::string& callee, int line = 1) {
  return launch(callee, '"' + callee + '"', std::to_string(line));
}

void expect_unchanged(const std::string& source) {
  const rewriter::rewritten result = rewriter::rewrite(source, "k.cu");
  EXPECT_EQ(result.text, kMarker + source);
  EXPECT_FALSE(result.changed);
  EXPECT_TRUE(result.problems.empty());
}

void expect_problem(const std::string& source, int line, const std::string& part) {
  const std::vector<rewriter::problem> found = problems(source);
  ASSERT_EQ(found.size(), 1u) << source;
  EXPECT_EQ(found[0].file, "k.cu");
  EXPECT_EQ(found[0].line, line) << source;
  EXPECT_NE(found[0].sentence.find(part), std::string::npos) << found[0].sentence;
}

std::size_t newlines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// ---- Tokens ----

std::vector<std::string> texts(const std::string& source) {
  std::vector<std::string> result;
  for (const rewriter::token& t : rewriter::cut(source).code) result.emplace_back(t.text);
  return result;
}

TEST(Tokens, SplitsIdentifiersNumbersAndStrings) {
  EXPECT_EQ(texts("int x1=1'000.5e-3f+0x1p+4;u8\"a\\\"b\" L'\\''"),
            (std::vector<std::string>{"int", "x1", "=", "1'000.5e-3f", "+", "0x1p+4", ";",
                                      "u8\"a\\\"b\"", "L'\\''"}));
}

TEST(Tokens, TakesARawStringWhole) {
  EXPECT_EQ(texts("a R\"x(\" )\" // )y\" )x\" b"),
            (std::vector<std::string>{"a", "R\"x(\" )\" // )y\" )x\"", "b"}));
}

TEST(Tokens, SkipsCommentsAndCountsTheirLines) {
  const rewriter::source_tokens cut = rewriter::cut("/* a\n b */ x // y \\\n still a comment\nz");
  ASSERT_EQ(cut.code.size(), 2u);
  EXPECT_EQ(cut.code[0].text, "x");
  EXPECT_EQ(cut.code[0].line, 2);
  EXPECT_EQ(cut.code[1].text, "z");
  EXPECT_EQ(cut.code[1].line, 4);
}

TEST(Tokens, KeepsPreprocessorLinesApart) {
  const rewriter::source_tokens cut =
      rewriter::cut("#define F(a, b) a \\\n  + b\nx\n  # include <y>\n");
  ASSERT_EQ(cut.directives.size(), 2u);
  EXPECT_EQ(cut.directives[0].macro, "F");
  EXPECT_EQ(cut.directives[0].parameters, (std::vector<std::string_view>{"a", "b"}));
  EXPECT_EQ(cut.directives[0].tokens.size(), 3u);
  EXPECT_EQ(cut.directives[0].tokens[2].line, 2);
  EXPECT_EQ(cut.directives[1].name, "include");
  EXPECT_EQ(cut.directives[1].position, 1u);
  EXPECT_EQ(texts("#define X 1\ny"), (std::vector<std::string>{"y"}));
}

TEST(Tokens, AnApostropheInExcludedProseEndsWithItsLine) {
  EXPECT_EQ(texts("#if 0\nwe don't compile this\n#endif\nint x;"),
            (std::vector<std::string>{"int", "x", ";"}));
}

TEST(Tokens, SurviveWhateverTheyAreGiven) {
  for (const std::string source : {"\"",
                                   "'",
                                   "R\"(",
                                   "R\"",
                                   "/*",
                                   "//",
                                   "#",
                                   "#define",
                                   "#define F(",
                                   "\\",
                                   "<<<",
                                   ">>>",
                                   "a<<<",
                                   "((((",
                                   "))))",
                                   "}",
                                   "#if",
                                   "#else\n#endif",
                                   "extern __shared__",
                                   "__shared__",
                                   "asm",
                                   "asm(",
                                   "__attribute__",
                                   "__attribute__((",
                                   "#include \"",
                                   "k<<<1,2>>>",
                                   "template<",
                                   ">::k<<<",
                                   "::<<<",
                                   "]<<<",
                                   "(<<<",
                                   ".k<<<",
                                   "__global__ void",
                                   "__shared__ int a[",
                                   "__shared__ int a, ;",
                                   "__shared__ struct {",
                                   "alignas( __shared__ int x;",
                                   "[[ __shared__ int x;",
                                   "#define A ##<<<",
                                   "operator<<<",
                                   "\xEF\xBB\xBF"}) {
    const rewriter::rewritten result = rewriter::rewrite(source, "k.cu");
    EXPECT_EQ(newlines(result.text), newlines(source) + 1) << source;
  }
}

// ---- Launches ----

TEST(Launch, BecomesACall) {
  EXPECT_EQ(code("void f() { k<<<1, 2>>>(a, b); }"),
            "void f() { " + launch("k") + "1, 2)(a, b); }");
}

TEST(Launch, TakesTheWholeExpressionBeforeIt) {
  for (const std::string callee : {"k",
                                   "ns::k",
                                   "::ns::k",
                                   "k<int>",
                                   "k<T, 2>",
                                   "k<a<b<c>>>",
                                   "ns::k<T, 2>",
                                   "k<(1 < 2)>",
                                   "a<int>::k<float>",
                                   "obj.member",
                                   "ptr->fn",
                                   "this->fn",
                                   "(*fp)",
                                   "table[i]",
                                   "table[i][j + 1]",
                                   "ns::template k<int>",
                                   "obj.list[2].k",
                                   "select(1, x)",
                                   "(c ? k : l)",
                                   "t[f(1)]",
                                   "get<int>()",
                                   "k<sizeof(T) == 4>",
                                   "k<x->y>"})
    EXPECT_EQ(code("void f() { " + callee + "<<<1, 2>>>(); }"),
              "void f() { " + launch(callee) + "1, 2)(); }");
}

TEST(Launch, TakesNothingThatStandsBeforeTheExpression) {
  for (const std::string before : {"return ", "else ", "if (x) ", "while (f(x)) ", "a, ", "x = ",
                                   "; ", "for (;;) ", "do ", "b > ", "return ::", "case 1: "}) {
    const std::string callee = before == "return ::" ? "::k" : "k";
    const std::string rest = before == "return ::" ? "return " : before;
    EXPECT_EQ(code("void f() { " + rest + callee + "<<<1, 2>>>(); }"),
              "void f() { " + rest + launch(callee) + "1, 2)(); }");
  }
  EXPECT_EQ(code("void f() { if (x) (*fp)<<<1, 2>>>(); }"),
            "void f() { if (x) " + launch("(*fp)") + "1, 2)(); }");
}

TEST(Launch, FindsItsEndBehindTemplatesComparisonsAndShifts) {
  for (const std::string config :
       {"dim3(f<a<b>>(x)), 2", "f<a<b<c>>>(x), 2", "f<a<b>>, v<1>", "(a > b), (c >> 1)",
        "n < 4 ? 1 : 2, 3", "a > b ? a : b, 3", "1 << 3, 2", "x >= 2, 3",
        "dim3{1, (2 >> 1)}, 3, sizeof(T) << 2, s", "[] { return 1; }(), 2", "p->x, q->y",
        "a[b >> c], 2", "c < d, e > f"})
    EXPECT_EQ(code("void f() { k<<<" + config + ">>>(); }"),
              "void f() { " + launch("k") + config + ")(); }");
  EXPECT_EQ(code("void f() { k<<<1, v<w<2>>>>>(); }"),
            "void f() { " + launch("k") + "1, v<w<2>>)(); }");
}

// Some editors' formatters take `<<<` for a shift and a comparison. nvcc takes `<< <` and `>> >`.
TEST(Launch, MayBeWrittenWithSpaces) {
  for (const std::string opening : {"<<<", "<< <", "<<\t<"})
    for (const std::string closing : {">>>", ">> >", ">>  >"}) {
      EXPECT_EQ(code("void f() { k" + opening + "1, 2" + closing + "(a); }"),
                "void f() { " + launch("k") + "1, 2)(a); }")
          << opening << closing;
      EXPECT_EQ(code("void f() { ns::k<int> " + opening + " b >> 1, v<2> " + closing + " (a); }"),
                "void f() { " + launch("ns::k<int>") + " b >> 1, v<2> ) (a); }")
          << opening << closing;
    }
  EXPECT_EQ(code("int a = 1 << 2 < 3;"), "int a = 1 << 2 < 3;");
}

TEST(Launch, MayStandInTheArgumentsOfAnother) {
  EXPECT_EQ(code("void f() { k<<<1, 2>>>([&] { l<<<3, 4>>>(); }); }"),
            "void f() { " + launch("k") + "1, 2)([&] { " + launch("l") + "3, 4)(); }); }");
}

TEST(Launch, KeepsTheLinesOfAllItsParts) {
  EXPECT_EQ(code("\nvoid f() {\n  ns::k<int,\n        2>\n      <<<1,\n         2>>>\n      (a,\n  "
                 "     b);\n}\n"),
            "\nvoid f() {\n  " + launch("ns::k<int, 2>", 3) +
                "\n\n1,\n         2)\n      (a,\n       b);\n}\n");
}

TEST(Launch, MayHaveCommentsInside) {
  EXPECT_EQ(code("void f() { k /* <<< */ <<<1, // >>>(\n 2>>>(); }"),
            "void f() { " + launch("k") + "1, // >>>(\n 2)(); }");
}

TEST(Launch, KeepsStringsInTheKernelsName) {
  EXPECT_EQ(code("void f() { get(\"a\\n\")<<<1, 2>>>(); }"),
            "void f() { " + launch("get(\"a\\n\")", "\"get(\\\"a\\\\n\\\")\"", "1") + "1, 2)(); }");
}

TEST(Launch, InAMacroNamesTheLineOfItsUse) {
  EXPECT_EQ(code("#define GO(n) k<<<1, n>>>(n)\n"),
            "#define GO(n) " + launch("k", "\"k\"", "__LINE__") + "1, n)(n)\n");
}

TEST(Launch, InAMacroNamesTheKernelItIsGiven) {
  EXPECT_EQ(code("#define GO(kernel, ...) \\\n  kernel \\\n <<<1, 2>>>(__VA_ARGS__)\nint x;\n"),
            "#define GO(kernel, ...) \\\n  " + launch("kernel", "#kernel", "__LINE__") +
                "\\\n1, 2)(__VA_ARGS__)\nint x;\n");
}

TEST(Launch, InAMacroMayPasteItsName) {
  EXPECT_EQ(code("#define GO(n) n##_kernel<int><<<1, 2>>>()\n"),
            "#define GO(n) " + launch("n##_kernel<int>", "\"n##_kernel<int>\"", "__LINE__") +
                "1, 2)()\n");
}

TEST(Launch, InAMacroMayTakeItsConfigurationWhole) {
  EXPECT_EQ(code("#define GO(config) k<<<config>>>()\n"),
            "#define GO(config) " + launch("k", "\"k\"", "__LINE__") + "config)()\n");
}

TEST(Launch, IsNotSeenInCommentsAndStrings) {
  expect_unchanged(
      "// k<<<1, 2>>>()\n/* k<<<1, 2>>>() */\nauto s = \"k<<<1, 2>>>()\";\n"
      "auto r = R\"(k<<<1, 2>>>()\n\"k<<<)\"; char c = '<';\n");
}

TEST(Launch, IsNotSeenInTemplatesAndShifts) {
  expect_unchanged(
      "std::vector<a<b<c<int>>>> v; int x = 1 << 3 >> 2; x <<= 1; x >>= 1; x = a<b>::c >> 1;\n"
      "template <class T = a<b<c>>> void f();\n"
      "std::ostream& operator<<<T>(std::ostream&, T);\n"
      "std::ostream& operator<< <T>(std::ostream&, T);\n#if 1 <<3\n#endif\n");
}

TEST(Launch, IsNotSeenInExcludedCode) {
  expect_unchanged("#if 0\nk<<<1, 2>>>(); it's prose\n#endif\n#if 1\n#else\nk<<<\n#endif\n");
}

TEST(Launch, IsSeenInTheOtherBranchOfExcludedCode) {
  EXPECT_EQ(code("void f() {\n#if 0\n#else\nk<<<1, 2>>>();\n#endif\n}"),
            "void f() {\n#if 0\n#else\n" + launch("k", 4) + "1, 2)();\n#endif\n}");
}

TEST(Launch, MayHavePreprocessorLinesInItsArguments) {
  EXPECT_EQ(
      code("void f() { k<<<1,\n#ifdef A\n 2\n#else\n 3\n#endif\n>>>(\n#ifdef A\n a\n#endif\n); }"),
      "void f() { " + launch("k") +
          "1,\n#ifdef A\n 2\n#else\n 3\n#endif\n)(\n#ifdef A\n a\n#endif\n); }");
}

// ---- Shared memory ----

const std::string kDynamic = ">>(::cpu_device::dynamic_shared());";

TEST(DynamicShared, IsAPointerInAFunction) {
  EXPECT_EQ(code("__global__ void k() { extern __shared__ float s[]; }"),
            "__global__ void k() { [[maybe_unused]] auto* const s = "
            "static_cast<::std::add_pointer_t<float" +
                kDynamic + " }");
}

TEST(DynamicShared, LosesItsAttributesButNotItsType) {
  const std::vector<std::pair<std::string, std::string>> forms = {
      {"extern __shared__ __align__(16) unsigned char s[]", "unsigned char"},
      {"extern __align__(16) __shared__ unsigned char s[]", "unsigned char"},
      {"__shared__ extern alignas(8) int s[]", "int"},
      {"alignas(alignof(T)) extern __shared__ T s[]", "T"},
      {"extern volatile __shared__ int s[]", "volatile int"},
      {"volatile extern __shared__ ns::pair<int, a<b>> s[]", "volatile ns::pair<int, a<b>>"},
      {"extern __shared__ char* s[]", "char*"},
      {"extern __shared__ float s[][32][2]", "float[32][2]"},
      {"extern __shared__ float s[] __attribute__((aligned(16)))", "float"},
      {"[[maybe_unused]] extern __shared__ struct node s[]", "struct node"},
      {"extern __shared__ typename A<T>::type s[]", "typename A<T>::type"}};
  for (const auto& [source, type] : forms)
    EXPECT_EQ(code("__global__ void k() { " + source + "; }"),
              "__global__ void k() { [[maybe_unused]] auto* const s = "
              "static_cast<::std::add_pointer_t<" +
                  type + kDynamic + " }")
        << source;
}

TEST(DynamicShared, KeepsItsLines) {
  EXPECT_EQ(
      code("void k() {\n  extern __shared__\n    float // why\n    s[\n    ];\n}"),
      "void k() {\n  [[maybe_unused]] auto* const \n\ns = static_cast<::std::add_pointer_t<float>>("
      "::cpu_device::dynamic_shared())\n;\n}");
}

TEST(DynamicShared, IsAnObjectOutsideFunctions) {
  const std::string object =
      "[[maybe_unused]] static constexpr ::cpu_device::dynamic_shared_array<float> s{};";
  EXPECT_EQ(code("extern __shared__ float s[];\n"), object + "\n");
  EXPECT_EQ(code("namespace a { namespace { extern __shared__ float s[]; } }"),
            "namespace a { namespace { " + object + " } }");
  EXPECT_EQ(code("extern \"C\" { extern __shared__ float s[]; }"),
            "extern \"C\" { " + object + " }");
}

TEST(StaticShared, IsBornWithItsNamesAndApartFromOthers) {
  // Each `@name,extents@` stands for the gap before a variable.
  const std::vector<std::pair<std::string, std::string>> forms = {
      {"__shared__ float @s, [256]@s[256];", "s"},
      {"__shared__ float @a, [2][N + 1]@a[2][N + 1], @b, @*b, @c, @c;", "a, b, c"},
      {"__shared__ union { int i; float f; } @u, @u;", "u"},
      {"__shared__ struct { int x[2]; } @u, @u, @v, [3]@v[3];", "u, v"},
      {"__shared__ struct node { int x; } @u, @u;", "u"},
      {"__shared__ struct node @u, @u;", "u"},
      {"__shared__ typename cub::Reduce<T, (2 > 1)>::Temp @t, [f<1, 2>(3)]@t[f<1, 2>(3)];", "t"},
      {"__shared__ unsigned long long int @x, @x;", "x"},
      {"__shared__ std::array<int, 3> @x, @x;", "x"},
      {"__shared__ decltype(a + b) @x, @x;", "x"},
      {"volatile __shared__ int @x, @x;", "x"},
      {"float __shared__ @x, [3]@x[3];", "x"},
      {"__shared__ float @x, [4]@x[4] __attribute__((aligned(16)));", "x"},
      {"__shared__ float @p, @* const* p;", "p"}};
  const auto with_gaps = [](const std::string& form, bool shown) {
    std::string text;
    bool inside = false;
    for (const char c : form) {
      if (c == '@')
        inside = !inside, text += !shown ? "" : inside ? "CPU_DEVICE_GAP(" : ") ";
      else if (!inside || shown)
        text += c;
    }
    return text;
  };
  for (const auto& [form, names] : forms)
    EXPECT_EQ(code("__global__ void k() { " + with_gaps(form, false) + " f(); }"),
              "__global__ void k() { " + with_gaps(form, true) +
                  " ::cpu_device::shared_birth([] { return \"" + names + "\"; }, " + names +
                  "); f(); }");
}

TEST(StaticShared, IsApartFromItsTypeToo) {
  EXPECT_EQ(code("__device__ void k() { __shared__ char* p; }"),
            "__device__ void k() { __shared__ char CPU_DEVICE_GAP(p, ) * p; "
            "::cpu_device::shared_birth([] { return \"p\"; }, p); }");
}

TEST(StaticShared, LosesStatic) {
  for (const std::string source : {"static __shared__ int x;", "__shared__ static int x;"})
    EXPECT_EQ(code("__device__ void k() { " + source + " }"),
              "__device__ void k() { __shared__ int CPU_DEVICE_GAP(x, ) x; "
              "::cpu_device::shared_birth([] { return "
              "\"x\"; }, x); }");
  EXPECT_EQ(code("__device__ void k() { __shared__ struct { static int f(); } x; }"),
            "__device__ void k() { __shared__ struct { static int f(); } CPU_DEVICE_GAP(x, ) x; "
            "::cpu_device::shared_birth([] { return \"x\"; }, x); }");
}

TEST(StaticShared, HasItsAlignmentFirst) {
  EXPECT_EQ(code("__device__ void k() { __shared__ __align__(16) float x[4]; }"),
            "__device__ void k() { __align__(16) __shared__  float CPU_DEVICE_GAP(x, [4]) x[4]; "
            "::cpu_device::shared_birth([] { return \"x\"; }, x); }");
  EXPECT_EQ(code("__device__ void k() { static __shared__ alignas(8)\n char x; }"),
            "__device__ void k() { alignas(8) __shared__ \n char CPU_DEVICE_GAP(x, ) x; "
            "::cpu_device::shared_birth([] "
            "{ return \"x\"; }, x); }");
  EXPECT_EQ(
      code("__device__ void k() { __shared__ struct __align__(16) { int a; } x; }"),
      "__device__ void k() { __shared__ struct __align__(16) { int a; } CPU_DEVICE_GAP(x, ) x; "
      "::cpu_device::shared_birth([] { return \"x\"; }, x); }");
}

TEST(StaticShared, IsBornOnTheLineOfItsSemicolon) {
  EXPECT_EQ(code("__device__ void k() {\n  __shared__ float\n      s[3];  // products\n}"),
            "__device__ void k() {\n  __shared__ float\n      CPU_DEVICE_GAP(s, [3]) s[3]; "
            "::cpu_device::shared_birth([] "
            "{ return \"s\"; }, s);  // "
            "products\n}");
}

TEST(LocalArray, IsMadeKnownInAFunctionWithABarrier) {
  EXPECT_EQ(code("__global__ void k() { int x[4]; __syncthreads(); }"),
            "__global__ void k() { int x[4]; ::cpu_device::local_birth(x, \"x\", __FILE__, 1); "
            "__syncthreads(); }");
  expect_unchanged("__global__ void k() { int x[4]; }");
}

TEST(LocalArray, IsNoMemberOfALocalClass) {
  for (const std::string key : {"struct", "class", "union"})
    expect_unchanged("__global__ void k() { " + key +
                     " point { float xyz[3]; int a; float w[2]; }; point p; __syncthreads(); }");
  // A member function has arrays of its own.
  EXPECT_EQ(code("__device__ void k() { struct s { int a[2]; void f() { int x[4]; } }; "
                 "__syncthreads(); }"),
            "__device__ void k() { struct s { int a[2]; void f() { int x[4]; "
            "::cpu_device::local_birth(x, \"x\", __FILE__, 1); } }; __syncthreads(); }");
}

TEST(StaticShared, IsNotBornOutsideFunctions) {
  expect_unchanged("namespace a { __shared__ int x; }\nstruct s { __shared__ static_thing y; };\n");
}

TEST(StaticShared, WhenTooOddIsLeftAlone) {
  expect_unchanged(
      "__device__ void k() { __shared__ float (*table)[4]; __shared__ DECLARE; }\n"
      "#define SHARED __shared__\n#define TILE(n) __shared__ float n[4]\n");
}

TEST(StaticShared, WithAnInitialiserIsRefused) {
  const std::string reason = "`__shared__` variable `x` cannot have an initialiser";
  for (const std::string source :
       {"__shared__ int x = 3;", "__shared__ int x{3};", "__shared__ int x[2] = {1, 2};",
        "__shared__ T x(3);", "__shared__ int y, x = f(1, 2), z;",
        "static __shared__ ns::t<1> x{};"})
    expect_problem("__global__ void k() {\n  " + source + "\n}", 2, reason);
}

// ---- Qualifiers ----

TEST(Qualifiers, NoinlineBecomesAnAttribute) {
  EXPECT_EQ(
      code("__noinline__ void f();\n#define N __device__ __noinline__\n"),
      "__attribute__((noinline)) void f();\n#define N __device__ __attribute__((noinline))\n");
}

TEST(Qualifiers, NoinlineInAnAttributeStays) {
  expect_unchanged(
      "__attribute__((__noinline__)) void f();\n[[gnu::__noinline__]] void g();\n"
      "#ifdef __noinline__\n#undef __noinline__\n#endif\n");
}

TEST(Conditions, AskingForACudaCompilerHold) {
  EXPECT_EQ(code("#ifdef __CUDACC__\nint a;\n#elif defined(__CUDACC__) && X\n#endif\n"
                 "#ifndef __CUDACC__\n#define __CUDACC__\n#endif\n"),
            "#ifdef __CPU_DEVICE__\nint a;\n#elif defined(__CPU_DEVICE__) && X\n#endif\n"
            "#ifndef __CPU_DEVICE__\n#define __CUDACC__\n#endif\n");
  expect_unchanged("const char* s = \"__CUDACC__\";  // #ifdef __CUDACC__\n");
}

TEST(Conditions, ThatCompareTheArchitectureAreAnswered) {
  const std::string ours = "__CPU_DEVICE_ARCH__";
  EXPECT_EQ(code("#if __CUDA_ARCH__ >= 700\n#elif (700 > __CUDA_ARCH__)\n#endif\n"),
            "#if " + ours + " >= 700\n#elif (700 > " + ours + ")\n#endif\n");
  EXPECT_EQ(code("#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 600\n#endif\n"),
            "#if !defined(__CUDA_ARCH__) || " + ours + " < 600\n#endif\n");
}
TEST(Conditions, ThatAskWhetherThereIsAnArchitectureAreNot) {
  expect_unchanged(
      "#ifdef __CUDA_ARCH__\n#elif __CUDA_ARCH__\n#endif\n#if (__CUDA_ARCH__ > 0)\n#endif\n"
      "int a = __CUDA_ARCH__ > 100;\n");
}
TEST(Conditions, InFunctionsOfDevicesAloneKnowTheArchitecture) {
  const std::string ours = "__CPU_DEVICE_ARCH__";
  EXPECT_EQ(code("__global__ void k(int* a) {\n#ifdef __CUDA_ARCH__\n*a = __CUDA_ARCH__;\n#else\n"
                 "*a = -1;\n#endif\n}\n"),
            "__global__ void k(int* a) {\n#ifdef " + ours + "\n*a = " + ours +
                ";\n#else\n*a = -1;\n#endif\n}\n");
  EXPECT_EQ(code("__device__ int f() { return __CUDA_ARCH__ / 10; }\n"),
            "__device__ int f() { return " + ours + " / 10; }\n");
  EXPECT_EQ(code("__device__ int f() {\n#if defined(__CUDA_ARCH__) && X\nreturn 1;\n#endif\n"
                 "return 0; }\n"),
            "__device__ int f() {\n#if defined(" + ours +
                ") && X\nreturn 1;\n#endif\n"
                "return 0; }\n");
  expect_unchanged(
      "__host__ __device__ int f() {\n#ifdef __CUDA_ARCH__\nreturn 1;\n#else\nreturn "
      "0;\n#endif\n}\n");
  expect_unchanged(
      "int f() {\n#ifdef __CUDA_ARCH__\nreturn __CUDA_ARCH__;\n#endif\nreturn 0;\n}\n");
}
TEST(Conditions, ThatGuardAssemblyAreAnsweredIfItRunsHere) {
  expect_unchanged(
      "__device__ void f() {\n#if __CUDA_ARCH__ >= 700\n#ifdef A\ng();\n#endif\nasm(\"ldmatrix."
      "sync;\");\n"
      "#elif __CUDA_ARCH__ >= 600\ng();\n#else\nh();\n#endif\n}\n");
  expect_unchanged(
      "#if __CUDA_ARCH__ < 700\n#define F g()\n#else\n#define F asm(\"exit;\")\n#endif\n");
  const std::string runs =
      code("__device__ void f() {\n#if __CUDA_ARCH__ >= 700\nasm(\"bar.sync 0;\");\n#endif\n}\n");
  EXPECT_NE(runs.find("#if __CPU_DEVICE_ARCH__ >= 700"), std::string::npos) << runs;
  EXPECT_NE(runs.find("::cpu_device::ptx::barrier(0LL)"), std::string::npos) << runs;
  EXPECT_EQ(code("#if __CUDA_ARCH__ >= 700\n#endif\nvoid f() { asm(\"\"); }\n#if X\n#endif\n"),
            "#if __CPU_DEVICE_ARCH__ >= 700\n#endif\nvoid f() { asm(\"\"); }\n#if X\n#endif\n");
}

TEST(Qualifiers, ForceinlineBecomesAnAttributeWithOneInline) {
  EXPECT_EQ(code("__device__ __forceinline__ int f();"),
            "__device__ inline __attribute__((always_inline)) int f();");
  for (const std::string source : {"static inline __device__ __forceinline__ int f();",
                                   "static __device__ __forceinline__ inline int f();",
                                   "__inline__ __forceinline__ int f();"}) {
    std::string expected = source;
    expected.replace(expected.find("__forceinline__"), 15, "__attribute__((always_inline))");
    EXPECT_EQ(code(source), expected);
  }
}

TEST(Qualifiers, ForceinlineOfALambdaIsLeftOut) {
  EXPECT_EQ(code("auto f = [] __device__ __forceinline__ (int) {};"),
            "auto f = [] __device__  (int) {};");
}

TEST(Qualifiers, TheOthersStay) {
  expect_unchanged(
      "static __global__ void __launch_bounds__(256) k(int* p);\nextern __constant__ float c[4];\n"
      "__device__ __managed__ int m; __host__ __device__ inline int f() { return 1; }\n");
}

// ---- Launch bounds and clusters ----

/// What follows the brace of a kernel's body.
std::string noted(const std::string& bounds, const std::string& kernel,
                  const std::string& function = "launch_bounds") {
  const std::string note = "cpu_device_b.template kernel<(" + kernel + ")>()";
  return " ::cpu_device::" + function + "<(" + bounds +
         ")>([]([[maybe_unused]] auto cpu_device_b) { if constexpr (requires { " + note + "; }) " +
         note + "; });";
}
void expect_noted(const std::string& before_body, const std::string& bound,
                  const std::string& kernel) {
  EXPECT_EQ(code(before_body + "{ f(); }\n"),
            before_body + "{" + noted(bound, kernel) + " f(); }\n");
}

TEST(LaunchBounds, AreNotedInTheKernelsBody) {
  expect_noted("__global__ void __launch_bounds__(256) k(int* p) ", "256", "k");
  expect_noted("__global__ __launch_bounds__(kA * kB, 2) void k() ", "kA * kB", "k");
  expect_noted("namespace n { int x; static __global__ void __launch_bounds__(f<1, 2>()) k() ",
               "f<1, 2>()", "k");
  expect_noted("__global__ void\n__launch_bounds__(g(1, 2),\n 3) k(int a,\n int b)\n", "g(1, 2)",
               "k");
  expect_noted("__global__ void __launch_bounds__(64) __maxnreg__(32) k() ", "64", "k");
}

TEST(ClusterDims, AreNotedInTheKernelsBody) {
  for (const auto& [arguments, noted_as] :
       {std::pair{"(2, 1, 1)", "2), (1), (1"}, std::pair{"(kBlocks)", "kBlocks"},
        std::pair{"(f<1, 2>(), N + 1)", "f<1, 2>()), (N + 1"}}) {
    const std::string kernel = "template <int N> __global__ void __cluster_dims__" +
                               std::string(arguments) + " k(int* p) {";
    EXPECT_EQ(code(kernel + " }\n"), kernel + noted(noted_as, "k<N>", "cluster_dims") + " }\n");
  }
  const std::string both = "__global__ __launch_bounds__(64) void __cluster_dims__(4) k() {";
  EXPECT_EQ(code(both + "}\n"), both + noted("64", "k") + noted("4", "k", "cluster_dims") + "}\n");
}

TEST(LaunchBounds, OfATemplateNameItsParameters) {
  expect_noted("template <int N> __global__ void __launch_bounds__(N) k(int* p) ", "N", "k<N>");
  expect_noted(
      "template <class T = float, unsigned int N = (1 > 0), typename... U>\n"
      "__global__ void __launch_bounds__(N) k(T* p, U... u) ",
      "N", "k<T, N, U...>");
  expect_noted(
      "template <template <class, int> class C, auto F = g<1, 2>>\n"
      "__global__ void __launch_bounds__(8) k(C<int, 3> c) ",
      "8", "k<C, F>");
  expect_noted("template <> __global__ void __launch_bounds__(8) k<int, 3>(int* p) ", "8",
               "k<int, 3>");
}

TEST(LaunchBounds, ThatCannotBeNotedStay) {
  for (const std::string source :
       {"__global__ void __launch_bounds__(256) k(int* p);\n",
        "template <class, int N> __global__ void __launch_bounds__(N) k(int* p) {}\n",
        "template <int N, std::enable_if_t<(N > 1), int> = 0>\n"
        "__global__ void __launch_bounds__(N) k() {}\n",
        "template <void (*F)(int)> __global__ void __launch_bounds__(8) k() {}\n",
        "#define KERNEL __global__ void __launch_bounds__(256)\nKERNEL k() {}\n",
        "__global__ void\n#ifdef A\n__launch_bounds__(1)\n#else\n__launch_bounds__(2)\n#endif\n"
        "k() {}\n",
        "void f() __launch_bounds__(8); __global__ void k() {}\n"})
    expect_unchanged(source);
}

// ---- The file as a whole ----

TEST(File, MayBeEmpty) { expect_unchanged(""); }

TEST(File, MayEndWithoutANewline) {
  EXPECT_EQ(code("void f() { k<<<1, 2>>>(); }\n// end"),
            "void f() { " + launch("k") + "1, 2)(); }\n// end");
}

TEST(File, KeepsItsLineEndings) {
  EXPECT_EQ(code("#define GO \\\r\n k \\\r\n <<<1, 2>>>()\r\nvoid f() {\r\n  k\r\n  <<<1, "
                 "2>>>();\r\n}\r\n"),
            "#define GO \\\r\n " + launch("k", "\"k\"", "__LINE__") +
                "\\\r\n1, 2)()\r\nvoid f() {\r\n  " + launch("k", 5) + "\r\n1, 2)();\r\n}\r\n");
}

TEST(File, LosesItsByteOrderMark) {
  EXPECT_EQ(code("\xEF\xBB\xBF#define A k<<<1, 2>>>()\nint x;\n"),
            "#define A " + launch("k", "\"k\"", "__LINE__") + "1, 2)()\nint x;\n");
}

TEST(File, IsNamedInTheFirstLineEvenWithOddCharacters) {
  EXPECT_EQ(rewriter::rewrite("x", "a \"b\"\\c.cu").text, "#line 1 \"a \\\"b\\\"\\\\c.cu\"\nx");
}

TEST(File, KeepsEveryTokenOnItsLine) {
  const std::string source =
      "#include <x>\n\nnamespace { __global__ void k(int* p) {\n  extern __shared__\n    int\n  "
      "dynamic[];\n"
      "  static __shared__ alignas(\n 8) int fixed[\n4], more;\n  fixed[0] = dynamic[0];\n} }\n"
      "/* a\n b */ void f() {\n  k\n  <<<\n 1,\n 2\n >>>\n (p\n);\n  after(); "
      "}\n__noinline__\nvoid g();\n";
  const std::string result = code(source);
  EXPECT_EQ(newlines(result), newlines(source));
  const auto line_of = [](const std::string& text, std::string_view word) {
    for (const rewriter::token& t : rewriter::cut(text).code)
      if (t.text == word) return t.line;
    return 0;
  };
  for (const char* word : {"k", "p", "dynamic", "fixed", "more", "f", "after", "g", "2"})
    EXPECT_EQ(line_of(result, word), line_of(source, word)) << word;
}

TEST(File, OfAThousandLinesTakesMilliseconds) {
  std::string source;
  for (int i = 0; i < 250; ++i)
    source += "__global__ void k" + std::to_string(i) +
              "(float* p) { __shared__ float s[4]; s[0] = *p; if (a < b) c = d << 2; }\n"
              "void f" +
              std::to_string(i) + "() {\n  k" + std::to_string(i) + "<<<1, 2>>>(nullptr);\n}\n";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(rewriter::rewrite(source, "k.cu").problems.empty());
  const auto taken = std::chrono::steady_clock::now() - start;
  EXPECT_LT(std::chrono::duration<double>(taken).count(), 0.5);  // far more than it needs
}

// ---- What is refused ----

TEST(Refusal, OfAKernelCalledLikeAFunction) {
  const std::string kernel =
      "template <int N> __global__ void __launch_bounds__(256) k(int* p) {}\n";
  const std::string reason = "kernel `k` is called like an ordinary function";
  for (const std::string call : {"k(p);", "k<3>(p);", "return k<3>(p);", "if (p) k(p);", "::k(p);",
                                 "else k(p);", "x = [&] { k(p); };", "f(k(p));"})
    expect_problem(kernel + "void f() {\n  " + call + "\n}\n", 3, reason);
  expect_problem(kernel + "template void k<3>(int*); void f() {\n k<3>(p); }", 3, reason);
  expect_problem("namespace ns { " + kernel + "}\nvoid f() { ns::k<3>(p); }", 3,
                 "k<3><<<blocks, threads>>>");
}

TEST(Refusal, IsNotForOtherUsesOfAKernel) {
  for (const std::string source :
       {"__global__ void k(int*);\n__global__ void k(int*) {}\n",
        "template <class T> __global__ void k(T) {}\ntemplate __global__ void k<int>(int);\n"
        "template void k<float>(float);\ntemplate <> __global__ void k(char) {}\n",
        "__global__ void k(int) {}\nvoid f() { auto p = &k; g(k); g((void*)k); h(&k, 1); auto q = "
        "k; }\n",
        "__global__ void k(int) {}\nvoid f() { object.k(1); object->k(1); other::k(1); }\n",
        "struct s { void k(int); };\n__global__ void k(int) {}\nvoid s::k(int) {}\nvoid f() { "
        "k(1); }\n",
        "__global__ void k(int) {}\nvoid f() { auto k = [](int) {}; k(1); }\n",
        "__global__ void k(int) {}\nvoid f(void (*k)(int)) { k(1); }\n",
        "__global__ void k(int) {}\nint k(float); void f() { k(1); }\n",
        "__global__ void k(int) {}\n#if 0\nvoid f() { k(1); }\n#endif\n",
        "__global__ void k(int) {}\nvoid f() { g(\"k(1)\"); /* k(1) */ }\n"})
    EXPECT_TRUE(problems(source).empty()) << source;
  code("__global__ void k(int) {}\nvoid f() { k<<<1, 2>>>(1); k <<<1, 2>>> (1); }\n");
}

TEST(Refusal, OfInlinePtx) {
  const std::string reason = "inline PTX is machine code of a GPU";
  for (const std::string start :
       {"asm(", "asm volatile(", "__asm__ __volatile__ (", "asm volatile inline("})
    expect_problem("__device__ unsigned f() {\n  unsigned x;\n  " + start +
                       "\"mov.u32 %0, %%pm0;\" : \"=r\"(x));\n  return x;\n}\n",
                   3, reason);
  expect_problem("auto l = [] __device__ () {\n asm(\"exit;\"); };", 2, reason);
  expect_problem("struct s {\n __host__ __device__ int f() const { asm(\"exit;\"); } };", 2,
                 reason);
  expect_problem("void f() { struct s { __device__ void g() {\n asm(\"exit;\"); } }; }", 2, reason);
  expect_problem("#define PM(x) \\\n asm(\"mov.u32 %0, %%pm0;\" : \"=r\"(x))\n", 2, reason);
}

TEST(Refusal, OfInlinePtxNamesTheInstruction) {
  const auto refused = [](const std::string& instructions, const std::string& named) {
    expect_problem("__device__ void f(int x) { asm volatile(" + instructions + " : \"+r\"(x)); }",
                   1, "not `" + named + "`");
  };
  refused("\"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 %0;\"",
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
  refused("\"add.u32 %0, %0, 1;\\n\\t\" \"add.f16 %0, %0, %0;\"", "add.f16");
  refused("\"again: bra again;\"", "again:");
  refused("\"addc.u32 %0, %0, 1;\"", "addc.u32");  // the carry of which addition?
  refused("\"add.u32 %0, %0, %3;\"", "%3");
  refused("\"add.u32 %0, %0;\"", "add.u32");
  refused("\"mov.u32 %0, %%clusterid.x;\"", "%clusterid.x");
  refused("\"{ .reg .u32 r<4>; }\"", ".reg r<4>");
  refused("\"{ add.u32 %0, %0, 1;\"", "{");
  refused("\"ld.global.f16x2 %0, [%0];\"", "ld.global.f16x2");
  refused("\"mov.u32 %0, 0x;\"", "0x");
}

TEST(InlinePtx, BecomesAStatementOnTheSameLines) {
  EXPECT_EQ(
      code("__device__ void f(int x) {\n  if (x) asm volatile(\"add.s32 %0,\"\n \" %1, 1;\"\n"
           "    : \"=r\"(x) : \"r\"(g(x,\n 2)) : \"memory\"); else h();\n}\n"),
      "#include <cpu_device/ptx.h>\n#line 1 \"k.cu\"\n"
      "__device__ void f(int x) {\n  if (x) do { [[maybe_unused]] auto&& cpu_device_0 = (x); "
      "[[maybe_unused]] const auto cpu_device_1 = (g(x, 2)); [[maybe_unused]] unsigned "
      "cpu_device_carry = 0; ::cpu_device::ptx::put(cpu_device_0, "
      "::cpu_device::ptx::add<::std::int32_t>(cpu_device_1, 1LL)); } while (false)\n\n\n; else "
      "h();\n}\n");
}

TEST(Refusal, IsNotForAssemblyOfTheHost) {
  for (const std::string source :
       {"void f() { asm volatile(\"\" ::: \"memory\"); }",
        "__device__ void f() { asm volatile(\"\" ::: \"memory\"); }",
        "long f() { long x; asm volatile(\"rdtsc\" : \"=A\"(x)); return x; }", "asm(\".globl x\");",
        "__device__ void f() {\n#ifdef __CUDA_ARCH__\nasm(\"trap;\");\n#else\nabort();\n#endif\n}",
        "__device__ void f() {\n#if defined(__CUDA_ARCH__) && X\n#if "
        "Y\nasm(\"trap;\");\n#endif\n#endif\n}",
        "__device__ void f() {\n#ifndef __CPU_DEVICE__\nasm(\"trap;\");\n#endif\n}",
        "__device__ void f() {\n#if 0\nasm(\"trap;\");\n#endif\n}",
        "// asm(\"trap;\")\nvoid f() { g(\"asm(mov.u32)\"); }"})
    EXPECT_TRUE(problems(source).empty()) << source;
  expect_problem("__device__ void f() {\n\nasm(\"exit;\");\n}", 3, "inline PTX");
}

// Only the compiler knows whether that is compiled.
TEST(Refusal, OfAssemblyUnderAConditionIsLeftToTheCompiler) {
  const std::string refused =
      "static_assert(false, \"inline PTX is machine code of a GPU, of which the CPU device runs a "
      "part (its docs/cuda.md lists it); not `vshr.u32`\")";
  const std::string statement = "asm volatile(\"vshr.u32 %0, %0, 1;\" : \"+r\"(x))";
  const auto in_function = [](const std::string& what) {
    return "__device__ void f(int x) {\n#ifdef FAST\n" + what + ";\n#else\ng();\n#endif\n}";
  };
  EXPECT_EQ(code(in_function(statement)), in_function(refused));
  const auto in_macro = [](const std::string& what) {
    return "#ifdef FAST\n#define F(x) " + what + "\n#endif\n";
  };
  EXPECT_EQ(code(in_macro(statement)), in_macro(refused));
}

TEST(Refusal, OfABraceThatIsMissing) {
  const std::string kernel = "__global__ void k() {\n  if (true) {\n    f();\n  }\n";
  const std::string next = "\nvoid launch() {\n  k<<<1, 2>>>();\n}\n";
  expect_problem(kernel + next, 6, "`}` is missing above this line: the `{` of line 1 is still");
  EXPECT_EQ(problems(kernel + next).size(), 1u);  // and not what follows from it
  expect_problem("namespace n {\n" + kernel + next + "}\n", 7, "the `{` of line 2 is still open");
  EXPECT_TRUE(problems(kernel + "}\n" + next).empty());
  EXPECT_TRUE(problems("namespace n {\n" + kernel + "}\n" + next + "}\n").empty());
}

TEST(Refusal, NotOfABraceThatIsOpenedInOneOfTwoWays) {
  EXPECT_TRUE(
      problems("#ifdef A\nvoid f() {\n#else\nvoid f(int) {\n#endif\n}\nvoid g() {\n}\n").empty());
}

TEST(Refusal, NotOfBracesThatMacrosOpenAndClose) {
  const std::string launch = "void launch() {\n  k<<<1, 2>>>();\n}\n";
  EXPECT_TRUE(problems("#define END }\n__global__ void k() {\nEND\n" + launch).empty());
  EXPECT_TRUE(problems("#define BODY {\n__global__ void k() BODY\n}\n" + launch).empty());
  EXPECT_TRUE(problems("#define BEGIN {\n#define STOP }\n__global__ void k() BEGIN STOP\n" + launch)
                  .empty());
  EXPECT_TRUE(problems("#define EACH(i, n) for (int i = 0; i < n; ++i) {\n#define END_EACH }\n"
                       "__global__ void k() {\n  EACH(i, 4) f(i); END_EACH\n}\n" +
                       launch)
                  .empty());
  expect_problem("#define BOTH {}\n__global__ void k() {\n  if (f()) BOTH\n" + launch, 4,
                 "`}` is missing above this line: the `{` of line 2 is still open");
  expect_problem("#define BEGIN {\n#define STOP }\n__global__ void k() BEGIN k<<<1, 2>>>(); STOP\n",
                 3, "a kernel launches another kernel");
}

TEST(Refusal, OfALaunchInAKernel) {
  const std::string reason = "a kernel launches another kernel (dynamic parallelism)";
  for (const std::string head :
       {"__global__ void k(int)", "__device__ int f()",
        "template <class T> static __device__ auto f(T) -> int",
        "struct s { __device__ void f() const", "namespace n { __global__ void k()",
        "extern \"C\" __global__ void k()", "struct a s(); __global__ void k()",
        "struct s { int a, b; __device__ s() : a{1}, b(2)",
        "__device__ void f() { struct local { void g()"})
    expect_problem(head + " {\n  if (x) {\n    l<<<1, 2>>>();\n  }\n}", 3, reason);
}

TEST(Refusal, IsNotForALaunchOnTheHost) {
  for (const std::string head :
       {"void f()", "__host__ __device__ void f()", "__device__ int x; void f()",
        "__host__ void f()", "__global__ void k() {} void f()",
        "struct s { __device__ void k() {} void f()", "struct s { int a, b; s() : a{1}, b(2)",
        "int t[] = {1, 2}; struct a f()"})
    EXPECT_TRUE(problems(head + " {\n  l<<<1, 2>>>();\n}").empty()) << head;
}

TEST(Refusal, KnowsThatBranchesStartInTheSamePlace) {
  EXPECT_TRUE(
      problems("#ifdef A\n__device__ void f(int) {\n#elif B\n__device__ void f(char) {\n#else\n"
               "__device__ void f() {\n#endif\n}\nvoid g() { k<<<1, 2>>>(); }\n")
          .empty());
}

TEST(Refusal, OfABrokenLaunch) {
  expect_problem("void f() {\n  k<<<1, 2(a);\n}", 2, "`<<<` without its `>>>`");
  expect_problem("void f() {\n  k<<<1, 2>>(a);\n}", 2, "`<<<` without its `>>>`");
  expect_problem("void f() {\n  k<<<1, 2>>>;\n}", 2, "lacks its arguments");
  expect_problem("void f() {\n  k<<<1>>>(a);\n}", 2, "how many blocks and how many threads");
  expect_problem("void f() {\n  k<<<dim3(1, 2)>>>(a);\n}", 2,
                 "how many blocks and how many threads");
  expect_problem("void f() {\n  k<<<>>>(a);\n}", 2, "how many blocks and how many threads");
  expect_problem("void f() {\n  <<<1, 2>>>(a);\n}", 2, "no kernel stands before");
  expect_problem("void f() {\n  k\n#ifdef A\n#endif\n<<<1, 2>>>(a);\n}", 5,
                 "a preprocessor line stands");
  expect_problem("<<<<<<< HEAD\nint x;\n", 1, "merge conflict");
  expect_problem("void f() {\n  extern __shared__ float s[] = {1};\n}", 2, "not understood");
}

TEST(Refusal, NamesEveryProblemInTheOrderOfLines) {
  const std::vector<rewriter::problem> found = problems(
      "#define LANE asm(\"mov.u32 %0, %%laneid;\")\n"
      "__global__ void k() {\n  __shared__ int x = 1;\n  asm(\"exit;\");\n}\nvoid f() {\n  k();\n  "
      "k<<<1>>>();\n}\n");
  std::vector<int> lines;
  for (const rewriter::problem& p : found) lines.push_back(p.line);
  EXPECT_EQ(lines, (std::vector<int>{1, 3, 4, 7, 8}));
}

// ---- Device variables ----

/// What makes a variable known to the runtime.
std::string known(const std::string& name) {
  return " static const ::cpu_device::device_variable cpu_device_v_" + name + "(" + name + ");";
}

/// What holds `__constant__` variables to the memory that there is.
std::string limited(const std::string& sizes) {
  return " static_assert(" + sizes +
         " <= 65536, \"the `__constant__` variables of this file have more bytes than the 65536 "
         "that there are: put the large ones into `__device__` memory\");";
}

TEST(DeviceVariables, AreMadeKnownWhereTheyAreDefined) {
  EXPECT_EQ(code("__constant__ float c[4];\n"),
            "__constant__ float c[4];" + known("c") + limited("sizeof(c)") + "\n");
  EXPECT_EQ(code("__device__ int a = 1, *b;\n"),
            "__device__ int a = 1, *b;" + known("a") + known("b") + "\n");
  EXPECT_EQ(code("namespace n { inline __device__ S s{2}; }\n"),
            "namespace n { inline __device__ S s{2};" + known("s") + " }\n");
  EXPECT_EQ(
      code("__constant__ int t[] = {\n  1,\n  2\n};\nint u;\n"),
      "__constant__ int t[] = {\n  1,\n  2\n};" + known("t") + limited("sizeof(t)") + "\nint u;\n");
  EXPECT_EQ(code("extern \"C\" __device__ int a = 1;\n"),
            "extern \"C\" __device__ int a = 1;" + known("a") + "\n");
  EXPECT_EQ(code("static __constant__ struct { int a; } s;\n"),
            "static __constant__ struct { int a; } s;" + known("s") + limited("sizeof(s)") + "\n");
  for (const std::string kept : {
           "extern __device__ int a;\n",
           "__managed__ int m;\n",
           "__device__ __managed__ int m = 1;\n",
           "__device__ int& r = a;\n",
           "__device__ int f(int x);\n",
           "__device__ int f(int x) { return x; }\n",
           "__device__ __host__ inline int f() { static __device__ int y; return y; }\n",
           "template <class T> __device__ T variable;\n",
           "__device__ int S::a = 1;\n",
       })
    expect_unchanged(kept);
}

TEST(DeviceVariables, ThatAreConstantFitTheirMemoryTogether) {
  EXPECT_EQ(code("__constant__ char a[N], b;\n"), "__constant__ char a[N], b;" + known("a") +
                                                      known("b") +
                                                      limited("sizeof(a) + sizeof(b)") + "\n");
  // Those between other braces are not counted: their names may stand for something else here.
  EXPECT_EQ(code("__constant__ int a;\nnamespace { __constant__ int b; }\n__constant__ int c;\n"),
            "__constant__ int a;" + known("a") + limited("sizeof(a)") +
                "\nnamespace { __constant__ int b;" + known("b") + limited("sizeof(b)") +
                " }\n__constant__ int c;" + known("c") + limited("sizeof(a) + sizeof(c)") + "\n");
  // Nor are those that may not be there.
  EXPECT_EQ(code("#ifdef A\n__constant__ int a;\n#endif\n__constant__ int c;\n"),
            "#ifdef A\n__constant__ int a;" + known("a") + limited("sizeof(a)") +
                "\n#endif\n__constant__ int c;" + known("c") + limited("sizeof(c)") + "\n");
  EXPECT_EQ(code("extern __constant__ int a;\n"), "extern __constant__ int a;\n");
}

// ---- Whole programs ----

TEST(WholeProgram, MakesDeviceVariablesThoseOfTheirFile) {
  const auto whole = [](const std::string& source) {
    return rewriter::rewrite(source, "k.cu", true).text.substr(kMarker.size());
  };
  EXPECT_EQ(whole("__constant__ float c[4];\n"),
            "__constant__ static float c[4];" + known("c") + limited("sizeof(c)") + "\n");
  EXPECT_EQ(whole("__device__ int a = 1, *b;\n"),
            "__device__ static int a = 1, *b;" + known("a") + known("b") + "\n");
  EXPECT_EQ(whole("namespace n { const __device__ __managed__ int a{2}; }\n"),
            "namespace n { const __device__ __managed__ static int a{2}; }\n");
  EXPECT_EQ(whole("alignas(16) __constant__ S s;\n"),
            "alignas(16) __constant__ static S s;" + known("s") + limited("sizeof(s)") + "\n");
  EXPECT_EQ(whole("__device__ alignas(16) [[maybe_unused]] char b[64];\n"),
            "__device__ alignas(16) [[maybe_unused]] static char b[64];" + known("b") + "\n");
  EXPECT_EQ(whole("__device__ decltype(1) i;\n"),
            "__device__ static decltype(1) i;" + known("i") + "\n");
  for (const std::string kept : {"static __device__ float c[4];", "inline __device__ float c[4];"})
    EXPECT_EQ(whole(kept), kept + known("c"));
  EXPECT_EQ(whole("static __constant__ float c[4];"),
            "static __constant__ float c[4];" + known("c") + limited("sizeof(c)"));
  for (const std::string kept : {
           "extern __device__ int a;\n",
           "__device__ int f(int x);\n",
           "__device__ int f(int x) { return x; }\n",
           "__device__ __host__ inline int f() { __device__ int y; return y; }\n",
           "template <class T> __device__ T variable;\n",
           "__device__ int S::a = 1;\n",
       })
    EXPECT_EQ(whole(kept), kept);
}

// ---- Files and headers ----

class Files : public testing::Test {
 protected:
  Files() {
    std::string pattern = (fs::temp_directory_path() / "rewriter_test_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    root_ = pattern;
    fs::create_directories(source());
  }
  ~Files() override { fs::remove_all(root_); }

  fs::path source() const { return root_ / "a source"; }
  fs::path out() const { return root_ / "out"; }
  std::string line(const std::string& file) const {
    return "#line 1 \"" + (source() / file).string() + "\"\n";
  }
  void write(const fs::path& name, const std::string& text) const {
    const fs::path path = source() / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  std::string read(const fs::path& name) const {
    std::ifstream in(out() / name, std::ios::binary);
    return in ? std::string{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()}
              : "no such file";
  }
  bool written(const fs::path& name) const { return fs::exists(out() / name); }
  std::vector<rewriter::problem> run(std::vector<fs::path> include_dirs = {}) const {
    return rewriter::rewrite_files(
        {source() / "k.cu", out() / "k.cu.cpp", out() / "k.d", std::move(include_dirs)});
  }

  fs::path root_;
  const std::string needy_ = "__noinline__ void f();\n";
  const std::string rewritten_ = "__attribute__((noinline)) void f();\n";
};

TEST_F(Files, NameTheSourceInTheOutput) {
  write("k.cu", "int x;\n");
  EXPECT_TRUE(run().empty());
  EXPECT_EQ(read("k.cu.cpp"), line("k.cu") + "int x;\n");
}

TEST_F(Files, CopyOnlyHeadersThatNeedIt) {
  write("k.cu",
        "#include \"a.cuh\"\n#include \"b.hpp\"\n#include \"missing.hpp\"\n#include <c.hpp>\n");
  write("a.cuh", "#pragma once\n" + needy_);
  write("b.hpp", "int b;\n");
  write("c.hpp", needy_);
  EXPECT_TRUE(run().empty());
  EXPECT_EQ(read("a.cuh"), line("a.cuh") + "#pragma once\n" + rewritten_);
  EXPECT_FALSE(written("b.hpp"));
  EXPECT_FALSE(written("c.hpp"));
  EXPECT_EQ(read("k.cu.cpp").substr(line("k.cu").size(), 10), "#include \"");
}

TEST_F(Files, CopyAHeaderThatIncludesOneThatNeedsIt) {
  write("k.cu", "#include \"sub/a.cuh\"\n");
  write("sub/a.cuh", "#include \"deep/b.cuh\"\n#include \"c.hpp\"\n");
  write("sub/deep/b.cuh", needy_);
  write("sub/c.hpp", "int c;\n");
  EXPECT_TRUE(run().empty());
  EXPECT_EQ(read("k.cu.cpp"), line("k.cu") + "#include \"sub/a.cuh\"\n");
  EXPECT_EQ(read("sub/a.cuh"), line("sub/a.cuh") + "#include \"deep/b.cuh\"\n#include \"" +
                                   (source() / "sub/c.hpp").string() + "\"\n");
  EXPECT_EQ(read("sub/deep/b.cuh"), line("sub/deep/b.cuh") + rewritten_);
  EXPECT_FALSE(written("sub/c.hpp"));
}

TEST_F(Files, KeepCopiesOfHeadersAboveInTheOutputFolder) {
  write("k.cu", "#include \"../above.cuh\"\n");
  write("../above.cuh", needy_);
  EXPECT_TRUE(run().empty());
  EXPECT_EQ(read("k.cu.cpp"), line("k.cu") + "#include \"up/above.cuh\"\n");
  EXPECT_EQ(read("up/above.cuh"),
            "#line 1 \"" + (root_ / "above.cuh").string() + "\"\n" + rewritten_);
}

TEST_F(Files, FindHeadersInTheGivenFolders) {
  write("k.cu", "#include \"shared.cuh\"\n");
  write("../other/shared.cuh", needy_);
  EXPECT_TRUE(run({root_ / "other"}).empty());
  EXPECT_EQ(read("shared.cuh"),
            "#line 1 \"" + (root_ / "other/shared.cuh").string() + "\"\n" + rewritten_);
}

TEST_F(Files, FindHeadersInBracketsInTheGivenFoldersOnly) {
  write("k.cu", "#include <lib/a.cuh>\n#include <vector>\n#include <b.cuh>\n");
  write("b.cuh", needy_);
  write("../other/lib/a.cuh", "#include <lib/c.hpp>\n#include \"d.hpp\"\n" + needy_);
  write("../other/lib/c.hpp", "int c;\n");
  write("../other/lib/d.hpp", "int d;\n");
  EXPECT_TRUE(run({root_ / "other"}).empty());
  EXPECT_EQ(read("k.cu.cpp"),
            line("k.cu") + "#include \"lib/a.cuh\"\n#include <vector>\n#include <b.cuh>\n");
  EXPECT_EQ(read("lib/a.cuh"), "#line 1 \"" + (root_ / "other/lib/a.cuh").string() +
                                   "\"\n#include <lib/c.hpp>\n#include \"" +
                                   (root_ / "other/lib/d.hpp").string() + "\"\n" + rewritten_);
  EXPECT_FALSE(written("b.cuh"));
}

TEST_F(Files, MayIncludeEachOtherInACircle) {
  write("k.cu", "#include \"a.cuh\"\n");
  write("a.cuh", "#pragma once\n#include \"b.cuh\"\n" + needy_);
  write("b.cuh", "#pragma once\n#include \"a.cuh\"\n");
  EXPECT_TRUE(run().empty());
  EXPECT_EQ(read("b.cuh"), line("b.cuh") + "#pragma once\n#include \"a.cuh\"\n");
}

TEST_F(Files, RemoveACopyThatIsNoLongerNeeded) {
  write("k.cu", "#include \"a.cuh\"\n#include \"b.cuh\"\n");
  write("a.cuh", needy_);
  write("b.cuh", "int b;\n");
  EXPECT_TRUE(run().empty());
  ASSERT_TRUE(written("a.cuh"));
  std::ofstream(out() / "b.cuh") << "// not written by the rewriter\n";
  write("a.cuh", "void f();\n");
  EXPECT_TRUE(run().empty());
  EXPECT_FALSE(written("a.cuh"));
  EXPECT_TRUE(written("b.cuh"));
}

TEST_F(Files, LeaveACopyUntouchedThatIsRight) {
  write("k.cu", "#include \"a.cuh\"\n");
  write("a.cuh", needy_);
  EXPECT_TRUE(run().empty());
  const fs::file_time_type old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(out() / "a.cuh", old);
  fs::last_write_time(out() / "k.cu.cpp", old);
  EXPECT_TRUE(run().empty());
  EXPECT_EQ(fs::last_write_time(out() / "a.cuh"), old);
  EXPECT_GT(fs::last_write_time(out() / "k.cu.cpp"), old);
}

TEST_F(Files, ListAllHeadersInTheDepfile) {
  write("k.cu", "#include \"a#b$.cuh\"\n#include \"c.hpp\"\n");
  write("a#b$.cuh", needy_);
  write("c.hpp", "int c;\n");
  EXPECT_TRUE(run().empty());
  const std::string folder = root_.string() + "/a\\ source/";
  EXPECT_EQ(read("k.d"), out().string() + "/k.cu.cpp: \\\n  " + folder + "k.cu \\\n  " + folder +
                             "a\\#b$$.cuh \\\n  " + folder + "c.hpp\n");
}

TEST_F(Files, WriteNothingWhenRefused) {
  write("k.cu", "#include \"a.cuh\"\nvoid f() { k<<<1>>>(); }\n");
  write("a.cuh", "__noinline__ void g();\n\n__global__ void l() { __shared__ int x = 1; }\n");
  const std::vector<rewriter::problem> found = run();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].file, (source() / "k.cu").string());
  EXPECT_EQ(found[0].line, 2);
  EXPECT_EQ(found[1].file, (source() / "a.cuh").string());
  EXPECT_EQ(found[1].line, 3);
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(Files, KnowKernelsOfHeaders) {
  write("k.cu", "#include \"a.cuh\"\n#include \"b.hpp\"\nvoid f() {\n  k(1);\n  l(1);\n}\n");
  write("a.cuh", "__global__ void k(int) {}\n__global__ void l(int) {}\n");
  write("b.hpp", "void l(float);\n");
  const std::vector<rewriter::problem> found = run();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].line, 4);
}

TEST_F(Files, KnowFunctionsOfHeaders) {
  write("k.cu", "#include \"a.cuh\"\n__global__ void k(float* p) {\n  *p = f(*p);\n}\n");
  write("a.cuh", "#pragma once\n\ninline float f(float x) { return x; }\n");
  const std::vector<rewriter::problem> found = run();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].line, 3);
  EXPECT_NE(found[0].sentence.find("(line 3 of a.cuh)"), std::string::npos) << found[0].sentence;
}

TEST_F(Files, DoNotJudgeWhatIsIncludedInTheMiddleOfAFunction) {
  write("k.cu", "__global__ void k(float* p) {\n#include \"constants.h\"\n  *p = n;\n}\n");
  write("constants.h", "float n = 3;\n");
  EXPECT_TRUE(run().empty());
}

TEST_F(Files, LeaveNoHalfWrittenFiles) {
  write("k.cu", "#include \"a.cuh\"\n");
  write("a.cuh", needy_);
  EXPECT_TRUE(run().empty());
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(out()))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"a.cuh", "k.cu.cpp", "k.d"}));
}

TEST_F(Files, NeverReplaceASource) {
  write("k.cu", "#include \"a.cuh\"\n");
  write("a.cuh", needy_);
  EXPECT_THROW(rewriter::rewrite_files({source() / "k.cu", source() / "k.cu.cpp", {}, {}}),
               std::runtime_error);
  EXPECT_THROW(rewriter::rewrite_files({source() / "k.cu", source() / "k.cu", {}, {}}),
               std::runtime_error);
  EXPECT_FALSE(fs::exists(source() / "k.cu.cpp"));
}

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "accepted";
}

TEST_F(Files, MustBeFiles) {
  ASSERT_EQ(mkfifo((source() / "k.cu").c_str(), 0600), 0);
  EXPECT_NE(refusal([&] { run(); }).find("k.cu cannot be read: it is a FIFO"), std::string::npos);
  fs::remove(source() / "k.cu");
  fs::create_directory(source() / "k.cu");
  EXPECT_NE(refusal([&] { run(); }).find("it is a folder"), std::string::npos);
  fs::remove(source() / "k.cu");
  fs::create_symlink("/dev/zero", source() / "k.cu");
  EXPECT_NE(refusal([&] { run(); }).find("it is a device"), std::string::npos);
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(Files, MustBeFilesWhereTheyAreIncluded) {
  write("k.cu", "#include \"pipe.h\"\n");
  ASSERT_EQ(mkfifo((source() / "pipe.h").c_str(), 0600), 0);
  EXPECT_NE(refusal([&] { run(); }).find("k.cu includes, cannot be read: it is a FIFO"),
            std::string::npos);
  write("k.cu", "#include \"/dev/zero\"\n");
  EXPECT_NE(refusal([&] { run(); }).find("it is a device"), std::string::npos);
}

TEST_F(Files, MustBeOfASizeThatSourcesHave) {
  write("k.cu", std::string((16u << 20) + 1, ' '));
  EXPECT_NE(refusal([&] { run(); }).find("larger than 16 MiB"), std::string::npos);
  write("k.cu", std::string(16u << 20, '\n'));
  EXPECT_EQ(refusal([&] { run(); }), "accepted");
}

TEST_F(Files, MayNotIncludeEachOtherWithoutEnd) {
  for (int i = 0; i < 202; ++i)
    write("h" + std::to_string(i), "#include \"h" + std::to_string(i + 1) + "\"\n");
  write("k.cu", "#include \"h3\"\n");
  EXPECT_EQ(refusal([&] { run(); }), "accepted");
  write("k.cu", "#include \"h0\"\n");
  EXPECT_NE(refusal([&] { run(); }).find("more than 200 headers"), std::string::npos);
}

TEST_F(Files, MustExist) {
  EXPECT_THROW(run(), std::runtime_error);
  EXPECT_FALSE(fs::exists(out()));
}

// ---- What nvcc refuses ----

const fs::path kSamples = REWRITER_SAMPLES;

std::string read_sample(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<fs::path> samples(const std::string& folder) {
  std::vector<fs::path> all;
  for (const fs::directory_entry& entry : fs::directory_iterator(kSamples / folder))
    all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  return all;
}

// The first lines of a sample say which line is refused, and why: `// Line 6: ...`.
TEST(Samples, ThatNvccRefusesAreRefusedInTheSameLine) {
  for (const fs::path& path : samples("refused")) {
    const std::string text = read_sample(path);
    const std::string start = "\n// Line ";
    const std::size_t at = text.find(start);
    ASSERT_NE(at, text.npos) << path;
    const std::size_t colon = text.find(": ", at);
    const int line = std::stoi(text.substr(at + start.size(), colon - at - start.size()));
    const std::string part = text.substr(colon + 2, text.find('\n', colon) - colon - 2);
    const std::vector<rewriter::problem> found = problems(text);
    ASSERT_FALSE(found.empty()) << path << " was accepted";
    EXPECT_EQ(found[0].line, line) << path;
    EXPECT_NE(found[0].sentence.find(part), std::string::npos) << path << ": " << found[0].sentence;
  }
}

TEST(Samples, ThatNvccAcceptsAreAccepted) {
  for (const fs::path& path : samples("accepted"))
    for (const rewriter::problem& p : problems(read_sample(path)))
      ADD_FAILURE() << path << ':' << p.line << ": " << p.sentence;
}

// nvcc compiles it, and then no linker finds these variables.
TEST(Samples, IndicesOfThreadsAreNotForTheHost) {
  for (const std::string name : {"threadIdx", "blockIdx"}) {
    const std::vector<rewriter::problem> found =
        problems("// 1\nunsigned f() { return " + name + ".x; }\n");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].line, 2);
    EXPECT_EQ(found[0].sentence, "`" + name +
                                     "` exists only in device code, and `f` runs on the host: use "
                                     "it in a kernel or a `__device__` function");
  }
}

// What names alone do not tell. A sample that has come to be refused belongs to refused/.
TEST(Samples, ThatAreMissedAreAccepted) {
  for (const fs::path& path : samples("missed"))
    for (const rewriter::problem& p : problems(read_sample(path)))
      ADD_FAILURE() << path << ':' << p.line << ": " << p.sentence;
}

// The folders are the record of what nvcc says. LAB_ASK_NVCC=1 asks it again: minutes.
TEST(Samples, StandInTheFoldersThatNvccPutsThemIn) {
  const bool ask = std::getenv("LAB_ASK_NVCC") != nullptr;
  for (const std::string folder : {"refused", "accepted", "missed"}) {
    const std::vector<fs::path> all = samples(folder);
    EXPECT_GT(all.size(), folder == "missed" ? 20u : 50u) << folder;
    if (!ask) continue;
    for (const fs::path& path : all) {
      const std::string command =
          "nvcc -c -std=c++20 '" + path.string() + "' -o /dev/null > /dev/null 2>&1";
      EXPECT_EQ(std::system(command.c_str()) == 0, folder == "accepted") << path;
    }
  }
}

// nvcc's --expt-relaxed-constexpr.
TEST(Spaces, OfConstexprFunctionsMayBeRelaxed) {
  const std::string host =
      "constexpr int twice(int x) { return 2 * x; }\nint thrice(int x) { return 3 * x; }\n"
      "struct pair { int a; constexpr pair(int x) : a(x) {} constexpr int get() const { return a; "
      "} "
      "};\n";
  const auto relaxed = [&](const std::string& body) {
    const std::string source = host + "__global__ void k(int* p) {\n" + body + "\n}\n";
    EXPECT_FALSE(problems(source).empty()) << body;
    return rewriter::rewrite(source, "k.cu", false, true).problems;
  };
  for (const std::string body :
       {"*p = twice(*p);", "pair a(*p); *p = a.get();", "*p = std::numeric_limits<int>::max();",
        "*p = std::max(*p, 3);", "*p = std::plus<int>{}(*p, 3);", "std::pair<int, int> a;",
        "std::array<int, 2> a{}; *p = a.size();"})
    EXPECT_TRUE(relaxed(body).empty()) << body << ": " << relaxed(body)[0].sentence;
  for (const std::string body : {"*p = thrice(*p);", "*p = std::reduce(p, p + 3);",
                                 "std::vector<int> a;", "*p = std::hash<int>{}(*p);"})
    EXPECT_EQ(relaxed(body).size(), 1u) << body;
}

TEST(Spaces, OfAHeaderAreThoseOfItsIncluder) {
  expect_problem(
      "float f(float x) { return x; }\n__global__ void k(float* p) {\n  *p = f(*p);\n}\n", 3,
      "write `__device__` before its declaration (line 1)");
  expect_problem(
      "float f(float x) { return x; }\n__global__ void k(float* p) {\n  *p = f(*p);\n}\n"
      "float g() { return f(1); }\n",
      3, "write `__host__ __device__` before its declaration (line 1)");
}

// Lambdas that nvcc takes with --extended-lambda.
TEST(Spaces, OfLambdasThatCapture) {
  const auto in_host = [](const std::string& lambda) {
    return problems("void f(int* p) {\n  int n = 3;\n  g(" + lambda + " { return n; });\n}\n");
  };
  for (const std::string lambda :
       {"[=] __device__ ()", "[n] __device__ ()", "[m = n & 1] __device__ ()",
        "[m = &p] __device__ ()", "[&] ()", "[=] __host__ __device__ ()"})
    EXPECT_TRUE(in_host(lambda).empty()) << lambda;
  for (const std::string lambda :
       {"[&] __device__ ()", "[=, &n] __device__ ()", "[&n] __host__ __device__ ()"})
    EXPECT_EQ(in_host(lambda).size(), 1u) << lambda;
  EXPECT_TRUE(
      problems("__global__ void k(int* p) { int n; auto l = [&] __device__ () { n = 2; }; l(); }\n")
          .empty());
}

// What may not be compiled at all is nobody's error.
TEST(Spaces, AreNotJudgedUnderConditions) {
  const std::string host = "float f(float x) { return x; }\n";
  const std::string call = "__global__ void k(float* p) { *p = f(*p); }\n";
  EXPECT_EQ(problems(host + call).size(), 1u);
  EXPECT_TRUE(problems(host + "#ifdef FAST\n" + call + "#endif\n").empty());
  EXPECT_TRUE(problems("#ifdef FAST\n" + host + "#endif\n" + call).empty());
  EXPECT_EQ(problems("#ifndef GUARD\n#define GUARD\n" + host + call + "#endif\n").size(), 1u);
}

// A name that something else has, too: only a compiler with types can tell.
TEST(Spaces, AreNotJudgedByAnAmbiguousName) {
  const std::string host = "float f(float x) { return x; }\n";
  const std::string call = "__global__ void k(float* p) { *p = f(*p); }\n";
  for (const std::string other :
       {"#define f(x) (x)\n", "__device__ float f(int x);\n",
        "#define HD __device__\nHD float f(int);\n", "UNKNOWN float f(int);\n",
        "struct s { float f; };\n", "struct f {};\n"})
    EXPECT_TRUE(problems(other + host + call).empty()) << other;
  for (const std::string body : {"auto f = [](float x) { return x; }; *p = f(*p);", "p->f(1);",
                                 "n::f(1);", "*p = f(1, 2);", "const int a = 2, f(3); *p = f(*p);"})
    EXPECT_TRUE(problems(host + "__global__ void k(float* p) { " + body + " }\n").empty()) << body;
  EXPECT_TRUE(problems(host + "__global__ void k(float (*f)(float)) { f(1); }\n").empty());
  EXPECT_TRUE(problems("namespace n { " + host + "}\n" + call).empty());
  EXPECT_TRUE(problems("namespace n {}\n__global__ void n::k() {}\n").empty());
}

// ---- Addresses of kernels ----

TEST(RewriterAddresses, AKernelThatIsCastToAVoidPointerIsRemembered) {
  const std::string kernel = "__global__ void k(int) {}\n";
  const auto in_f = [&](const std::string& text) {
    const std::string before = kernel + "void f() { ";
    return code(before + text + " }").substr(before.size());
  };
  const std::string k = "::cpu_device::remember_kernel(\"k\", k)";
  EXPECT_EQ(in_f("g((void*)k, 1);"), "g((void*)" + k + ", 1); }");
  EXPECT_EQ(in_f("g((const void *)&k);"), "g((const void *)" + k + "); }");
  EXPECT_EQ(in_f("p.func = reinterpret_cast<void*>(k);"),
            "p.func = reinterpret_cast<void*>(" + k + "); }");
  EXPECT_EQ(in_f("cudaLaunchCooperativeKernel(k, 1, 2, a);"),
            "cudaLaunchCooperativeKernel(" + k + ", 1, 2, a); }");
  EXPECT_EQ(in_f("cudaLaunchKernel((void*)::n::k<int, 3>, 1, 2, a);"),
            "cudaLaunchKernel((void*)::cpu_device::remember_kernel(\"::n::k<int, 3>\", ::n::k<int, "
            "3>), 1, 2, a); }");
}

TEST(RewriterAddresses, OthersKeepTheirType) {
  for (const char* text : {"g(k);", "g((long)k);", "auto p = &k;", "g((void*)other);",
                           "cudaFuncSetAttribute(k, a, 1);"})
    EXPECT_EQ(code("__global__ void k(int) {}\nvoid f() { " + std::string(text) + " }"),
              "__global__ void k(int) {}\nvoid f() { " + std::string(text) + " }");
}

}  // namespace
