#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <tenure/adapters/fenced_file.hpp>

#include "adapters/fence/src/fence_memory.hpp"
#include "file_writer.hpp"
#include "lockcore/runtime/shared_file.hpp"

namespace tenure {
namespace {

constexpr SharedFileRisks risks{
    .switched = "a former term could write to the one or the other",
    .mounted = "the two would not see each other's fence, and a former term could write",
    .linked = "an append would change them too, and a replacement would not reach them",
    .remote =
        "neither locks nor renames can be relied on between machines; put the file on a local disk, or fence "
        "another resource",
};

}  // namespace

class FencedFile::Impl {
 public:
  Impl(const std::string& path, FencedFileOptions options) : writer{file_fence::systemFiles(), path, options} {}
  file_fence::FileWriter writer;
};

FenceResult<FencedFile> FencedFile::open(const std::string& path, FencedFileOptions options) {
  if (path.empty() || path.back() == '/' || path.find('\0') != std::string::npos) {
    return fenceError({ErrorClass::misconfigured, "a fenced file needs the path of a file, not \"" + path + '"'});
  }
  if (const std::string fault = sharedFileFault(path, risks); !fault.empty()) {
    return fenceError({ErrorClass::misconfigured, "file " + path + ": " + fault});
  }
  auto impl = std::make_unique<Impl>(path, options);
  if (auto error = impl->writer.open()) return *std::move(error);
  return FencedFile{std::move(impl)};
}

FencedFile::FencedFile(std::unique_ptr<Impl> impl) noexcept : impl_{std::move(impl)} {}
FencedFile::~FencedFile() = default;
FencedFile::FencedFile(FencedFile&&) noexcept = default;
FencedFile& FencedFile::operator=(FencedFile&&) noexcept = default;

FenceResult<void> FencedFile::append(const TermStamp& stamp, std::string_view bytes) {
  return impl_->writer.append(stamp, bytes);
}
FenceResult<void> FencedFile::replace(const TermStamp& stamp, std::string_view bytes) {
  return impl_->writer.replace(stamp, bytes);
}
FenceResult<std::string> FencedFile::read() { return impl_->writer.read(); }
FenceResult<std::optional<TermStamp>> FencedFile::highestSeen(const std::string& lease) {
  return impl_->writer.highestSeen(lease);
}

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
