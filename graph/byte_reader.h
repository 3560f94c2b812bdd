// Bytes from a file, a stream or memory, as the wire format needs them: varints, tags, views of small fields, and large
// fields read straight to where they stay.
//
//   NABLA_ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> reader, ByteReader::OpenFile("model.pb"));
//   uint64_t length;
//   if (!reader->ReadVarint(&length)) …  // truncated, or malformed
//
// Nothing is allocated on the word of a length that the source cannot hold. Thread-compatible.
#ifndef NABLA_GRAPH_BYTE_READER_H_
#define NABLA_GRAPH_BYTE_READER_H_

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nabla/graph/buffer.h"

namespace nabla {

class ByteReader {
 public:
  // Views up to this length are always possible.
  static constexpr size_t kMaxView = 64 << 10;

  // Over memory that outlives the reader.
  explicit ByteReader(absl::string_view bytes);
  // Over a stream, from its current position. Its end is known beforehand only if it can seek.
  explicit ByteReader(std::istream* in);
  // NotFound, or InvalidArgument for what is no file.
  static absl::StatusOr<std::unique_ptr<ByteReader>> OpenFile(const std::string& path);
  ~ByteReader();
  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;

  // Bytes consumed so far.
  uint64_t position() const { return base_ + static_cast<uint64_t>(cursor_ - begin_); }
  // The position of the end; UINT64_MAX if that is not known.
  uint64_t size() const { return size_; }
  bool AtEnd();
  // The system refused to read on (as opposed to: the data ends).
  bool failed() const { return failed_; }

  // False at the end of the data, and for a varint of more than ten bytes.
  bool ReadVarint(uint64_t* value) {
    if (cursor_ < end_ && *cursor_ < 0x80) {
      *value = *cursor_++;
      return true;
    }
    return ReadLongVarint(value);
  }
  // At most `count` bytes (up to kMaxView), not consumed; fewer only at the end of the data. Valid until the next call.
  absl::string_view Peek(size_t count);
  // Exactly `count` bytes (up to kMaxView), consumed, valid until the next call. False if the data ends before.
  bool View(size_t count, absl::string_view* bytes);
  bool Skip(uint64_t count);
  // Exactly `count` bytes appended to `*out`.
  bool Append(uint64_t count, std::string* out);
  // Exactly `count` bytes as a new Buffer, which the caller owns a reference of. nullptr if the data ends before or
  // there is no memory.
  Buffer* ReadBuffer(uint64_t count);

 private:
  ByteReader() = default;
  bool ReadLongVarint(uint64_t* value);
  // Makes at least `count` bytes available at the cursor, if the data has them.
  bool Fill(size_t count);
  // From the source, past what is buffered; 0 at its end.
  size_t ReadSome(void* to, size_t count);
  bool ReadExactly(char* to, uint64_t count);

  const unsigned char* begin_ = nullptr;
  const unsigned char* cursor_ = nullptr;
  const unsigned char* end_ = nullptr;
  uint64_t base_ = 0;  // the position of begin_
  uint64_t size_ = UINT64_MAX;
  bool failed_ = false;
  int fd_ = -1;
  std::istream* in_ = nullptr;
  std::unique_ptr<unsigned char[]> block_;  // none over memory
};

}  // namespace nabla

#endif  // NABLA_GRAPH_BYTE_READER_H_
