// A line to a server that a test cuts after a number of bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/temp_dir.hpp"

namespace tenure::test {

/// Listens at a socket in a directory of its own and passes everything on, as fast as it comes.
class CuttingProxy {
 public:
  enum class Direction { toServer, toClient };

  explicit CuttingProxy(std::string serverSocket);
  ~CuttingProxy();
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  [[nodiscard]] std::string directory() const { return directory_.path().string(); }

  /// Passes `bytes` more in this direction, then ends both connections. Once.
  void cutAfter(Direction direction, std::uint64_t bytes);
  /// Passes everything again.
  void heal();
  /// From now on nothing is passed, and no connection is ended.
  void freeze();
  [[nodiscard]] bool wasCut() const noexcept { return cuts_ > 0; }

 private:
  struct Pair {
    int client{-1};
    int server{-1};
  };

  void run();
  void accept();
  [[nodiscard]] bool pass(const Pair& pair, Direction direction);

  const std::string serverSocket_;
  TempDir directory_{};
  int listener_{-1};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> frozen_{false};
  std::atomic<int> cuts_{0};
  std::mutex mutex_{};
  std::optional<std::uint64_t> left_{};  // guarded by mutex_, as the next
  Direction direction_{Direction::toServer};
  std::vector<Pair> pairs_{};  ///< of the thread
  std::thread thread_{};
};

}  // namespace tenure::test
