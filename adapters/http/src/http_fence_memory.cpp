#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "adapters/fence/src/fence_memory.hpp"
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
    if (!found) return fenceTrouble(found.error());
    return *std::move(found);
  }

  [[nodiscard]] FenceResult<void> set(const TermStamp& memory) override {
    if (auto refusal = refusalOf(memory)) return *std::move(refusal);
    if (auto error = file_->replace(memory)) return fenceTrouble(*std::move(error));
    return {};
  }

 private:
  const std::string path_;
  const std::unique_ptr<TokenFile> file_;
};

}  // namespace

FenceResult<std::unique_ptr<FenceMemory>> openHttpFenceMemory(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) {
    return fenceTrouble({ErrorClass::misconfigured, "the memory of an HTTP fence: there is no file " + path});
  }
  auto file = TokenFile::open(path);
  if (!file) return fenceTrouble(file.error());
  return std::unique_ptr<FenceMemory>{std::make_unique<HttpFenceMemory>(path, *std::move(file))};
}

}  // namespace tenure
