#include <filesystem>
#include <system_error>
#include <utility>

#include "adapters/fence/src/fence_memory.hpp"
#include "token_memory.hpp"

namespace tenure {
namespace {

using http_fence::TokenMemory;

class HttpFenceMemory final : public FenceMemory {
 public:
  HttpFenceMemory(std::string file, std::unique_ptr<TokenMemory> memory)
      : file_{std::move(file)}, memory_{std::move(memory)} {}

  [[nodiscard]] std::string describe() const override { return "the memory of an HTTP fence, " + file_; }

  [[nodiscard]] FenceResult<std::string> stored(const std::string& lease) override {
    auto found = memory_->stored(lease);
    if (!found) return fenceTrouble(found.error());
    return *std::move(found);
  }

  [[nodiscard]] FenceResult<void> set(const TermStamp& memory) override {
    if (auto refusal = refusalOf(memory)) return *std::move(refusal);
    if (auto error = memory_->replace(memory)) return fenceTrouble(*std::move(error));
    return {};
  }

 private:
  const std::string file_;
  const std::unique_ptr<TokenMemory> memory_;
};

}  // namespace

FenceResult<std::unique_ptr<FenceMemory>> openHttpFenceMemory(const std::string& file) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(file, unknown)) {
    return fenceTrouble({ErrorClass::misconfigured, "the memory of an HTTP fence: there is no file " + file});
  }
  auto memory = TokenMemory::openToRecover(file);
  if (!memory) return fenceTrouble(memory.error());
  return std::unique_ptr<FenceMemory>{std::make_unique<HttpFenceMemory>(file, *std::move(memory))};
}

}  // namespace tenure
