"""The rules that packages use: nabla_library, nabla_test, nabla_fuzz_test,
nabla_binary, nabla_generated.

They are cc_library and so on with the project's flags. Headers are included by
their path from the top, with `nabla/` before it: a library in graph/ that lists
scope.h gives its dependents "nabla/graph/scope.h". That goes for its own
sources too, so every header stands in hdrs, internal ones included.
"""

load("//tools/bazel:copts.bzl", "NABLA_COPTS")

_FUZZING = "//tools/bazel:fuzzing"

def nabla_library(name, srcs = [], hdrs = [], deps = [], copts = [], **kwargs):
    """A C++ library.

    Args:
      name: the target's name; by custom the folder's.
      srcs: .cc files.
      hdrs: all headers.
      deps: what it includes and links.
      copts: flags for this library's files, after the common ones.
      **kwargs: as for cc_library.
    """
    native.cc_library(
        name = name,
        srcs = srcs,
        hdrs = hdrs,
        copts = NABLA_COPTS + copts,
        include_prefix = "nabla",
        # Static only, so that each file is compiled once and not again for a
        # shared object.
        linkstatic = True,
        strip_include_prefix = "/",
        deps = deps,
        **kwargs
    )

def nabla_test(name, srcs, deps = [], copts = [], data = [], size = "small", **kwargs):
    """A GoogleTest program; main comes with it.

    Args:
      name: the target's name, ending in _test.
      srcs: .cc files, and headers that only they include.
      deps: what is tested; GoogleTest and GoogleMock are added.
      copts: flags for this test's files, after the common ones.
      data: files to read, by their path from the top.
      size: small (1 minute), medium (5), large (15) or enormous (60): the time
        after which the test is taken to hang.
      **kwargs: as for cc_test.
    """
    native.cc_test(
        name = name,
        srcs = srcs,
        copts = NABLA_COPTS + copts,
        linkstatic = True,
        data = data + ["//tools/bazel:suppressions"],
        size = size,
        deps = deps + ["@com_google_googletest//:gtest_main"],
        **kwargs
    )

def nabla_fuzz_test(name, srcs, corpus = [], deps = [], copts = [], size = "medium", **kwargs):
    """A fuzzer: a source that defines LLVMFuzzerTestOneInput.

    In the ordinary build it is a test, which feeds the seeds and some thousand
    mutations of them, the same ones each time. With --config=fuzz it is a
    libFuzzer program: `bazel run --config=fuzz //tests:x_fuzz -- $PWD/DIRECTORY`.

    Args:
      name: the target's name, ending in _fuzz.
      srcs: .cc files.
      corpus: the seeds, as files.
      deps: what is tested.
      copts: flags for this program's files, after the common ones.
      size: as for nabla_test.
      **kwargs: as for cc_test.
    """
    native.cc_test(
        name = name,
        srcs = srcs,
        args = select({
            _FUZZING: [],
            "//conditions:default": ["$(location %s)" % seed for seed in corpus],
        }),
        copts = NABLA_COPTS + copts,
        data = corpus + ["//tools/bazel:suppressions"],
        linkopts = select({
            _FUZZING: ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        linkstatic = True,
        size = size,
        deps = deps + select({
            _FUZZING: [],
            "//conditions:default": ["//tools/bazel:fuzz_main"],
        }),
        **kwargs
    )

def nabla_binary(name, srcs, deps = [], copts = [], **kwargs):
    """A program.

    Args:
      name: the target's name.
      srcs: .cc files.
      deps: what it includes and links.
      copts: flags for this program's files, after the common ones.
      **kwargs: as for cc_binary.
    """
    native.cc_binary(
        name = name,
        srcs = srcs,
        copts = NABLA_COPTS + copts,
        linkstatic = True,
        deps = deps,
        **kwargs
    )

def nabla_generated(name, outs, generator, args = "", **kwargs):
    """Files that a program of ours writes during the build.

    The program is called as `generator OUT... ARGS` and is the very one that
    //... builds. (A genrule's `tools` would be compiled a second time, with all
    they depend on, for a machine that happens to be this one.)

    Args:
      name: the target's name.
      outs: the files; list a header in some library's hdrs to include it.
      generator: label of a nabla_binary.
      args: what stands on the command line after the outputs.
      **kwargs: as for genrule.
    """
    native.genrule(
        name = name,
        srcs = [generator],
        outs = outs,
        cmd = "$(execpath %s) $(OUTS) %s" % (generator, args),
        **kwargs
    )
