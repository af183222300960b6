// A service manager's side of sd_notify: a bound datagram socket, and what arrived there.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include "cli/subprocess.hpp"
#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::test {

struct Notification {
  std::string lines;
  pid_t sender{0};  ///< as the kernel tells it
};

class NotifyReceiver {
 public:
  /// A path, or an abstract name after '@'.
  explicit NotifyReceiver(const std::string& address);

  /// Takes what has arrived; all of it so far is in `all`.
  [[nodiscard]] std::vector<Notification> take();
  [[nodiscard]] const std::vector<Notification>& all() const noexcept { return all_; }
  /// Waits until a line has arrived, since the start.
  [[nodiscard]] bool got(const std::string& line, milliseconds bound = patience);
  [[nodiscard]] std::string text() const;

 private:
  UniqueFd socket_;
  std::vector<Notification> all_;
};

}  // namespace tenure::test
