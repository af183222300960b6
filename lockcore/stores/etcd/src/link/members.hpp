// Which member is asked next: the one that answered last, as long as it answers.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace tenure::etcd_store {

/// Not thread-safe. Times are of any one clock.
class Members {
 public:
  /// How long a member that did not answer is asked after all others.
  static constexpr std::chrono::seconds pause{5};

  explicit Members(std::size_t count) : failedAt_(count) {}

  /// The best one that is not among `tried`. Empty: there is none.
  [[nodiscard]] std::optional<std::size_t> next(const std::vector<bool>& tried, std::chrono::nanoseconds now) const;
  void answered(std::size_t member);
  void failed(std::size_t member, std::chrono::nanoseconds now);

 private:
  [[nodiscard]] bool isDoubtful(std::size_t member, std::chrono::nanoseconds now) const;

  std::vector<std::optional<std::chrono::nanoseconds>> failedAt_;
  std::size_t first_{0};
};

}  // namespace tenure::etcd_store
