// A directory that is deleted after the test.
#pragma once

#include <filesystem>
#include <string>

namespace tenure::test {

class TemporaryDirectory {
 public:
  TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();

  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  void write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

/// The whole text; empty if there is no such file.
[[nodiscard]] std::string contentOf(const std::string& file);

}  // namespace tenure::test
