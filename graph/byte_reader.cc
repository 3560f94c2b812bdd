#include "nabla/graph/byte_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <istream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace nabla {
namespace {

constexpr size_t kBlock = 256 << 10;
// How much is taken on trust from a source that does not say how long it is.
constexpr uint64_t kPiece = 4 << 20;

}  // namespace

ByteReader::ByteReader(absl::string_view bytes)
    : begin_(reinterpret_cast<const unsigned char*>(bytes.data())),
      cursor_(begin_),
      end_(begin_ + bytes.size()),
      size_(bytes.size()) {}

ByteReader::ByteReader(std::istream* in) : in_(in), block_(new unsigned char[kBlock]) {
  begin_ = cursor_ = end_ = block_.get();
  const std::istream::pos_type start = in->tellg();
  if (start != std::istream::pos_type(-1) && in->seekg(0, std::ios::end)) {
    const std::istream::pos_type end = in->tellg();
    in->seekg(start);
    if (end != std::istream::pos_type(-1) && end >= start) size_ = static_cast<uint64_t>(end - start);
  }
  // A stream that cannot seek says so by failing; it can still be read.
  if (!in->bad()) in->clear();
}

absl::StatusOr<std::unique_ptr<ByteReader>> ByteReader::OpenFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(absl::StrCat(path, ": no such file"));
    return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be opened: ", strerror(error)));
  }
  std::unique_ptr<ByteReader> reader(new ByteReader());
  reader->fd_ = fd;  // closed by the destructor from here on
  struct stat info;
  if (fstat(fd, &info) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be examined: ", strerror(errno)));
  }
  if (S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is a directory, expected a file"));
  }
  // Size 0 is also what files say that the system makes up as they are read.
  if (S_ISREG(info.st_mode) && info.st_size > 0) reader->size_ = static_cast<uint64_t>(info.st_size);
  reader->block_.reset(new unsigned char[kBlock]);
  reader->begin_ = reader->cursor_ = reader->end_ = reader->block_.get();
  return reader;
}

ByteReader::~ByteReader() {
  if (fd_ >= 0) close(fd_);
}

size_t ByteReader::ReadSome(void* to, size_t count) {
  if (fd_ >= 0) {
    for (;;) {
      const ssize_t got = read(fd_, to, std::min<size_t>(count, 1 << 30));
      if (got >= 0) return static_cast<size_t>(got);
      if (errno == EINTR) continue;
      failed_ = true;
      return 0;
    }
  }
  if (in_ != nullptr) {
    in_->read(static_cast<char*>(to), static_cast<std::streamsize>(count));
    if (in_->bad()) failed_ = true;
    return static_cast<size_t>(in_->gcount());
  }
  return 0;
}

bool ByteReader::Fill(size_t count) {
  if (static_cast<size_t>(end_ - cursor_) >= count) return true;
  if (block_ == nullptr) return false;
  const size_t kept = end_ - cursor_;
  base_ += cursor_ - begin_;
  std::memmove(block_.get(), cursor_, kept);
  cursor_ = begin_;
  end_ = begin_ + kept;
  while (static_cast<size_t>(end_ - cursor_) < count) {
    const size_t held = end_ - begin_;
    const size_t got = ReadSome(block_.get() + held, kBlock - held);
    if (got == 0) return false;
    end_ += got;
  }
  return true;
}

bool ByteReader::AtEnd() { return !Fill(1); }

bool ByteReader::ReadLongVarint(uint64_t* value) {
  uint64_t result = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (cursor_ == end_ && !Fill(1)) return false;
    const unsigned char byte = *cursor_++;
    result |= static_cast<uint64_t>(byte & 0x7f) << std::min(shift, 63);
    if (byte < 0x80) {
      *value = result;
      return true;
    }
  }
  return false;
}

absl::string_view ByteReader::Peek(size_t count) {
  Fill(count);
  return absl::string_view(reinterpret_cast<const char*>(cursor_), std::min<size_t>(count, end_ - cursor_));
}

bool ByteReader::View(size_t count, absl::string_view* bytes) {
  if (!Fill(count)) return false;
  *bytes = absl::string_view(reinterpret_cast<const char*>(cursor_), count);
  cursor_ += count;
  return true;
}

bool ByteReader::Skip(uint64_t count) {
  for (;;) {
    const uint64_t step = std::min<uint64_t>(count, end_ - cursor_);
    cursor_ += step;
    count -= step;
    if (count == 0) return true;
    if (!Fill(1)) return false;
  }
}

bool ByteReader::ReadExactly(char* to, uint64_t count) {
  uint64_t done = std::min<uint64_t>(count, end_ - cursor_);
  std::memcpy(to, cursor_, done);
  cursor_ += done;
  if (done == count) return true;
  // The block is used up; from here it only keeps the position, while the source is read past it.
  base_ += cursor_ - begin_;
  cursor_ = end_ = begin_;
  while (done < count) {
    const size_t got = ReadSome(to + done, count - done);
    if (got == 0) return false;
    done += got;
    base_ += got;
  }
  return true;
}

bool ByteReader::Append(uint64_t count, std::string* out) {
  if (size_ != UINT64_MAX) {
    if (count > size_ - std::min(size_, position())) return false;
    const size_t start = out->size();
    out->resize(start + count);
    return ReadExactly(&(*out)[start], count);
  }
  while (count > 0) {
    const uint64_t piece = std::min(count, kPiece);
    const size_t start = out->size();
    out->resize(start + piece);
    if (!ReadExactly(&(*out)[start], piece)) return false;
    count -= piece;
  }
  return true;
}

Buffer* ByteReader::ReadBuffer(uint64_t count) {
  if (size_ == UINT64_MAX) {
    std::string bytes;
    return Append(count, &bytes) ? Buffer::Adopt(std::move(bytes)) : nullptr;
  }
  if (count > size_ - std::min(size_, position())) return nullptr;
  Buffer* buffer = Buffer::Allocate(count);
  if (buffer == nullptr) return nullptr;
  if (!ReadExactly(static_cast<char*>(buffer->data()), count)) {
    buffer->Unref();
    return nullptr;
  }
  return buffer;
}

}  // namespace nabla
