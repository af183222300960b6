// The user's token, which Kubernetes replaces while the process runs.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/runtime.hpp>
#include <tenure/lockcore/store_error.hpp>

namespace tenure::kubernetes_store {

/// From a file, which is read again each minute and after a rejection, or constant, or none. A file that cannot be read
/// leaves the last token in use, which is good for minutes yet; at first that is the constant one, if there is any.
/// Reading is a few system calls on a small file, so it is done inside the calls. Thread-safe.
class TENURE_API BearerToken {
 public:
  /// The kubelet replaces a token when a fifth of its time is left, which is two minutes at least.
  static constexpr std::chrono::seconds readEvery{60};

  BearerToken(std::string file, std::string constant, std::shared_ptr<const Clock> clock);

  /// Empty: none is needed. The fault names the file and never what is in it.
  [[nodiscard]] StoreResult<std::string> show();

  /// The server has refused the request that showed `refused`. Whether there is another one now.
  [[nodiscard]] bool replaced(const std::string& refused);

 private:
  [[nodiscard]] StoreResult<std::string> readFile() const;
  [[nodiscard]] StoreResult<std::string> renewed(const Instant& now);

  const std::string file_;
  const std::string constant_;
  const std::shared_ptr<const Clock> clock_;
  std::mutex mutex_{};
  std::string token_{};              ///< guarded by mutex_, as the next one
  std::optional<Instant> readAt_{};  ///< when token_ was read
};

}  // namespace tenure::kubernetes_store
