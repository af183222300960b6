#include "progress_pipe.hpp"

#include <fcntl.h>

#include "process.hpp"

namespace tenure::cli {

ProgressPipe::ProgressPipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throwErrno("pipe for the job's progress");
  read_.reset(ends[0]);
  write_.reset(ends[1]);
  // Only our end is non-blocking: a job that writes faster than we read waits for a moment, as with any pipe.
  if (fcntl(read_.get(), F_SETFL, O_NONBLOCK) != 0) throwErrno("fcntl on the job's progress pipe");
}

bool ProgressPipe::take() noexcept {
  char chunk[4096];
  bool any = false;
  while (read(read_.get(), chunk, sizeof chunk) > 0) any = true;
  return any;
}

}  // namespace tenure::cli
