#include "adopted.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/wait.h>

#include "children.hpp"

namespace tenure::cli {

std::vector<pid_t>& ownChildren() {
  static std::vector<pid_t> own;
  return own;
}

std::vector<pid_t> adoptedChildren() {
  const std::vector<pid_t>& own = ownChildren();
  std::vector<pid_t> out;
  eachChild([&](pid_t child) {
    if (std::find(own.begin(), own.end(), child) == own.end()) out.push_back(child);
  });
  return out;
}

void reapAdopted(pid_t kept) {
  siginfo_t ended{};  // mostly there is none
  if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT | __WALL | __WNOTHREAD) != 0 || ended.si_pid == 0) return;
  for (const pid_t child : adoptedChildren()) {
    if (child != kept) waitpid(child, nullptr, WNOHANG | __WALL);
  }
}

void noteOwnChild(pid_t child) { ownChildren().push_back(child); }

void leaveToReapAdopted(pid_t child) noexcept { std::erase(ownChildren(), child); }

int reapOwnChild(pid_t child) noexcept {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  leaveToReapAdopted(child);
  return status;
}

}  // namespace tenure::cli
