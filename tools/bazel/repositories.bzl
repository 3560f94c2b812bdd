"""Every repository outside this one: Debian's libraries and Bazel's own rules.

Nothing is downloaded. A library is whatever the -dev package put under /usr;
its headers lie where the compiler looks anyway, so its BUILD file (beside this
one, <library>.BUILD) mostly says what to link.
"""

def _stub_repository_impl(ctx):
    ctx.file("WORKSPACE", "")
    for path, content in ctx.attr.files.items():
        ctx.file(path, content)

# A repository of a few literal files.
_stub_repository = repository_rule(
    implementation = _stub_repository_impl,
    attrs = {"files": attr.string_dict(mandatory = True)},
    local = True,
)

# Rules that Bazel's embedded tools load from @rules_cc and that are native in
# this release. Debian's package of rules_cc is made for a later one.
_RULES_CC = [
    "cc_binary",
    "cc_import",
    "cc_library",
    "cc_proto_library",
    "cc_test",
    "cc_toolchain",
    "cc_toolchain_suite",
    "fdo_prefetch_hints",
    "fdo_profile",
    "objc_import",
    "objc_library",
]

def bazel_repositories():
    """What Bazel 4.2 would otherwise fetch for itself."""
    native.local_repository(name = "bazel_skylib", path = "/usr/share/bazel/tools/skylib")
    native.local_repository(name = "platforms", path = "/usr/share/bazel/platforms")
    native.local_repository(name = "rules_java", path = "/usr/share/bazel/rules/java")
    native.local_repository(name = "rules_proto", path = "/usr/share/bazel/rules/proto")
    _stub_repository(
        name = "rules_cc",
        files = {
            "BUILD": "",
            "cc/BUILD": "",
            "cc/defs.bzl": "".join([
                "%s = native.%s\n" % (rule, rule)
                for rule in _RULES_CC
            ]),
        },
    )

    # Every test depends on these by default; nothing runs them unless coverage
    # is collected.
    _stub_repository(
        name = "remote_coverage_tools",
        files = {
            "BUILD": "\n".join([
                "filegroup(name = \"%s\", visibility = [\"//visibility:public\"])" % name
                for name in ["coverage_report_generator", "lcov_merger", "Main"]
            ]),
        },
    )

def _system_library(name, build_file, path = "/usr/share/doc"):
    # A library whose files are all found by compiler and linker needs a folder
    # only because the rule asks for one.
    native.new_local_repository(
        name = name,
        path = path,
        build_file = "//tools/bazel:%s.BUILD" % build_file,
    )

def library_repositories():
    """The libraries that Nabla is built on, one target each."""
    _system_library("com_google_absl", "absl")
    _system_library("com_google_benchmark", "benchmark")
    _system_library("com_google_googletest", "gtest")
    _system_library("com_google_protobuf", "protobuf", path = "/usr")
    _system_library("dnnl", "dnnl")
    _system_library("eigen", "eigen", path = "/usr/include/eigen3")
    _system_library("highway", "highway")
    _system_library("zlib", "zlib")
