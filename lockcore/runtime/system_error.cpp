#include "system_error.hpp"

#include <cerrno>
#include <netdb.h>
#include <utility>

#include "plain_locale.hpp"

namespace tenure {

namespace {

/// std::generic_category(), but for the language.
class ErrnoCategory final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "errno"; }
  [[nodiscard]] std::string message(int code) const override { return errnoText(code); }
  [[nodiscard]] std::error_condition default_error_condition(int code) const noexcept override {
    return {code, std::generic_category()};
  }
};

}  // namespace

locale_t PlainLocale::plain() noexcept {
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  return plain;
}

PlainLocale::PlainLocale() noexcept : before_{uselocale(plain())} {}
PlainLocale::~PlainLocale() { uselocale(before_); }

std::system_error errnoException(int systemErrno, const std::string& what) {
  static const ErrnoCategory category;
  return {systemErrno, category, what};
}

std::string errnoText(int systemErrno) {
  if (PlainLocale::plain() == nullptr) return "error " + std::to_string(systemErrno);
  return strerror_l(systemErrno, PlainLocale::plain());
}

std::string errnoText(const std::error_code& error) {
  const bool ofSystem = error.category() == std::system_category() || error.category() == std::generic_category();
  return ofSystem ? errnoText(error.value()) : error.message();
}

std::string lookupFaultText(int code) {
  if (code == EAI_SYSTEM) return errnoText(errno);
  const PlainLocale plain;
  return gai_strerror(code);  // lint-allow(locale): of this thread, the line above
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
