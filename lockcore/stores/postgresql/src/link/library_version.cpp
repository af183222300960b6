#include "library_version.hpp"

#include <libpq-fe.h>

namespace tenure::postgresql_store {

std::string libraryVersion() {
  const int number = PQlibVersion();  // 150014 is 15.14
  return std::to_string(number / 10'000) + '.' + std::to_string(number % 10'000);
}

}  // namespace tenure::postgresql_store
