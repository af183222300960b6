// What the zones of TZDIR say of instants. Asked: a line with a name and a number, then so many instants. Answered: for
// each its offset and the stretch in which it holds. Instants, offsets: seconds, eight bytes of this machine each.
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "election/jobs/src/zone.hpp"

namespace {

using Numbers = std::vector<std::int64_t>;

bool take(Numbers& numbers) {
  const auto size = static_cast<std::streamsize>(numbers.size() * sizeof(std::int64_t));
  return static_cast<bool>(std::cin.read(reinterpret_cast<char*>(numbers.data()), size));
}

void give(const Numbers& numbers) {
  const auto size = static_cast<std::streamsize>(numbers.size() * sizeof(std::int64_t));
  std::cout.write(reinterpret_cast<const char*>(numbers.data()), size).flush();
}

}  // namespace

int main() {
  std::string name;
  std::size_t count = 0;
  while (std::cin >> name >> count) {
    std::cin.get();  // the end of the line
    const auto zone = tenure::Zone::named(name);
    if (!zone) {
      std::cerr << zone.error().front().message << '\n';
      return 1;
    }
    Numbers instants(count), answers;
    if (!take(instants)) return 1;
    for (const std::int64_t instant : instants) {
      const auto found = zone->data().at(std::chrono::sys_seconds{std::chrono::seconds{instant}});
      answers.insert(answers.end(), {found.offset.count(), found.begin.time_since_epoch().count(),
                                     found.end.time_since_epoch().count()});
    }
    give(answers);
  }
}
