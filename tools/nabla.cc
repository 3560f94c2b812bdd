// The command-line tool: flags, help texts and exit statuses. What the verbs do stands in <verb>_command.cc.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nabla/graph/error_text.h"
#include "nabla/nabla.h"
#include "nabla/tools/command.h"

namespace nabla::tools {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

// Lets an option come often, each time with what stands right behind it and no more.
CLI::Option* Repeated(CLI::Option* option) { return option->take_all()->type_size(1)->allow_extra_args(false); }

// An option that takes NAME[,NAME...], blanks around them or not.
CLI::Option* AddNames(CLI::App* verb, const char* flag, std::vector<std::string>* names, const char* help) {
  return Repeated(verb->add_option(flag, *names, help))->delimiter(',')->transform([](const std::string& name) {
    return std::string(absl::StripAsciiWhitespace(name));
  });
}

void AddRun(CLI::App& app, RunFlags* flags, absl::Status* status) {
  CLI::App* verb = app.add_subcommand("run", "Run a graph and print what it computes");
  verb->add_option("GRAPH", flags->graph, "GraphDef file, binary or text")->required();
  Repeated(verb->add_option(
      "--feed", flags->feeds,
      "NAME=VALUE or NAME=@FILE.npy, as often as needed; VALUE is a number (1.5, 1+2j), true, a string "
      "or nested lists: x=[[1,2],[3,4]]"));
  AddNames(verb, "--fetch", &flags->fetches, "tensors to print: NAME[,NAME...]");
  AddNames(verb, "--target", &flags->targets, "nodes to run and not to print: NAME[,NAME...]");
  verb->add_option("--out", flags->out, "folder to write each fetched tensor to, as NAME.npy");
  verb->add_option("--threads", flags->threads, "threads to run on (default: one per core)");
  verb->add_option("--repeat", flags->repeat, "run so many times and print the times taken");
  verb->add_option("--trace", flags->trace, "write a timeline as Chrome trace JSON (opens in Perfetto)");
  verb->footer("Example:\n  nabla run model.pb --feed x=@x.npy --feed keep=1.0 --fetch logits,loss --out results");
  verb->callback([=] { *status = RunCommand(*flags); });
}

void AddGrad(CLI::App& app, GradFlags* flags, absl::Status* status) {
  CLI::App* verb = app.add_subcommand("grad", "Append gradients to a graph and write it");
  verb->add_option("GRAPH", flags->graph, "GraphDef file, binary or text")->required();
  AddNames(verb, "--ys", &flags->ys, "tensors to differentiate: NAME[,NAME...]")->required();
  AddNames(verb, "--xs", &flags->xs, "tensors to differentiate by")->required();
  verb->add_option("--out", flags->out, "file to write (.pb, .pbtxt, .json or .dot)")->required();
  AddNames(verb, "--grad-ys", &flags->grad_ys, "incoming gradients, one tensor per y (default: ones)");
  AddNames(verb, "--stop", &flags->stop, "tensors to treat as constants");
  verb->add_option("--aggregation", flags->aggregation, "add_n, tree or accumulate_n")->capture_default_str();
  verb->add_option("--unconnected", flags->unconnected, "what an x gets that no y depends on: none or zero")
      ->capture_default_str();
  verb->add_option("--loop-checkpoint,--loop_checkpoint", flags->loop_checkpoint,
                   "what gradients of loops keep, computing the rest again: none (all is kept), sqrt (about sqrt(2 n) "
                   "of n trips), every=K (each K-th trip) or budget=BYTES (with K, M or G after it if you like)")
      ->capture_default_str();
  verb->add_option("--name", flags->name, "name scope of the new nodes")->capture_default_str();
  verb->footer(
      "Prints a line for each x: `x -> tensor`, or `x -> none: why`.\n"
      "Example:\n  nabla grad model.pb --ys loss --xs w,b --out model_grad.pb");
  verb->callback([=] { *status = GradCommand(*flags); });
}

void AddShow(CLI::App& app, ShowFlags* flags, absl::Status* status) {
  CLI::App* verb = app.add_subcommand("show", "Show what a graph takes, gives and consists of");
  verb->add_option("GRAPH", flags->graph, "GraphDef file, binary or text");
  verb->add_option("--op", flags->op, "show this op's inputs, outputs, attrs and meaning instead");
  verb->add_option("--max-items", flags->max_items, "cut longer lists")->capture_default_str();
  verb->footer("Examples:\n  nabla show model.pb\n  nabla show --op MatMul");
  verb->callback([=] { *status = ShowCommand(*flags); });
}

void AddConvert(CLI::App& app, ConvertFlags* flags, absl::Status* status) {
  CLI::App* verb = app.add_subcommand("convert", "Write a graph in another format");
  verb->add_option("IN", flags->in, "GraphDef file, binary or text")->required();
  verb->add_option("OUT", flags->out, ".pb (binary), .pbtxt (text), .json or .dot (Graphviz)")->required();
  verb->footer(
      "The graph stays the same, but each node is written behind its inputs (loops apart), and tensors as their "
      "bytes,\n"
      "or as one value if all elements are equal.\n"
      "Example:\n  nabla convert model.pb model.pbtxt");
  verb->callback([=] { *status = ConvertCommand(*flags); });
}

void AddCheck(CLI::App& app, CheckFlags* flags, absl::Status* status) {
  CLI::App* verb = app.add_subcommand("check", "Verify a graph, and its gradients against numeric ones");
  verb->add_option("GRAPH", flags->graph, "GraphDef file, binary or text")->required();
  AddNames(verb, "--ys", &flags->ys, "tensors whose gradients to check: NAME[,NAME...]");
  AddNames(verb, "--xs", &flags->xs, "tensors to differentiate by, of type float or double");
  Repeated(
      verb->add_option("--feed", flags->feeds, "NAME=VALUE or NAME=@FILE.npy; what is not fed gets random numbers"));
  verb->add_option("--samples", flags->samples, "elements to vary of each x, and of each input of an op")
      ->capture_default_str();
  verb->add_option("--step", flags->step, "difference (default: 1e-2 for float, 1e-5 for double)");
  verb->add_option("--tolerance", flags->tolerance,
                   "relative error allowed (default: 2e-2 for float, 1e-5 for double)");
  verb->footer(
      "With --ys and --xs, prints a line for each x, and one for each op on the paths between: its own rule against\n"
      "differences at the inputs that it has in the graph, in double where it can.\n"
      "Examples:\n  nabla check model.pb\n  nabla check model.pb --ys loss --xs w,b");
  verb->callback([=] { *status = CheckCommand(*flags); });
}

int Main(int argc, char** argv) {
  CLI::App app("Runs, differentiates, shows, converts and checks GraphDef files.", "nabla");
  app.require_subcommand(1);
  app.footer("Each verb has its own help: nabla run --help\nExit status: 0 done, 1 failed, 2 wrong usage.");
  absl::Status status;
  RunFlags run;
  GradFlags grad;
  ShowFlags show;
  ConvertFlags convert;
  CheckFlags check;
  Initialize();
  AddRun(app, &run, &status);
  AddGrad(app, &grad, &status);
  AddShow(app, &show, &status);
  AddConvert(app, &convert, &status);
  AddCheck(app, &check, &status);
  std::vector<std::string> words = {"-h", "--help"};
  for (CLI::App* verb : app.get_subcommands({})) words.push_back(verb->group("Verbs")->get_name());
  if (argc < 2 || !absl::c_linear_search(words, argv[1])) {
    std::fprintf(stderr, "nabla: error: %s, expected one of %s (see nabla --help)\n",
                 argc < 2 ? "no verb is given" : absl::StrCat("there is no verb ", Quoted(argv[1])).c_str(),
                 absl::StrJoin(words.begin() + 2, words.end(), ", ").c_str());
    return kWrongUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);  // --help
    std::fprintf(stderr, "nabla: error: %s (see nabla --help)\n", error.what());
    return kWrongUsage;
  }
  if (status.ok()) return 0;
  std::string message(status.message());
  for (char& c : message) c = c == '\n' ? ' ' : c;  // one line, whatever the names in it
  std::fprintf(stderr, "nabla: error: %s\n", message.c_str());
  return IsUsageError(status) ? kWrongUsage : kFailed;
}

}  // namespace
}  // namespace nabla::tools

int main(int argc, char** argv) { return nabla::tools::Main(argc, argv); }
