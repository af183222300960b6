#include "system_error.hpp"

#include <cerrno>
#include <clocale>
#include <cstring>
#include <netdb.h>
#include <utility>

namespace tenure {

namespace {

/// The locale of a program that sets none; never freed. Null where memory is short.
locale_t plainLocale() noexcept {
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  return plain;
}

}  // namespace

std::string errnoText(int systemErrno) {
  if (plainLocale() == nullptr) return "error " + std::to_string(systemErrno);
  return strerror_l(systemErrno, plainLocale());
}

std::string errnoText(const std::error_code& error) {
  const bool ofSystem = error.category() == std::system_category() || error.category() == std::generic_category();
  return ofSystem ? errnoText(error.value()) : error.message();
}

std::string lookupFaultText(int code) {
  if (code == EAI_SYSTEM) return errnoText(errno);
  const locale_t before = uselocale(plainLocale());
  std::string text = gai_strerror(code);  // lint-allow(locale): of this thread, the line above
  uselocale(before);
  return text;
}

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
