#include "fenced_file_memory.hpp"

#include <memory>
#include <string>
#include <utility>

#include "file_writer.hpp"

namespace tenure {
namespace {

class FencedFileMemory final : public FenceMemory {
 public:
  explicit FencedFileMemory(const std::string& path)
      : path_{path}, writer_{file_fence::systemFiles(), path, FencedFileOptions{}} {}

  [[nodiscard]] std::string describe() const override { return "the fence of file " + path_; }
  [[nodiscard]] FenceResult<std::string> stored(const std::string& lease) override { return writer_.stored(lease); }
  [[nodiscard]] FenceResult<void> set(const TermStamp& memory) override { return writer_.setMemory(memory); }

 private:
  const std::string path_;
  file_fence::FileWriter writer_;
};

}  // namespace

FenceResult<std::unique_ptr<FenceMemory>> openFencedFileMemory(const std::string& path) {
  auto memory = std::make_unique<FencedFileMemory>(path);
  // Asked about any lease at all, it says whether there is a fence that can be read.
  if (const auto readable = memory->stored("-"); !readable) return readable.error();
  return std::unique_ptr<FenceMemory>{std::move(memory)};
}

}  // namespace tenure
