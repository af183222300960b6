// A process with its own mounts, which end with it.
#pragma once

#include <fstream>
#include <functional>
#include <iterator>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "support/temp_dir.hpp"

namespace tenure::test {

/// Runs `body` in a child with its own mounts and returns what it wrote to `say`; "no mounts" if the process may not
/// have any.
inline std::string inOwnMounts(const TempDir& directory, const std::function<void(std::ostream& say)>& body) {
  const std::string said = directory.file("said");
  const pid_t child = fork();
  if (child == 0) {
    std::ofstream say{said};
    const bool may = unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    if (may) {
      body(say);
    } else {
      say << "no mounts";
    }
    say.close();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  std::ifstream read{said};
  return {std::istreambuf_iterator<char>{read}, {}};
}

inline bool mayHaveMounts(const TempDir& directory) {
  return inOwnMounts(directory, [](std::ostream&) {}) != "no mounts";
}

inline bool bindMount(const std::string& from, const std::string& to) {
  return mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr) == 0;
}

}  // namespace tenure::test
