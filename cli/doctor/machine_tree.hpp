// The kernel's files below /proc and /sys. Tests give a directory of their own in the place of /.
#pragma once

#include <optional>
#include <string>

namespace tenure::cli::doctor {

class MachineTree {
 public:
  /// `root`: empty stands for /.
  explicit MachineTree(std::string root = {}) : root_{std::move(root)} {}

  /// The file's text without the line break at its end; empty if it cannot be read. `path` begins with a slash.
  [[nodiscard]] std::optional<std::string> text(const std::string& path) const;
  [[nodiscard]] std::string path(const std::string& path) const { return root_ + path; }

 private:
  std::string root_;
};

}  // namespace tenure::cli::doctor
