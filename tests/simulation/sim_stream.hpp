// A stream of a store's changes as it reaches one process.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "simulation/sim_endpoint.hpp"

namespace tenure::test {

/// What a lying stream brings, as the service writes it.
struct StreamLines {
  std::function<std::string(std::size_t number)> changed{};  ///< somebody took this lease, or gave it back
  std::function<std::string(std::size_t number)> elsewhere{};
  std::string erased{};
  std::string end{};
};

class SimStream : public std::enable_shared_from_this<SimStream> {
 public:
  struct Handlers {
    std::function<void(const std::string& line)> onLine{};
    std::function<void()> onSilence{};
  };

  SimStream(SimSurroundings& world, std::size_t process, const SimLife& life, std::chrono::nanoseconds silence,
            StreamLines lines, Handlers handlers);

  /// What the service tells.
  void take(const std::string& line);
  /// Nothing has changed.
  void talk();
  void close() { closed_ = true; }

 private:
  void tell(StreamLie lie);
  void standStill();
  void bring(const std::string& line);

  SimSurroundings& world_;
  std::size_t process_;
  const SimLife& life_;
  std::chrono::nanoseconds silence_;
  StreamLines lines_;
  Handlers handlers_;
  std::vector<std::string> earlier_{};
  TrueTime last_{0};
  std::size_t invented_{0};
  bool still_{false};
  bool closed_{false};
};

}  // namespace tenure::test
