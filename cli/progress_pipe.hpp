// How a job reports progress if lease.progress_timeout is set: by writing to a pipe.
#pragma once

#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::cli {

/// The job finds its end's descriptor number in TENURE_PROGRESS_FD; anything that it writes there is a sign of life.
class ProgressPipe {
 public:
  /// Throws std::system_error.
  ProgressPipe();

  [[nodiscard]] int jobEnd() const noexcept { return write_.get(); }
  /// Readable when the job has written.
  [[nodiscard]] int descriptor() const noexcept { return read_.get(); }
  /// Removes what was written. True: there was something.
  bool take() noexcept;

 private:
  // The write end stays open here, so that the read end never reports the end of the file.
  UniqueFd read_, write_;
};

}  // namespace tenure::cli
