// Counts in a plain file, under a lock. However many of these processes run, no count is lost.
//   shared_counter LOCKS.db COUNTER N
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include <tenure/lockcore/lock_client.hpp>
#include <tenure/lockcore/stores/sqlite_store.hpp>

namespace {

long countIn(const std::string& path) {
  long value = 0;
  std::ifstream{path} >> value;
  std::ofstream{path} << ++value << '\n';
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  if (argc != 4) {
    std::cerr << "usage: shared_counter LOCKS.db COUNTER N\n";
    return 2;
  }
  tenure::LockClient client{tenure::makeSqliteStore({argv[1]})};
  const std::string counter = argv[2];
  const long last = std::strtol(argv[3], nullptr, 10);
  for (long i = 0; i < last; ++i) {
    const auto counted =
        client.withLock({"counter"}, [&](const tenure::Lock&) { return countIn(counter); }, {.waitFor = 60s});
    if (counted.has_error()) {
      std::cerr << "shared_counter: " << counted.error().message << '\n';
      return 1;
    }
    std::cout << *counted << '\n';
  }
  return 0;
}
