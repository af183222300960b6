// The content of PATH.fence, as text.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/fence.hpp>

namespace tenure::file_fence {

struct FileNames {
  FileNames(const std::string& path, std::chrono::milliseconds lockTimeout);

  /// The content of the replacement with this number, until it is in place.
  [[nodiscard]] std::string replacement(std::uint64_t sequence) const { return fence + '.' + std::to_string(sequence); }
  /// For messages: with the directory.
  [[nodiscard]] std::string whole(const std::string& name) const;
  [[nodiscard]] FenceError errorOf(const std::string& what, int code, bool mayBeWritten = false) const;
  [[nodiscard]] FenceError corrupt(const std::string& text) const;

  std::string path;
  std::string directory;
  std::string content, fence, next, lock;  ///< names in the directory
  std::chrono::milliseconds lockTimeout;
};

struct FenceState {
  std::uint64_t sequence{0};  ///< of the last replacement
  std::uint64_t length{0};    ///< of the accepted content
  /// The last write was a replacement. Its content is in `PATH.fence.<sequence>` until that file is renamed to PATH.
  bool replaced{false};
  struct Seen {
    FencingToken token;  ///< as it is stored; written by an older release or another program it may be too great
    std::string holder;
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  std::map<std::string, Seen> leases;

  friend bool operator==(const FenceState&, const FenceState&) = default;
};

[[nodiscard]] std::string toText(const FenceState& state);
/// Empty for anything that toText() has not made: edited, cut off, damaged.
[[nodiscard]] std::optional<FenceState> parseFenceState(std::string_view text);

}  // namespace tenure::file_fence
