"""The compiler flags of every C++ file in the project, one to a line.

tools/syntax and tools/check read them from here too. Flags that choose an
instruction set are missing on purpose: binaries run on any x86-64, and kernels
pick wider instructions at run time.
"""

NABLA_COPTS = [
    "-std=c++20",
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",
    # Designated initializers name what they set and leave the rest on purpose.
    "-Wno-missing-field-initializers",
    # GCC 12 reports these inside std::string and absl::InlinedVector, wrongly.
    "-Wno-maybe-uninitialized",
    "-Wno-restrict",
    "-Werror=return-type",
    "-Werror=unused-result",
    # Same bits on every machine: no fused multiply-add that a compiler chose.
    "-ffp-contract=off",
    # sqrt and friends become instructions, not calls that set errno.
    "-fno-math-errno",
]
