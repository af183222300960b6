// The fence's contract on a plain file, by appending and by replacing.
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <tenure/adapters/fenced_file.hpp>

#include "adapters/contract/fence_contract.hpp"
#include "adapters/file/src/fence_state.hpp"
#include "adapters/file/src/file_writer.hpp"
#include "support/temp_dir.hpp"

namespace tenure::contract {
namespace {

using namespace std::chrono_literals;
static_assert(ReadableFence<FencedFile>);

std::string bytesOf(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream{path, std::ios::binary}.rdbuf();
  return out.str();
}

/// Escapes blanks and line feeds in unusual holders: they would be taken for those of the line.
std::string escaped(std::string text) {
  for (char& c : text) c = c == ' ' ? '\x01' : (c == '\n' ? '\x02' : c);
  return text;
}
std::string unescaped(std::string text) {
  for (char& c : text) c = c == '\x01' ? ' ' : (c == '\x02' ? '\n' : c);
  return text;
}

class FileHandle final : public FenceHandle {
 public:
  FileHandle(const std::string& path, bool replaces)
      : path_{path}, replaces_{replaces}, file_{FencedFile::open(path, options).value()} {}

  FenceResult<void> write(const TermStamp& stamp, const std::string& entry,
                          const std::function<void()>& inside) override {
    // A replacement keeps the old content, as a program that edits a file would, so that the judge sees all of it. The
    // content may be outdated when it writes, so this fence does not take part in races.
    const std::string line = lineOf(stamp, entry);
    if (!inside) return replaces_ ? file_.replace(stamp, bytesOf(path_) + line) : file_.append(stamp, line);
    file_fence::FileWriter writer{file_fence::systemFiles(), path_, options};
    writer.inside = inside;
    return replaces_ ? writer.replace(stamp, bytesOf(path_) + line) : writer.append(stamp, line);
  }
  FenceResult<void> writeUnder(const FencedTerm& term, const std::string& entry) override {
    const std::string line = lineOf(term.stamp(), entry);
    return replaces_ ? file_.replace(term, bytesOf(path_) + line) : file_.append(term, line);
  }
  /// The same steps without the comparison: the content, and the length that counts.
  bool writeBare(const TermStamp& stamp, const std::string& entry) override {
    auto state = file_fence::parseFenceState(bytesOf(path_ + ".fence")).value();
    const std::string line = lineOf(stamp, entry);
    std::ofstream{path_, std::ios::binary | std::ios::app} << line;
    state.length += line.size();
    std::ofstream{path_ + ".fence", std::ios::binary} << file_fence::toText(state);
    return true;
  }
  FenceResult<std::optional<TermStamp>> highestSeen(const std::string& lease) override {
    return file_.highestSeen(lease);
  }

 private:
  static constexpr FencedFileOptions options{.lockTimeout = 200ms};
  static std::string lineOf(const TermStamp& stamp, const std::string& entry) {
    return toString(stamp.token) + ' ' + entry + ' ' + escaped(stamp.holder) + '\n';
  }

  const std::string path_;
  const bool replaces_;
  FencedFile file_;
};

class FileResource final : public FencedResource {
 public:
  std::string address() const override { return path_; }
  std::vector<FencedEntry> entries() override {
    std::vector<FencedEntry> found;
    const std::string text = bytesOf(path_);
    std::istringstream lines{text.substr(0, text.rfind('\n') + 1)};  // a writer may be in the middle of the last one
    for (std::string line; std::getline(lines, line);) {
      const std::size_t first = line.find(' ');
      const std::size_t second = line.find(' ', first + 1);
      found.push_back({FencingToken{std::stoull(line.substr(0, first))}, unescaped(line.substr(second + 1)),
                       line.substr(first + 1, second - first - 1)});
    }
    return found;
  }
  bool plant(const TermStamp& memory) override {
    auto state = file_fence::parseFenceState(bytesOf(path_ + ".fence")).value();
    state.leases[memory.lease] = {memory.token, memory.holder};
    std::ofstream{path_ + ".fence", std::ios::binary} << file_fence::toText(state);
    return true;
  }

 private:
  const test::TempDir directory_;
  const std::string path_ = directory_.file("ledger");
};

FenceUnderTest file(std::string name, bool replaces) {
  return {.name = std::move(name),
          .make = [] { return std::make_unique<FileResource>(); },
          .open = [replaces](const std::string& address) { return std::make_unique<FileHandle>(address, replaces); },
          .pausesInside = true,
          .raceWrites = 150};
}

const FenceUnderTest appended = registerFence(file("FileAppend", false));
const FenceUnderTest replaced = registerFence(file("FileReplace", true));

INSTANTIATE_TEST_SUITE_P(File, FenceContract, testing::Values(appended, replaced), fenceName);
INSTANTIATE_TEST_SUITE_P(File, FenceRaceContract, testing::Values(appended), fenceName);
INSTANTIATE_TEST_SUITE_P(File, FenceFreezeContract, testing::Values(appended), fenceName);

}  // namespace
}  // namespace tenure::contract
