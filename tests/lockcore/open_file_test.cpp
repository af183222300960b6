// A program that was started with stdin, stdout or stderr closed.
#include "lockcore/runtime/open_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <unistd.h>

#include <gtest/gtest.h>

#include "lockcore/child_process.hpp"
#include "support/temp_dir.hpp"

namespace tenure::test {
namespace {

std::string contentOf(const std::string& path) {
  std::ifstream file{path};
  return {std::istreambuf_iterator<char>{file}, {}};
}

TEST(OpenToWrite, aFileNeverGetsTheNumberOfAStandardStreamWhateverIsClosed) {
  const TempDir directory;
  for (unsigned closed = 1; closed < 8; ++closed) {
    const std::string path = directory.file(std::to_string(closed));
    const int code = inChild([&] {
      for (int fd = 0; fd < 3; ++fd) {
        if ((closed & (1U << static_cast<unsigned>(fd))) != 0) close(fd);
      }
      const int file = openToWrite(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
      if (file <= STDERR_FILENO) return 1;
      if ((fcntl(file, F_GETFD) & FD_CLOEXEC) == 0) return 2;
      for (int fd = 1; fd < 3; ++fd) {
        const bool fails = write(fd, "", 0) < 0 && errno == EBADF;
        if (fails != ((closed & (1U << static_cast<unsigned>(fd))) != 0)) return 3;
      }
      char byte = 0;
      if ((closed & 1U) != 0 && (read(STDIN_FILENO, &byte, 1) >= 0 || errno != EBADF)) return 4;
      static_cast<void>(!write(STDOUT_FILENO, "o", (closed & 2U) != 0 ? 1 : 0));
      static_cast<void>(!write(STDERR_FILENO, "e", (closed & 4U) != 0 ? 1 : 0));
      return write(file, "x", 1) == 1 ? 0 : 5;
    });
    EXPECT_EQ(code, 0) << closed;
    EXPECT_EQ(contentOf(path), "x");
  }
}

TEST(OpenToWrite, saysWhyItCannot) {
  const TempDir directory;
  EXPECT_EQ(openToWrite(directory.file("none/file"), O_RDWR | O_CREAT | O_CLOEXEC, 0600), -1);
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace tenure::test
