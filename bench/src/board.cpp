#include "board.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace tenure::bench {

SharedBoard::SharedBoard(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(Board)) != 0) throw std::system_error(errno, std::generic_category(), path);
  void* memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), path);
  board_ = static_cast<Board*>(memory);  // a new file is all zeroes, and each field begins at zero
}

SharedBoard::~SharedBoard() { munmap(board_, sizeof(Board)); }

}  // namespace tenure::bench
