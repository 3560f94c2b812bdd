#include "nabla/runtime/frame_regions.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace nabla {
namespace {

using Kind = FrameAction::Kind;

// Trips of a loop, of which nothing is known: enough for two loops of anything to be worth two threads.
constexpr double kGuessedTrips = 200;
// So many tasks are looked at to see whether one comes before another.
constexpr size_t kMaxOrderSearch = 16;

class RegionFinder {
 public:
  RegionFinder(const FrameActions& program, const ActionAccesses& accesses, const std::vector<double>& costs)
      : program_(program), accesses_(accesses), costs_(costs), loop_of_(program.actions.size(), -1) {}

  std::vector<FrameRegion> Run() {
    FindLoops();
    std::vector<std::pair<int32_t, int32_t>> parts = {{0, static_cast<int32_t>(program_.actions.size())}};
    while (!parts.empty()) {
      const auto [begin, end] = parts.back();
      parts.pop_back();
      if (TryRegion(begin, end)) continue;
      for (int32_t a = begin; a < end; a = Next(a)) {
        if (loop_of_[a] >= 0) parts.emplace_back(loops_[loop_of_[a]].head + 1, loops_[loop_of_[a]].tail);
      }
    }
    std::sort(regions_.begin(), regions_.end(),
              [](const FrameRegion& a, const FrameRegion& b) { return a.begin < b.begin; });
    return std::move(regions_);
  }

 private:
  struct Loop {
    int32_t head = 0, tail = 0, end = 0;  // actions
    bool repeats = false;
    double cost = 0;
  };

  void FindLoops() {
    std::vector<int> open;
    for (size_t a = 0; a < program_.actions.size(); ++a) {
      const auto index = static_cast<int32_t>(a);
      switch (program_.actions[a].kind) {
        case Kind::kBegin:
          loop_of_[a] = static_cast<int>(loops_.size());
          open.push_back(loop_of_[a]);
          loops_.emplace_back();
          break;
        case Kind::kHead:
          loops_[open.back()].head = index;
          break;
        case Kind::kTail:
          loops_[open.back()].tail = index;
          break;
        case Kind::kJump:
          loops_[open.back()].repeats = true;
          break;
        case Kind::kEnd: {
          Loop& loop = loops_[open.back()];
          loop.end = index;
          if (loop.repeats) loop.cost *= kGuessedTrips;
          open.pop_back();
          if (!open.empty()) loops_[open.back()].cost += loop.cost;
          break;
        }
        default:
          if (!open.empty()) loops_[open.back()].cost += costs_[a];
      }
    }
  }

  // Where the task that begins with the action ends.
  int32_t Next(int32_t action) const { return loop_of_[action] >= 0 ? loops_[loop_of_[action]].end + 1 : action + 1; }

  double Cost(int32_t action) const { return loop_of_[action] >= 0 ? loops_[loop_of_[action]].cost : costs_[action]; }

  bool TryRegion(int32_t begin, int32_t end) {
    FrameRegion region;
    region.begin = begin;
    region.end = end;
    int expensive = 0;
    for (int32_t a = begin; a < end; a = Next(a)) {
      region.first.push_back(a);
      region.expensive.push_back(Cost(a) >= kExpensiveNanoseconds);
      expensive += region.expensive.back() ? 1 : 0;
    }
    if (expensive < 2) return false;
    region.before = FindOrder(region);
    double total = 0, longest = 0;
    std::vector<double> finish(region.first.size());
    for (size_t t = 0; t < finish.size(); ++t) {
      double start = 0;
      for (const int32_t p : region.before[t]) start = std::max(start, finish[p]);
      finish[t] = start + Cost(region.first[t]);
      total += Cost(region.first[t]);
      longest = std::max(longest, finish[t]);
    }
    if (longest >= total * kWorthwhileFraction) return false;
    regions_.push_back(std::move(region));
    return true;
  }

  using Tasks = FrameRegion::Tasks;
  // Of a slot or flag.
  struct Use {
    int32_t changed = -1;  // the last task that did
    Tasks read;            // since then
  };

