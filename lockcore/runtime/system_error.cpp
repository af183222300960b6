#include "system_error.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

namespace tenure {

std::string errnoText(int systemErrno) { return std::generic_category().message(systemErrno); }

bool meansFull(int systemErrno) noexcept {
  return systemErrno == ENOSPC || systemErrno == EDQUOT || systemErrno == EFBIG;
}

bool meansNoResources(int systemErrno) noexcept {
  return systemErrno == EMFILE || systemErrno == ENFILE || systemErrno == ENOMEM || systemErrno == EINTR;
}

StoreError systemError(const std::string& store, const std::string& what, int systemErrno) {
  std::string message = store + ": " + what + ": " + errnoText(systemErrno);
  if (meansFull(systemErrno)) message += std::string{"; "} + adviceOnFullDisk;
  if (systemErrno == EACCES || systemErrno == EPERM) message += "; let this user read and write it and its directory";
  if (meansFull(systemErrno) || meansNoResources(systemErrno) || systemErrno == EIO || systemErrno == EAGAIN) {
    return {ErrorClass::transient, std::move(message)};
  }
  return {ErrorClass::misconfigured, std::move(message)};
}

}  // namespace tenure
