// A vector whose copies share what they have in common: the tree of wide nodes of Bagwell, "Ideal Hash Trees" (2001),
// as Clojure's vectors use it, with nodes changed in place where one vector alone holds them.
//
//   PersistentVector<Tensor> a;
//   a.push_back(x);                    // in place
//   PersistentVector<Tensor> b = a;    // shares everything
//   b.push_back(y);                    // copies one path of nodes, at most log16(size) of them
//
// Elements that were never written are T() and take no memory where their neighbours are like that, so a vector of two
// thousand million unset elements is cheap. Copying takes constant time; reading and writing an element, pushing and
// popping take log16(size).
//
// Thread safety: that of an ordinary value. Vectors that share nodes may be used, and changed, by different threads.
#ifndef NABLA_RUNTIME_PERSISTENT_VECTOR_H_
#define NABLA_RUNTIME_PERSISTENT_VECTOR_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "nabla/graph/status_macros.h"

namespace nabla {

template <typename T>
class PersistentVector {
 public:
  PersistentVector() = default;
  PersistentVector(const PersistentVector& other) : root_(other.root_), levels_(other.levels_), size_(other.size_) {
    Ref(root_);
  }
  PersistentVector(PersistentVector&& other) noexcept
      : root_(std::exchange(other.root_, nullptr)),
        levels_(std::exchange(other.levels_, 0)),
        size_(std::exchange(other.size_, 0)) {}
  PersistentVector& operator=(PersistentVector other) noexcept {
    std::swap(root_, other.root_);
    std::swap(levels_, other.levels_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~PersistentVector() { Unref(root_, levels_); }

  int64_t size() const { return size_; }

  // The rest requires 0 <= i < size(), or a vector that is not empty.
  const T& operator[](int64_t i) const {
    const Node* node = root_;
    for (int level = levels_; level > 0 && node != nullptr; --level) {
      node = static_cast<const Inner*>(node)->children[Slot(i, level)];
    }
    return node == nullptr ? Unset() : static_cast<const Leaf*>(node)->values[Slot(i, 0)];
  }
  // To write to; what other vectors share is copied first.
  T& Mutable(int64_t i) {
    Node** at = &root_;
    for (int level = levels_; level > 0; --level) at = &Own<Inner>(at, level)->children[Slot(i, level)];
    return Own<Leaf>(at, 0)->values[Slot(i, 0)];
  }
  void push_back(T value) {
    Resize(size_ + 1);
    Mutable(size_ - 1) = std::move(value);
  }
  T pop_back() {
    T value;
    if (root_ != nullptr) value = std::move(Mutable(size_ - 1));
    Resize(size_ - 1);
    return value;
  }
  // Drops elements from the end, or adds unset ones.
  void Resize(int64_t size) {
    if (size < size_) {
      Truncate(size);
    } else {
      size_ = size;
      while (size_ > Capacity(levels_)) {
        if (root_ != nullptr) {
          Inner* parent = new Inner;
          parent->children[0] = root_;
          root_ = parent;
        }
        ++levels_;
      }
    }
  }

  // Calls fn(i, element) for every element that may be set, in order; passes over nodes that are not there. Stops at
  // the first error.
  absl::Status ForEach(absl::FunctionRef<absl::Status(int64_t i, const T& element)> fn) const {
    return Visit(root_, levels_, 0, fn);
  }
  // Calls fn(&mine, theirs) for the pairs of elements of two vectors of one size, but where one side has no nodes takes
  // the other's, shared: `fn` must be such that an unset element combined with another gives the other. Takes time for
  // the nodes that both have.
  absl::Status Combine(const PersistentVector& other, absl::FunctionRef<absl::Status(T* mine, const T& theirs)> fn) {
    return Merge(&root_, other.root_, levels_, fn);
  }

 private:
  // Few elements to a leaf, so that short vectors are small; children are cheaper.
  static constexpr int kLeafBits = 3;
  static constexpr int kInnerBits = 4;
  static constexpr int kElements = 1 << kLeafBits;
  static constexpr int kChildren = 1 << kInnerBits;

  struct Node {
    std::atomic<int32_t> refs{1};
  };
  struct Inner : Node {  // at levels above 0
    Node* children[kChildren] = {};
  };
  struct Leaf : Node {
    T values[kElements] = {};
  };

  static const T& Unset() {
    static const T* const value = new T();
    return *value;
  }
  // The number of elements below a node of that level.
  static int64_t Capacity(int level) { return int64_t{1} << (kLeafBits + kInnerBits * level); }
  // Where in a node of that level element i is.
  static int Slot(int64_t i, int level) {
    if (level == 0) return static_cast<int>(i) & (kElements - 1);
    return static_cast<int>(i >> (kLeafBits + kInnerBits * (level - 1))) & (kChildren - 1);
  }

  static void Ref(Node* node) {
    if (node != nullptr) node->refs.fetch_add(1, std::memory_order_relaxed);
  }
  // Recursion here and below is as deep as the tree: 8 levels for 2^31 elements.
  static void Unref(Node* node, int level) {
    if (node == nullptr || node->refs.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    if (level == 0) {
      delete static_cast<Leaf*>(node);
      return;
    }
    Inner* inner = static_cast<Inner*>(node);
    for (Node* child : inner->children) Unref(child, level - 1);
    delete inner;
  }

  static void CopyContent(const Inner& from, Inner* to) {
    std::copy_n(from.children, kChildren, to->children);
    for (Node* child : to->children) Ref(child);
  }
  static void CopyContent(const Leaf& from, Leaf* to) { std::copy_n(from.values, kElements, to->values); }

  // The node at *at, which is put there if there is none and replaced by a copy if others hold it. The caller owns the
  // way that led here.
  template <typename NodeType>
  static NodeType* Own(Node** at, int level) {
    NodeType* node = static_cast<NodeType*>(*at);
    if (node != nullptr && node->refs.load(std::memory_order_acquire) == 1) return node;
    NodeType* copy = new NodeType;
    if (node != nullptr) {
      CopyContent(*node, copy);
      Unref(node, level);
    }
    *at = copy;
    return copy;
  }

  void Truncate(int64_t size) {
    const int64_t last = std::exchange(size_, size) - 1;  // the last element that goes
    if (size == 0) {
      Unref(std::exchange(root_, nullptr), std::exchange(levels_, 0));
      return;
    }
    // Along the way to the first element that goes, drops what is behind it.
    Node** at = &root_;
    int64_t end = last;  // the last one below *at
    for (int level = levels_; *at != nullptr; --level) {
      if (level == 0) {
        Leaf* leaf = Own<Leaf>(at, 0);
        for (int slot = Slot(size, 0); slot <= Slot(end, 0); ++slot) leaf->values[slot] = T();
        break;
      }
      Inner* inner = Own<Inner>(at, level);
      const int slot = Slot(size, level);
      for (int behind = slot + 1; behind <= Slot(end, level); ++behind) {
        Unref(std::exchange(inner->children[behind], nullptr), level - 1);
      }
      const int64_t child_begin = size & -Capacity(level - 1);
      if (child_begin == size) {
        Unref(std::exchange(inner->children[slot], nullptr), level - 1);
        break;
      }
      end = std::min(end, child_begin + Capacity(level - 1) - 1);
      at = &inner->children[slot];
    }
    while (levels_ > 0 && size_ <= Capacity(levels_ - 1)) {
      if (root_ != nullptr) {
        Inner* old = static_cast<Inner*>(root_);
        root_ = old->children[0];
        Ref(root_);
        Unref(old, levels_);
      }
      --levels_;
    }
  }

  static absl::Status Visit(const Node* node, int level, int64_t first,
                            absl::FunctionRef<absl::Status(int64_t i, const T& element)> fn) {
    if (node == nullptr) return absl::OkStatus();
    if (level == 0) {
      for (int slot = 0; slot < kElements; ++slot) {
        NABLA_RETURN_IF_ERROR(fn(first + slot, static_cast<const Leaf*>(node)->values[slot]));
      }
      return absl::OkStatus();
    }
    for (const Node* child : static_cast<const Inner*>(node)->children) {
      NABLA_RETURN_IF_ERROR(Visit(child, level - 1, first, fn));
      first += Capacity(level - 1);
    }
    return absl::OkStatus();
  }

  static absl::Status Merge(Node** mine, Node* theirs, int level,
                            absl::FunctionRef<absl::Status(T* mine, const T& theirs)> fn) {
    if (theirs == nullptr) return absl::OkStatus();
    if (*mine == nullptr) {
      Ref(theirs);
      *mine = theirs;
      return absl::OkStatus();
    }
    if (level == 0) {
      Leaf* leaf = Own<Leaf>(mine, 0);
      for (int slot = 0; slot < kElements; ++slot) {
        NABLA_RETURN_IF_ERROR(fn(&leaf->values[slot], static_cast<const Leaf*>(theirs)->values[slot]));
      }
      return absl::OkStatus();
    }
    Inner* inner = Own<Inner>(mine, level);
    for (int slot = 0; slot < kChildren; ++slot) {
      NABLA_RETURN_IF_ERROR(Merge(&inner->children[slot], static_cast<Inner*>(theirs)->children[slot], level - 1, fn));
    }
    return absl::OkStatus();
  }

  Node* root_ = nullptr;  // of level levels_; a Leaf if that is 0; nullptr if nothing is set
  int levels_ = 0;        // as few as size_ needs
  int64_t size_ = 0;
};

}  // namespace nabla

#endif  // NABLA_RUNTIME_PERSISTENT_VECTOR_H_
