#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "adapters/fence/src/fence_memory.hpp"
#include "lockcore/sqlite/quiet_look.hpp"
#include "token_file.hpp"

namespace tenure {
namespace {

using http_fence::TokenFile;

class HttpFenceMemory final : public FenceMemory {
 public:
  HttpFenceMemory(std::string path, std::unique_ptr<TokenFile> file) : path_{std::move(path)}, file_{std::move(file)} {}

  [[nodiscard]] std::string describe() const override { return "the memory of an HTTP fence, " + path_; }

  [[nodiscard]] FenceResult<std::string> stored(const std::string& lease) override {
    auto found = file_->tokenOf(lease);
    if (!found) return fenceError(found.error());
    return *std::move(found);
  }

  [[nodiscard]] FenceResult<void> set(const TermStamp& memory) override {
    if (auto error = errorOf(memory)) return *std::move(error);
    if (auto error = file_->replace(memory)) return fenceError(*std::move(error));
    return {};
  }

 private:
  const std::string path_;
  const std::unique_ptr<TokenFile> file_;
};

/// A fence makes what it needs in the file that it is given. An operator's file must be one that a fence has made.
std::string faultOfMemory(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return "there is no file " + path;
  if (sqlite::holdsTable(path, "tenure_fence_guard", {"lease", "token", "holder", "since"}) &&
      sqlite::holdsTable(path, "tenure_fence_state", {"id", "clean"})) {
    return {};
  }
  const bool isTable = sqlite::holdsTable(path, "tenure_fence_guard", {"ticket"});
  return path + " is none: it has no tables tenure_fence_guard and tenure_fence_state as a proxy makes them. Nothing " +
         (isTable ? "was changed; the fence of a SQLite database is sqlite:FILE"
                  : "was changed; give the file of the proxy's --memory");
}

}  // namespace

FenceResult<std::unique_ptr<FenceMemory>> openHttpFenceMemory(const std::string& path) {
  if (const std::string fault = faultOfMemory(path); !fault.empty()) {
    return fenceError({ErrorClass::misconfigured, "the memory of an HTTP fence: " + fault});
  }
  auto file = TokenFile::open(path);
  if (!file) return fenceError(file.error());
  return std::unique_ptr<FenceMemory>{std::make_unique<HttpFenceMemory>(path, *std::move(file))};
}

}  // namespace tenure
