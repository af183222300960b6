// The thread's locale while a library that translates its messages (libc, libpq) is called.
#pragma once

#include <clocale>

#include <tenure/lockcore/export.hpp>

namespace tenure {

/// Until its end this thread has the locale of a program that sets none. The host's own locale
/// (std::locale::global, setlocale) would change the language and the encoding of what we read and print.
class TENURE_API PlainLocale {
 public:
  PlainLocale() noexcept;
  ~PlainLocale();
  PlainLocale(const PlainLocale&) = delete;
  PlainLocale& operator=(const PlainLocale&) = delete;

  /// Never freed. Null where memory is short.
  [[nodiscard]] static locale_t plain() noexcept;

 private:
  locale_t before_;
};

}  // namespace tenure
