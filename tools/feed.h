// Values given on the command line: NAME=3.5, NAME=[[1,2],[3,4]], NAME=@file.npy.
#ifndef NABLA_TOOLS_FEED_H_
#define NABLA_TOOLS_FEED_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nabla/graph/graph.h"
#include "nabla/runtime/session.h"

namespace nabla::tools {

// A number, true, false, a string (quoted inside lists; alone it may stand without quotes), or nested lists of such in
// brackets, as a tensor of `dtype`. InvalidArgument saying what is wrong where.
absl::StatusOr<Tensor> ParseTensor(absl::string_view text, DType dtype);

// All --feed flags. The literal values take their dtypes from the graph; those in files have their own.
absl::StatusOr<Feeds> ParseFeeds(const Graph& graph, const std::vector<std::string>& flags);

}  // namespace nabla::tools

#endif  // NABLA_TOOLS_FEED_H_
