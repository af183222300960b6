// A picture of who led when, and which faults hit which process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenure::test {

struct SimTimeline {
  struct Span {
    std::size_t process;
    std::int64_t from, to;  ///< nanoseconds of true time
    std::string what;       ///< "token 3", or why it stood still
    bool term;
  };
  struct Mark {
    std::size_t process;
    std::int64_t at;
    std::string what;
  };

  std::size_t processes{0};
  std::int64_t end{0};
  std::vector<Span> spans;
  std::vector<Mark> marks;
  std::vector<Mark> world;  ///< events of the store; `process` has no meaning
};

/// One self-contained HTML page.
[[nodiscard]] std::string htmlOf(const SimTimeline& timeline, const std::string& title, const std::string& subtitle);

}  // namespace tenure::test