  // Which tasks each must wait for.
  std::vector<Tasks> FindOrder(const FrameRegion& region) const {
    std::vector<Tasks> before(region.first.size());
    std::vector<int32_t> task_of(region.end - region.begin);
    absl::flat_hash_map<int32_t, Use> uses;
    for (size_t t = 0; t < region.first.size(); ++t) {
      const auto task = static_cast<int32_t>(t);
      Tasks& waits = before[t];
      const auto wait = [&](int32_t other) {
        if (other >= 0 && other != task) waits.push_back(other);
      };
      for (int32_t a = region.first[t]; a < Next(region.first[t]); ++a) {
        task_of[a - region.begin] = task;
        for (int32_t i = accesses_.first[a]; i < accesses_.first[a + 1]; ++i) {
          Use& use = uses[accesses_.accesses[i] / 2];
          wait(use.changed);
          if (accesses_.accesses[i] % 2 == 0) {
            if (use.read.empty() || use.read.back() != task) use.read.push_back(task);
            continue;
          }
          for (const int32_t reader : use.read) wait(reader);
          use.read.clear();
          use.changed = task;
        }
        const FrameAction& action = program_.actions[a];
        for (int32_t i = 0; i < action.num_waits; ++i) {
          const int32_t other = program_.waits[action.first_wait + i];
          if (other >= region.begin && other < a) wait(task_of[other - region.begin]);
        }
      }
      std::sort(waits.begin(), waits.end());
      waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
    }
    return before;
  }

  const FrameActions& program_;
  const ActionAccesses& accesses_;
  const std::vector<double>& costs_;
  std::vector<int> loop_of_;  // by action: the loop that begins there
  std::vector<Loop> loops_;
  std::vector<FrameRegion> regions_;
};

}  // namespace

void FrameRegion::Wait(size_t task, int32_t other) {
  Tasks& waits = before[task];
  const auto place = std::lower_bound(waits.begin(), waits.end(), other);
  if (place == waits.end() || *place != other) waits.insert(place, other);
}

bool FrameRegion::InOrder(int32_t task, int32_t other) const {
  const auto [earlier, later] = std::minmax(task, other);
  if (earlier == later) return true;
  absl::InlinedVector<int32_t, kMaxOrderSearch> found = {later};
  for (size_t i = 0; i < found.size(); ++i) {
    const Tasks& waits = before[found[i]];
    if (std::binary_search(waits.begin(), waits.end(), earlier)) return true;
    for (auto p = waits.rbegin(); p != waits.rend() && *p > earlier && found.size() < kMaxOrderSearch; ++p) {
      if (std::find(found.begin(), found.end(), *p) == found.end()) found.push_back(*p);
    }
  }
  return false;
}

std::vector<FrameRegion> FindRegions(const FrameActions& program, const ActionAccesses& accesses,
                                     const std::vector<double>& costs) {
  return RegionFinder(program, accesses, costs).Run();
}

TaskGraph MakeTaskGraph(const FrameRegion& region) {
  TaskGraph graph;
  graph.tasks.resize(region.before.size());
  for (const FrameRegion::Tasks& tasks : region.before) {
    for (const int32_t p : tasks) ++graph.tasks[p].num_successors;
  }
  int32_t total = 0;
  for (TaskGraph::Task& task : graph.tasks) {
    task.first_successor = total;
    total += task.num_successors;
    task.num_successors = 0;
  }
  graph.successors.resize(total);
  for (size_t t = 0; t < region.before.size(); ++t) {
    graph.tasks[t].expensive = region.expensive[t];
    graph.tasks[t].pending = static_cast<int32_t>(region.before[t].size());
    if (region.before[t].empty()) graph.roots.push_back(static_cast<int32_t>(t));
    for (const int32_t p : region.before[t]) {
      TaskGraph::Task& task = graph.tasks[p];
      graph.successors[task.first_successor + task.num_successors++] = static_cast<int32_t>(t);
    }
  }
  return graph;
}

}  // namespace nabla
