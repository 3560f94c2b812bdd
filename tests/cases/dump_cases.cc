// Writes each row as DIRECTORY/NAME.pb, a graph for tests/golden/make_op_values.py to run.
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "nabla/graph/export.h"
#include "nabla/tests/cases/checks.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: dump_cases DIRECTORY\n");
    return 2;
  }
  nabla::RegisterEverything();
  for (const nabla::OpCase& row : nabla::AllCases()) {
    if (!row.spec.golden || row.spec.big) continue;
    const auto built = nabla::BuildCase(row, row.spec.dtype, nabla::Feeding::kConstants);
    const absl::Status status =
        built.ok() ? nabla::ExportGraphFile(*built->graph, {}, absl::StrCat(argv[1], "/", row.Name(), ".pb"))
                   : built.status();
    if (!status.ok()) {
      std::fprintf(stderr, "%s: %s\n", row.Name().c_str(), status.ToString().c_str());
      return 1;
    }
  }
  return 0;
}
