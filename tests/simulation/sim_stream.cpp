#include "simulation/sim_stream.hpp"

#include <utility>

namespace tenure::test {

SimStream::SimStream(SimSurroundings& world, std::size_t process, const SimLife& life, std::chrono::nanoseconds silence,
                     StreamLines lines, Handlers handlers)
    : world_{world},
      process_{process},
      life_{life},
      silence_{silence},
      lines_{std::move(lines)},
      handlers_{std::move(handlers)} {}

void SimStream::take(const std::string& line) {
  if (still_) return;
  const StreamLie lie = world_.streamLie();
  if (lie != StreamLie::none && lie != StreamLie::keepsBack) tell(lie);
  earlier_.push_back(line);
  const bool withheld = lie == StreamLie::keepsBack || lie == StreamLie::elsewhere || lie == StreamLie::standsStill;
  if (!withheld) bring(line);
}

void SimStream::talk() {
  if (still_ || earlier_.empty()) return;
  const StreamLie lie = world_.streamLie();
  if (lie == StreamLie::repeats || lie == StreamLie::invents || lie == StreamLie::elsewhere) tell(lie);
}

void SimStream::bring(const std::string& line) {
  last_ = world_.deliver(process_, life_, last_, [self = shared_from_this(), line] {
    if (!self->closed_) self->handlers_.onLine(line);
  });
}

void SimStream::tell(StreamLie lie) {
  switch (lie) {
    case StreamLie::repeats:
      return earlier_.empty() ? void() : bring(earlier_[invented_++ % earlier_.size()]);
    case StreamLie::invents:
      return bring(++invented_ % 3 == 0 ? lines_.erased : lines_.changed(invented_));
    case StreamLie::elsewhere:
      return bring(lines_.elsewhere(++invented_));
    case StreamLie::standsStill:
      return standStill();
    case StreamLie::ends:
      return bring(lines_.end);
    case StreamLie::none:
    case StreamLie::keepsBack:
      return;
  }
}

/// What the client does of its own accord when it hears nothing.
void SimStream::standStill() {
  still_ = true;
  world_.runFor(process_, life_, silence_, [self = shared_from_this()] {
    if (!self->closed_) self->handlers_.onSilence();
  });
}

}  // namespace tenure::test
