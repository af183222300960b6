// The names of a fenced file and of the files beside it, and how messages speak of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <tenure/lockcore/fence.hpp>

namespace tenure::file_fence {

struct FileNames {
  FileNames(const std::string& path, std::chrono::milliseconds lockTimeout);

  /// The content of the replacement with this number, until it is in place.
  [[nodiscard]] std::string replacement(std::uint64_t sequence) const { return fence + '.' + std::to_string(sequence); }
  /// For messages: with the directory.
  [[nodiscard]] std::string whole(const std::string& name) const;
  [[nodiscard]] FenceError trouble(const std::string& what, int code, bool mayBeWritten = false) const;
  [[nodiscard]] FenceError corrupt(const std::string& text) const;

  std::string path;
  std::string directory;
  std::string content, fence, next, lock;  ///< names in the directory
  std::chrono::milliseconds lockTimeout;
};

}  // namespace tenure::file_fence
